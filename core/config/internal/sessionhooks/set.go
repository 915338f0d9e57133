// Package sessionhooks runs hooks at the events of a session, and decides which
// of them may run.
package sessionhooks

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/contributions"
	"github.com/fettle-dev/fettle/core/config/internal/paths"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/internal/hookrun"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Files of hooks, below the user's, the project's and the machine's settings
// directory, and that of approved ones.
const (
	hooksFile        = "hooks.toml"
	hooksJSON        = "hooks.json"
	trustedHooksFile = "trusted_hooks.json"
)

// workspacePath is the name of the target directory in commands of hooks.
const workspacePath = "workspacePath"

// Options describe a session and those derived from it.
type Options struct {
	Bus       *bus.MessageBus
	Workspace *workspace.Workspace
	Layout    *layout.Layout
	UserDir   string // the user's settings directory; "": there is no home directory
	Sources   *Sources

	Trusted, Inherited bool // whether the directory is trusted, and whether because of a directory above it
	Confined           bool // commands are confined
	Sandbox            bool // all hooks run confined
	TrustAll           bool // the project's hooks run without approval, if the directory is trusted

	Process     func() process.Options                   // with the confinement of hooks that request it
	Open        func(o process.Options) *process.Service // for Set.Close to end
	End         func(s *process.Service) error           // ends a service of Open
	PlansDir    func() string                            // the directory of plans
	Servers     func() []mcp.Configured                  // the MCP servers that may be used
	ServerNames func() []string                          // all configured ones
	Mask        func() func(text string) string          // masks secrets
	Logger      *slog.Logger
	Now         func() time.Time // nil: time.Now
	OnDefect    func(err error)
}

// Sources are the hooks and options of the program and the settings.
type Sources struct {
	Disabled  bool         // no hooks run
	Functions []hooks.Hook // the program's own
	Off       []string     // names or commands of disabled hooks
	Silent    bool         // runs of hooks are not announced
	Layers    []*settings.HookLayer
}

// Set contains the hooks of a session and of those derived from it.
type Set struct {
	o         Options
	runner    atomic.Pointer[hookrun.Runner] // replaced as a whole
	approvals *hookrun.Approvals             // nil: there is no home directory
	project   string                         // directory with links resolved, by which approvals are recorded
	telling   sync.WaitGroup                 // running notifications

	landlockAlone sync.Once // the notice about hooks that Landlock alone confines

	mu     sync.Mutex
	closed bool
	// The services are created by the first hook that runs as a process, because
	// most sessions have none. limited is that of extensions' hooks, which do not
	// see the user's environment.
	processes, limited *process.Service

	problems []fault.Problem
	withheld map[*hooks.Hook]bool   // hooks reported as not running; may be nil
	shown    map[*hooks.Hook]string // commands, with secrets masked; nil without hooks
}

// New returns a session's hooks, which are empty before Load.
func New(o Options) *Set {
	s := &Set{o: o, project: o.Workspace.RealDirectories()[0]}
	if o.UserDir != "" {
		s.approvals = hookrun.OpenApprovals(filepath.Join(o.UserDir, trustedHooksFile))
	}
	return s
}

// Load reads the hooks and replaces the previous ones. Mistakes are problems, not
// errors.
func (s *Set) Load(extensions []contributions.File) {
	l := &loader{set: s, tools: contributions.ToolNames(), variables: map[string]string{
		workspacePath: s.o.Workspace.Target(), "/": string(filepath.Separator), "pathSeparator": string(filepath.Separator),
	}}
	if !s.o.Sources.Disabled {
		l.load(extensions)
	}
	runner := hookrun.New(hookrun.Options{
		Hooks: l.hooks, Off: s.o.Sources.Off, Exec: s.exec,
		Env: s.environment, Gate: s.mayRun, Started: s.started, OnDefect: s.o.OnDefect,
	})
	s.mu.Lock()
	s.problems, s.withheld, s.shown = l.problems, nil, nil
	for _, h := range runner.Hooks() {
		if s.shown == nil {
			s.shown = make(map[*hooks.Hook]string)
		}
		s.shown[h] = cmp.Or(h.Shown, h.Command)
	}
	s.mu.Unlock()
	s.runner.Store(runner)
	for _, problem := range l.problems {
		s.o.Logger.Warn("hooks", slog.String("problem", problem.String()))
	}
}

// loader collects hooks from all their sources.
type loader struct {
	set       *Set
	variables map[string]string // of every file
	tools     []string          // names for matchers
	hooks     []hooks.Hook
	problems  []fault.Problem
}

func (l *loader) load(extensions []contributions.File) {
	o := &l.set.o
	for _, h := range o.Sources.Functions {
		h.Source = hooks.SourceRuntime
		if h.Run == nil || !slices.Contains(hooks.Events(), h.Event) {
			l.problems = append(l.problems, fault.Problem{Message: "A hook of the program has an unknown event or no function: " + h.Label() + ". It is ignored."})
			continue
		}
		l.hooks = append(l.hooks, h)
	}
	for _, layer := range o.Sources.Layers {
		l.add(masked(layer)(hookrun.OfValue(layer.Events, l.origin(sourceOfLayer(layer.Layer), layer.Source), layer.Line)))
	}
	if o.UserDir != "" {
		l.addDir(hooks.SourceUser, o.UserDir)
	}
	if dir := filepath.Join(o.Workspace.Target(), o.Layout.Dir); !paths.Same(dir, o.UserDir) {
		l.addDir(hooks.SourceProject, dir)
	}
	l.addDir(hooks.SourceSystem, o.Layout.SystemDir)
	for _, f := range extensions {
		from := l.origin(hooks.SourceExtension, f.Path)
		from.Extension, from.Variables = f.Extension, maps.Clone(l.variables)
		maps.Copy(from.Variables, f.Variables)
		from.Env, from.Claude = environmentOf(f.Env), f.Claude
		l.add(hookrun.ParseJSON(f.Data, from))
	}
}

func (l *loader) add(found []hooks.Hook, problems []fault.Problem) {
	l.hooks, l.problems = append(l.hooks, found...), append(l.problems, problems...)
}

// addDir reads the files of a settings directory.
func (l *loader) addDir(s hooks.Source, dir string) {
	for _, name := range []string{hooksFile, hooksJSON} {
		l.add(hookrun.ReadFile(l.origin(s, filepath.Join(dir, name))))
	}
}

func (l *loader) origin(s hooks.Source, path string) hookrun.Origin {
	return hookrun.Origin{Source: s, Path: path, Variables: l.variables, Tools: l.tools}
}

// masked returns a function that masks the secrets of a layer in the texts about
// its hooks.
func masked(layer *settings.HookLayer) func([]hooks.Hook, []fault.Problem) ([]hooks.Hook, []fault.Problem) {
	return func(found []hooks.Hook, problems []fault.Problem) ([]hooks.Hook, []fault.Problem) {
		for i := range found {
			h := &found[i]
			h.Shown, h.Name, h.Description = layer.Shown(h.Command), layer.Shown(h.Name), layer.Shown(h.Description)
		}
		for i := range problems {
			problems[i].Message = layer.Shown(problems[i].Message)
		}
		return found, problems
	}
}

// sourceOfLayer returns the source of a layer's hooks.
func sourceOfLayer(l settings.Layer) hooks.Source {
	switch l {
	case settings.LayerProject:
		return hooks.SourceProject
	case settings.LayerSystem, settings.LayerSystemDefaults:
		return hooks.SourceSystem
	}
	return hooks.SourceUser
}

// service returns the process service for hooks, created on first use; after
// close a closed one.
func (s *Set) service(limited bool) *process.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := &s.processes
	if limited {
		at = &s.limited
	}
	if *at == nil {
		o := s.o.Process()
		if limited {
			o.Environ = openEnvironment(o.Environ, o.Marker)
		}
		*at = s.o.Open(o)
		if s.closed {
			_ = (*at).Close() // always nil; nothing has been started
		}
	}
	return *at
}

// exec runs a hook as a process in the target directory.
func (s *Set) exec(ctx context.Context, c hookrun.Command) (hookrun.Outcome, error) {
	p := process.Program{
		Line: c.Line, Dir: s.o.Workspace.Target(), Stdin: c.Stdin, Env: c.Env, Total: c.Limit, MaxBytes: hookrun.MaxOutput, Drops: true,
	}
	if c.Sandbox || s.o.Sandbox {
		p.Confine = process.ConfineWrite
		s.landlockAlone.Do(func() {
			if s.o.Process().Confinement.Kind == process.Landlock {
				s.tell(bus.HookMessage{Level: bus.HookWarning, Text: settings.LandlockAlone}, nil)
			}
		})
	}
	out, err := s.service(c.Source == hooks.SourceExtension).Program(ctx, p)
	if err != nil {
		return hookrun.Outcome{}, err
	}
	return hookrun.Outcome{
		Code: out.Code, Signal: out.Signal, TimedOut: out.Ending == process.TotalLimit,
		Stdout: out.Stdout, Stderr: out.Stderr, Dropped: out.Dropped, Duration: out.Duration, Removed: out.Removed, RemoveError: out.RemoveError,
	}, nil
}

// openEnvironment returns the variables that programs of extensions receive in
// addition to their settings, and the marker of nested sessions.
func openEnvironment(environ func() []string, marker string) func() []string {
	if environ == nil {
		environ = os.Environ
	}
	return func() []string {
		return slices.DeleteFunc(slices.Clone(environ()), func(entry string) bool {
			name, _, _ := strings.Cut(entry, "=")
			return !extensionstore.IsOpen(name) && name != marker && name != marker+"_COMMAND_ID"
		})
	}
}

// variables returns the variables that describe the directories to a hook's
// command.
func (s *Set) variables() map[string]string {
	target, prefix := s.o.Workspace.Target(), s.o.Layout.EnvPrefix
	return map[string]string{
		prefix + "PROJECT_DIR": target, prefix + "CWD": target, prefix + "PLANS_DIR": s.o.PlansDir(), "CLAUDE_PROJECT_DIR": target,
		workspacePath: target,
	}
}

// environment returns the variables of a command, with that of its session.
func (s *Set) environment(in hooks.Input) []string {
	env := []string{s.o.Layout.EnvPrefix + "SESSION_ID=" + in.SessionID}
	for name, value := range s.variables() {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// environmentOf parses lines NAME=VALUE.
func environmentOf(lines []string) map[string]string {
	env := make(map[string]string, len(lines))
	for _, line := range lines {
		for i := range len(line) {
			if line[i] == '=' {
				env[line[:i]] = line[i+1:]
				break
			}
		}
	}
	return env
}

// started announces that a hook runs.
func (s *Set) started(e hooks.Event, h *hooks.Hook) {
	if !s.o.Sources.Silent && s.o.Bus.Watched(bus.HookMessage{}) {
		s.tell(bus.HookMessage{Event: string(e), Level: bus.HookRuns}, h)
	}
}

// tell publishes a message about a hook of the session; h may be nil.
func (s *Set) tell(m bus.HookMessage, h *hooks.Hook) { s.tellOn(s.o.Bus, m, h) }

func (s *Set) tellOn(b *bus.MessageBus, m bus.HookMessage, h *hooks.Hook) {
	if h != nil {
		m.Hook = h.Label()
	}
	if m.Level == bus.HookWarning {
		s.o.Logger.Warn("hook", slog.String("event", m.Event), slog.String("hook", m.Hook), slog.String("problem", m.Text))
	}
	_ = b.Publish(m) // a closed bus has no subscribers
}

// Any reports whether there is a hook of one of the events.
func (s *Set) Any(events ...hooks.Event) bool {
	return slices.ContainsFunc(events, s.runner.Load().Any)
}

// Close waits for everything that is still running.
func (s *Set) Close() {
	s.mu.Lock()
	s.closed = true
	made := []*process.Service{s.processes, s.limited}
	s.mu.Unlock()
	for _, service := range made {
		if service != nil {
			_ = s.o.End(service) // ends the hooks that telling waits for; its processes are gone in any case
		}
	}
	s.telling.Wait()
}
