package config

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/tools/shell"
)

// Commands say how run_shell_command runs what it is given. The zero value is
// a sensible session.
type Commands struct {
	// Total ends a command that runs longer. Zero: 1 hour; negative: no limit.
	// Idle ends one that prints nothing for so long. Zero: 5 minutes; negative:
	// no limit. Neither holds for background processes.
	Total, Idle time.Duration
	// Terminal runs commands at a terminal of their own, so that programs show
	// what they would show a person.
	Terminal bool
	// Confinement holds for commands. They may write in the directories of the
	// workspace beside those of Writable. What this system lacks for it is an
	// error of Initialize.
	Confinement process.Confinement
	// Environ returns the environment that commands inherit. nil: os.Environ, and
	// with Parameters.Settings what .env files add to it. Keys of models' providers
	// are removed from it for the commands of run_shell_command.
	Environ func() []string
	// Withheld are names of variables that commands do not inherit, whoever gives
	// them: those that hold a secret of the program's own.
	Withheld []string
}

// environ is what commands inherit; nil for os.Environ.
func (o Commands) environ() func() []string {
	if len(o.Withheld) == 0 {
		return o.Environ
	}
	all := o.Environ
	if all == nil {
		all = os.Environ
	}
	return func() []string {
		return slices.DeleteFunc(slices.Clone(all()), func(line string) bool {
			name, _, _ := strings.Cut(line, "=")
			return slices.Contains(o.Withheld, name)
		})
	}
}

// check reports what this system lacks to run commands so.
func (o Commands) check(ctx context.Context) error {
	if o.Terminal && !process.TerminalsExist {
		return fault.New(fault.InvalidConfig, "config.commands", "This system has no terminals that commands could run at.",
			"Run them without one.")
	}
	return o.Confinement.Check(ctx)
}

// processOptions are those of a conversation's commands.
func (p *Parameters) processOptions(sh *shared) process.Options {
	o := process.Options{
		Marker: p.Layout.CommandMarker,
		Total:  p.Commands.Total, Idle: p.Commands.Idle, Environ: p.Commands.environ(), IsKey: settings.IsProviderKey,
		Confinement: p.Commands.Confinement, NoBackground: p.NoSession,
	}
	if o.Confinement.Kind != process.Unconfined {
		o.Confinement.Writable = slices.Concat(sh.workspace.Folders(), o.Confinement.Writable)
	}
	if sh.tmp != "" {
		o.SaveDir = filepath.Join(sh.tmp, outputFolder)
	}
	return o
}

// confined says what confines a call of a tool, "" for nothing: commands are
// confined, and with them what is written to one in the background.
func (c *Config) confined(tool string) string {
	switch tool {
	case shell.RunShellCommand, shell.WriteBackground:
		return string(c.params().Commands.Confinement.Kind)
	}
	return ""
}

// outputFolder holds the outputs that were too long to be shown, below the
// user's directory for the project.
const outputFolder = "output"

// processes are the process services of a Config and of those derived from it,
// so that nothing that one of them has started outlives the first. The zero
// value has none.
type processes struct {
	mu     sync.Mutex
	opened map[*process.Service]struct{}
	ended  bool
}

// open makes a service; after closeAll one that is closed.
func (p *processes) open(o process.Options) *process.Service {
	s := process.New(o)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		_ = s.Close() // always nil; nothing has been started
		return s
	}
	if p.opened == nil {
		p.opened = make(map[*process.Service]struct{})
	}
	p.opened[s] = struct{}{}
	return s
}

// close ends all that s has started, and waits for it.
func (p *processes) close(s *process.Service) error {
	err := s.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.opened, s)
	return err
}

// closeAll closes every service at once.
func (p *processes) closeAll() error {
	p.mu.Lock()
	p.ended = true
	all := slices.Collect(maps.Keys(p.opened))
	p.mu.Unlock()
	errs := make([]error, len(all))
	var closing sync.WaitGroup
	for i, s := range all {
		closing.Go(func() { errs[i] = p.close(s) })
	}
	closing.Wait()
	return errors.Join(errs...)
}

// running reports whether something that a command has started may still be there.
func (p *processes) running() bool {
	p.mu.Lock()
	all := slices.Collect(maps.Keys(p.opened))
	p.mu.Unlock()
	return slices.ContainsFunc(all, (*process.Service).Running)
}
