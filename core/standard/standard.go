// Package standard wires the optional parts into a session: the model providers and remote agents, which core/config
// does not import. Call [Parameters] and pass the result to config.
package standard

import (
	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/internal/a2a"
	"github.com/fettle-dev/fettle/core/model"
)

// Parameters returns p with defaults for the parts that it leaves open: models of all providers (Providers, unless
// Models or Providers are set) and remote agents (Agents.Remote). Values that are set stay. The result may create any
// number of Configs, each with the variables of its own environment.
func Parameters(p config.Parameters) config.Parameters {
	if p.Conversation.Models == nil && p.Conversation.Providers == nil {
		p.Conversation.Providers = func(v config.Variables) model.Source { return Models(ModelOptionsOf(v)) }
	}
	if p.Agents.Remote == nil {
		log := p.Environment.Logger
		p.Agents.Remote = func(b *bus.MessageBus, v config.Variables) subagent.RemoteAgents {
			return a2a.New(a2a.Options{Getenv: withoutProject(v), Run: run, Bus: b, Logger: log})
		}
	}
	if p.Agents.CheckModel == nil && p.Conversation.Models == nil {
		p.Agents.CheckModel = func(name string, v config.Variables) error { return ModelOptionsOf(v).check(name) }
	}
	return p
}

// ModelOptionsOf returns the model options for the variables of a session.
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

// withoutProject looks up variables for the authentication of remote agents. It hides variables that a project sets.
func withoutProject(v config.Variables) func(name string) string {
	return func(name string) string {
		value, ofProject := v(name)
		if ofProject {
			return ""
		}
		return value
	}
}
