package config

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/config/internal/forking"
	"github.com/fettle-dev/fettle/core/config/internal/paths"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/sandbox"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/shell"
)

// Commands configures how run_shell_command runs commands. The zero value is a
// sensible session.
type Commands struct {
	// Total ends a command that runs longer. Zero: 1 hour; negative: no limit.
	// Idle ends one without output for that long. Zero: 5 minutes; negative: no
	// limit. Neither applies to background processes.
	Total, Idle time.Duration
	// Terminal runs commands on a pseudo-terminal of their own, so that programs
	// behave as in a user's terminal.
	Terminal bool
	// Confinement applies to commands. They may write to the directories of the
	// workspace in addition to those of Writable. If this system does not support
	// it, Initialize fails.
	Confinement process.Confinement
	// Environ returns the environment that commands inherit. nil: os.Environ and,
	// with Parameters.Settings, the additions of .env files. Keys of model
	// providers are removed from it for the commands of run_shell_command.
	Environ func() []string
	// Withheld lists the names of variables that commands do not inherit from any
	// source, because they hold secrets of the program.
	Withheld []string

	auto       func() process.Confinement // determines the confinement of single commands, of [apply.Validated]; nil: Confinement applies
	byDefault  bool                       // no setting requests the confinement
	autoNotice func() string              // of [apply.Validated]
	networked  bool                       // a setting allows confined commands the network explicitly
}

// confinement returns the confinement of commands. It may run a program to find out
// which one the machine supports, so it is called when a command or a prompt needs it.
func (o Commands) confinement() process.Confinement {
	if o.auto != nil {
		return o.auto()
	}
	return o.Confinement
}

// confinementOf returns a function that returns the confinement of commands.
func (c *Config) confinementOf(sh *shared) func() process.Confinement {
	if sh.overlay() {
		return func() process.Confinement { return process.Confinement{Kind: process.Namespaces} }
	}
	p := c.params()
	return func() process.Confinement { return p.Tools.Shell.confinement() }
}

// confines reports whether every command is confined.
func (o Commands) confines() bool {
	return o.Confinement.Kind != process.Unconfined && !o.Confinement.PerCommand
}

// confinesByMounts reports whether the mode auto runs confined commands without
// approval.
func (o Commands) confinesByMounts() bool {
	c := o.confinement()
	return c.Kind == process.Namespaces && c.PerCommand
}

// environ returns the environment that commands inherit; nil for os.Environ.
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

// check returns an error if this system cannot run commands as configured.
func (o Commands) check(ctx context.Context) error {
	if o.Terminal && !process.TerminalsExist {
		return fault.New(fault.InvalidConfig, "config.commands", "This system has no terminals for commands.",
			"Run commands without a terminal.")
	}
	return o.Confinement.Check(ctx)
}

// processOptions returns a function that returns the options for a conversation's
// commands. Those of confined ones are determined now, because directories that are
// added later are not writable.
func (p *stored) processOptions(sh *shared) func() process.Options {
	if !sh.overlay() && p.Tools.Shell.Confinement.Kind == process.Unconfined {
		return func() process.Options { return p.commandOptions(sh) }
	}
	o := p.commandOptions(sh)
	if sh.overlay() {
		o = p.confinedOptions(sh)
		o.NoBackground = p.Session.NoSession
	}
	return func() process.Options { return o }
}

// commandOptions returns the options for commands that no fork confines.
func (p *stored) commandOptions(sh *shared) process.Options {
	o := process.Options{
		Marker: p.Environment.Layout.CommandMarker,
		Total:  p.Tools.Shell.Total, Idle: p.Tools.Shell.Idle, Environ: p.Tools.Shell.environ(), IsKey: settings.IsProviderKey,
		Confinement: p.Tools.Shell.Confinement, Names: &sh.names, NoBackground: p.Session.NoSession,
	}
	if auto := p.Tools.Shell.auto; auto != nil {
		o.Confine = func() process.Confinement {
			c := auto()
			p.confineTo(&c, sh)
			return c
		}
	} else {
		p.confineTo(&o.Confinement, sh)
	}
	if sh.tmp != "" {
		o.SaveDir = filepath.Join(sh.tmp, outputDir)
	}
	return o
}

// overlay reports whether the files are those of a fork that is no copy: commands are confined to it.
func (p *site) overlay() bool { return p.fork != nil && p.fork.Mode == fork.Overlay }

// confineTo adds the session's directories to a confinement.
func (p *stored) confineTo(c *process.Confinement, sh *shared) {
	if c.Kind != process.Unconfined {
		c.Writable = slices.Concat(sh.workspace.Directories(), c.Writable)
	}
	if c.Kind == process.Namespaces {
		p.enclose(c, sh)
	}
}

// programOptions returns the options for programs that run confined if their entry
// says sandbox, whatever confines commands.
func (c *Config) programOptions(sh *shared) process.Options {
	o := c.params().confinedOptions(sh)
	if dir, err := c.userDir(); err == nil {
		o.Confinement.Readable = append(slices.Clip(o.Confinement.Readable), filepath.Join(dir, extensionsDir))
	}
	return o
}

// confinedOptions returns the options for confined programs, in the fork of the session if it has one.
func (p *stored) confinedOptions(sh *shared) process.Options {
	o := p.commandOptions(sh)
	given := p.Tools.Shell.confinement()
	given.NoTCP = !p.Tools.Shell.networked
	o.Confine = nil
	if o.Confinement = given.Strongest(); o.Confinement.Kind == process.Unconfined {
		o.Confinement.Kind = process.Namespaces // which then starts nothing, and reports why
	}
	if sh.overlay() {
		forking.Confine(&o, sh.fork)
	}
	p.confineTo(&o.Confinement, sh)
	o.NoBackground = false
	return o
}

// startServer starts the program of an MCP server confined. ended is called when
// it has ended.
func (c *Config) startServer(sh *shared) func(ctx context.Context, cmd *exec.Cmd) (ended func(), err error) {
	return func(ctx context.Context, cmd *exec.Cmd) (func(), error) {
		ended, err := sh.programs.service().StartConfined(ctx, cmd)
		if err != nil {
			return nil, err
		}
		return func() {
			removed, err := ended()
			c.logRemoved(removed, err)
		}, nil
	}
}

// logRemoved logs the protected paths that a confined program has created.
func (c *Config) logRemoved(removed []string, err error) {
	if len(removed) > 0 || err != nil {
		c.params().Environment.Logger.Warn("a confined program has created protected paths, which were moved away", "paths", removed, "error", err)
	}
}

// confinedRunner runs programs confined.
type confinedRunner struct{ programs func() *process.Service }

// Program implements [discovered.Runner].
func (r confinedRunner) Program(ctx context.Context, p process.Program) (process.Output, error) {
	p.Confine = process.ConfineWrite
	return r.programs().Program(ctx, p)
}

// keepsChanged lets an approved change create protected paths while confined
// programs run.
func (s *shared) keepsChanged(next scheduler.Executing) scheduler.Executing {
	return func(ctx context.Context, p scheduler.Proposal, inv tools.ToolInvocation) (func(context.Context, bool) []string, error) {
		kept := func() {}
		if p.Spec.Origin.Group == tools.GroupBuiltIn && p.Spec.Kind != tools.KindExecute && p.Spec.Mutates() {
			var created []string
			for _, l := range inv.Locations() {
				created = append(created, paths.ResolveExisting(l.Path))
			}
			kept = s.names.Keep(created...)
		}
		ended, err := next(ctx, p, inv)
		if err != nil {
			kept()
			return nil, err
		}
		return func(ctx context.Context, again bool) []string {
			kept()
			if ended == nil {
				return nil
			}
			return ended(ctx, again)
		}, nil
	}
}

// enclose adds the session's paths for confined commands, except for those that the
// embedder has set.
func (p *stored) enclose(c *process.Confinement, sh *shared) {
	writable := func() []string {
		var real []string
		for _, dir := range c.Writable {
			if path, err := filepath.EvalSymlinks(dir); err == nil {
				real = append(real, path)
			}
		}
		return real
	}
	if c.IsProtected == nil {
		c.IsProtected, c.Protected = sh.rules.IsProtected, sh.rules.Steering
	}
	if c.Masked == nil {
		c.Masked = func(ctx context.Context) ([]string, error) { return sh.rules.Withheld(ctx, writable()) }
	}
	c.Readable = append(slices.Clip(c.Readable), sh.rules.Repositories(writable())...)
	c.Home = cmp.Or(c.Home, p.Environment.home())
	if sh.tmp != "" {
		c.Cache = cmp.Or(c.Cache, filepath.Join(sh.tmp, cacheDir))
	}
}

// cacheDir is the name of the directory of the caches of confined commands, below
// the user's directory for the project.
const cacheDir = "cache"

// confine adds the confinement of a call: it applies to commands, and to input
// written to a background command. In yolo mode single commands are confined only
// if the user has set it.
func (c *Config) confine(call *policy.Call, sh *shared) {
	o := c.params().Tools.Shell
	call.Confined, call.Confinable, call.Sealed = "", "", false
	if call.Tool != shell.RunShellCommand && call.Tool != shell.WriteBackground {
		return
	}
	if sh.overlay() {
		call.Confined, call.Sealed = policy.Namespaces, true
		return
	}
	kind := string(o.confinement().Kind)
	call.Sealed = kind == policy.Namespaces
	switch {
	case o.confines():
		call.Confined = kind
	case call.Tool == shell.RunShellCommand && (call.Mode != policy.ModeYolo || !o.byDefault):
		call.Confinable = kind
		call.Readable = sandbox.Toolchains(c.params().Environment.home(), os.Getenv("PATH"))
	}
}

// confineInput adds the confinement of the background process to which a call
// writes, where single commands are confined. A process named by its PID counts as
// unconfined, because the PID may be reused.
func confineInput(call *policy.Call, all []process.Info) {
	var p shell.WriteBackgroundParams
	if call.Tool != shell.WriteBackground || call.Confined != "" || json.Unmarshal(call.Params, &p) != nil {
		return
	}
	call.Sealed = false
	for _, i := range all {
		if i.ID == p.ID {
			call.Confined, call.Sealed = string(i.Confined), i.Confined == process.Namespaces
		}
	}
}

// outputDir is the name of the directory for outputs that were too long to
// show, below the user's directory for the project.
const outputDir = "output"

// processes holds the process services of a Config and of those derived from it,
// so that closing the root ends all processes. The zero value is empty.
type processes struct {
	mu     sync.Mutex
	opened map[*process.Service]struct{}
	ended  bool
}

// open creates a service; after closeAll, a closed one.
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

// close terminates all processes of s, and waits for them.
func (p *processes) close(s *process.Service) error {
	err := s.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.opened, s)
	return err
}

// closeAll closes all services concurrently.
func (p *processes) closeAll() error {
	p.mu.Lock()
	p.ended = true
	all := slices.Collect(maps.Keys(p.opened))
	p.mu.Unlock()
	errs := make([]error, len(all))
	var closing sync.WaitGroup
	for i, s := range all {
		if i == len(all)-1 { // most sessions have only one, and no process
			errs[i] = p.close(s)
			break
		}
		closing.Go(func() { errs[i] = p.close(s) })
	}
	closing.Wait()
	return errors.Join(errs...)
}

// running reports whether a process started by a command may still be running.
func (p *processes) running() bool {
	p.mu.Lock()
	all := slices.Collect(maps.Keys(p.opened))
	p.mu.Unlock()
	return slices.ContainsFunc(all, (*process.Service).Running)
}
