// Package standard puts together what fettle's own program uses of the packages
// that core/config does not know: the providers of models, and remote agents.
package standard

import (
	"context"
	"log/slog"
	"os/exec"
	"runtime"

	"github.com/fettle-dev/fettle/core/agent/a2a"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
)

// Parameters returns p with everything wired in that it leaves open: models of
// all providers (Providers, unless Models or Providers are given) and remote
// agents (Agents.Remote). What p gives stays as it is.
func Parameters(p config.Parameters) config.Parameters {
	w := &wiring{log: p.Logger}
	if p.Models == nil && p.Providers == nil {
		p.Providers = w.models
	}
	if p.Agents.Remote == nil {
		p.Agents.Remote = w.remoteAgents
	}
	if p.Agents.CheckModel == nil && p.Models == nil {
		p.Agents.CheckModel = func(name string) error {
			_, err := ModelOptions{}.Resolve(name)
			return err
		}
	}
	return p
}

// wiring is what the parts of one session's Parameters know of each other.
type wiring struct {
	variables config.Variables // set before the agents are made
	log       *slog.Logger
}

func (w *wiring) models(v config.Variables) model.Source {
	w.variables = v
	return Models(ModelOptionsOf(v))
}

// ModelOptionsOf are the options of models for the variables of a session.
func ModelOptionsOf(v config.Variables) ModelOptions {
	return ModelOptions{
		Getenv: func(name string) string {
			value, _ := v(name)
			return value
		},
		OfProject: func(name string) bool {
			_, ofProject := v(name)
			return ofProject
		},
	}
}

func (w *wiring) remoteAgents(b *bus.MessageBus) config.RemoteAgents {
	return a2a.New(a2a.Options{Getenv: w.getenv, Run: run, Bus: b, Logger: w.log})
}

// getenv gives remote agents' authentication its variables, but none of those
// that a project gives.
func (w *wiring) getenv(name string) string {
	if w.variables == nil {
		return ""
	}
	value, ofProject := w.variables(name)
	if ofProject {
		return ""
	}
	return value
}

// run returns what a command of the user's own agent file prints.
func run(ctx context.Context, command string) (string, error) {
	shell, flag := "sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/C"
	}
	out, err := exec.CommandContext(ctx, shell, flag, command).Output()
	return string(out), err
}
