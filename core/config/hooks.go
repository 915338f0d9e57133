package config

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/services/process"
)

// Hooks say what runs at the events of a session (EX-06). The zero value is the
// hooks of files, settings and extensions.
type Hooks struct {
	Disabled bool // none runs; the settings may say so too
	// Functions are the embedder's own. They run before all others, and have their
	// Run set.
	Functions []hooks.Hook
	// TrustAll says that the folder is trusted for this run alone: the hooks of its
	// project run as they are, and nothing is recorded of them. In a folder that is
	// not trusted they do not run in any case.
	TrustAll bool

	said *saidOfHooks // by settings; nil: nothing
}

// saidOfHooks is what settings say of hooks.
type saidOfHooks struct {
	off    []string // names or commands of hooks that do not run
	silent bool     // nobody is told that a hook runs
	layers []*settings.HookLayer
}

// settled returns what settings say.
func (h *Hooks) settled() saidOfHooks {
	if h.said == nil {
		return saidOfHooks{}
	}
	return *h.said
}

// Files of hooks, below the user's, the project's and the machine's settings
// folder (CF-02, CR-24), and that of approved ones.
const (
	hooksFile        = "hooks.toml"
	hooksJSON        = "hooks.json"
	trustedHooksFile = "trusted_hooks.json"
)

// workspacePath is what commands of hooks call the target folder.
const workspacePath = "workspacePath"

// fillHooks takes over what settings say of hooks.
func (p *Parameters) fillHooks(s settings.Settings, r *settings.Result) {
	h := &p.Hooks
	h.Disabled = h.Disabled || !s.HooksConfig.Enabled
	h.said = &saidOfHooks{s.HooksConfig.Disabled, !s.HooksConfig.Notifications, r.HookLayers()}
}

// hookset are the hooks of a Config and of those derived from it. Its zero value
// has none.
type hookset struct {
	runner    atomic.Pointer[hooks.Runner]        // replaced as a whole
	open      func(limited bool) *process.Service // makes one of the two services; nil: hooks have not been loaded
	approvals *hooks.Approvals                    // nil: there is no home folder
	project   string                              // folder with links followed, by which approvals are recorded
	telling   sync.WaitGroup                      // notifications that run

	mu     sync.Mutex
	closed bool
	// The services are made by the first hook that runs as a process, since most
	// sessions have none. limited is that of extensions' hooks, which do not see the
	// person's environment.
	processes, limited *process.Service

	problems []fault.Problem
	withheld map[*hooks.Hook]bool   // hooks of which has been told that they do not run
	shown    map[*hooks.Hook]string // commands, without secrets
}

// loadHooks reads the hooks and puts them in the place of those that were there:
// at Initialize, and again when extensions have changed. Mistakes are problems and
// no error.
func (c *Config) loadHooks(sh *shared) {
	p, set := c.params(), &sh.hooks
	if set.open == nil {
		set.open = func(limited bool) *process.Service {
			o := p.processOptions(sh)
			o.Confinement, o.NoBackground = process.Confinement{}, false // a hook was chosen by the user
			if limited {
				o.Environ = openEnvironment(o.Environ, o.Marker)
			}
			return sh.processes.open(o)
		}
		set.project = sh.workspace.RealFolders()[0]
		if dir, err := c.userDir(); err == nil {
			set.approvals = hooks.OpenApprovals(filepath.Join(dir, trustedHooksFile))
		}
	}
	l := &hookLoader{c: c, sh: sh, variables: map[string]string{
		workspacePath: sh.workspace.Target(), "/": string(filepath.Separator), "pathSeparator": string(filepath.Separator),
	}}
	if !p.Hooks.Disabled {
		l.load()
	}
	runner := hooks.New(hooks.Options{
		Hooks: l.hooks, Off: p.Hooks.settled().off, Exec: set.exec(sh.workspace.Target()),
		Env:      func(in hooks.Input) []string { return c.hookEnvironment(sh, in.SessionID) },
		Gate:     func(ctx context.Context, h *hooks.Hook) bool { return c.mayRunHook(ctx, sh, h) },
		Started:  c.hookStarted,
		OnDefect: c.onDefect,
	})
	set.mu.Lock()
	set.problems, set.withheld, set.shown = l.problems, map[*hooks.Hook]bool{}, map[*hooks.Hook]string{}
	for _, h := range runner.Hooks() {
		set.shown[h] = cmp.Or(h.Shown, h.Command)
	}
	set.mu.Unlock()
	set.runner.Store(runner)
	for _, problem := range l.problems {
		p.Logger.Warn("hooks", slog.String("problem", problem.String()))
	}
}

// hookLoader gathers hooks from all their places.
type hookLoader struct {
	c         *Config
	sh        *shared
	variables map[string]string // of every file
	hooks     []hooks.Hook
	problems  []fault.Problem
}

func (l *hookLoader) load() {
	p := l.c.params()
	for _, h := range p.Hooks.Functions {
		h.Source = hooks.SourceRuntime
		if h.Run == nil || !slices.Contains(hooks.Events(), h.Event) {
			l.problems = append(l.problems, fault.Problem{Message: "A hook of the program has no event that there is, or nothing to run: " + h.Label() + ". It is left out."})
			continue
		}
		l.hooks = append(l.hooks, h)
	}
	for _, layer := range p.Hooks.settled().layers {
		l.add(masked(layer)(hooks.OfValue(layer.Events, l.origin(sourceOfLayer(layer.Layer), layer.Source), layer.Line)))
	}
	userDir, err := l.c.userDir()
	if err == nil {
		l.folder(hooks.SourceUser, userDir)
	}
	if dir := filepath.Join(l.sh.workspace.Target(), p.Layout.Dir); !sameFolder(dir, userDir) {
		l.folder(hooks.SourceProject, dir)
	}
	l.folder(hooks.SourceSystem, p.Layout.SystemDir)
	for _, f := range l.c.brought().hooks {
		o := l.origin(hooks.SourceExtension, f.Path)
		o.Extension, o.Variables = f.Extension, both(o.Variables, f.Variables)
		o.Env = environmentOf(f.Env)
		l.add(hooks.ParseJSON(f.Data, o))
	}
}

func (l *hookLoader) add(found []hooks.Hook, problems []fault.Problem) {
	l.hooks, l.problems = append(l.hooks, found...), append(l.problems, problems...)
}

// folder reads the files of a settings folder.
func (l *hookLoader) folder(s hooks.Source, dir string) {
	for _, name := range []string{hooksFile, hooksJSON} {
		l.add(hooks.ReadFile(l.origin(s, filepath.Join(dir, name))))
	}
}

func (l *hookLoader) origin(s hooks.Source, path string) hooks.Origin {
	return hooks.Origin{Source: s, Path: path, Variables: l.variables}
}

// masked takes the secrets that a layer has put into its hooks out of all that is
// told of them.
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

// sourceOfLayer says whose the hooks of a layer are.
func sourceOfLayer(l settings.Layer) hooks.Source {
	switch l {
	case settings.LayerProject:
		return hooks.SourceProject
	case settings.LayerSystem, settings.LayerSystemDefaults:
		return hooks.SourceSystem
	}
	return hooks.SourceUser
}

// service returns what runs hooks, made at first use; after close one that is
// closed.
func (s *hookset) service(limited bool) *process.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := &s.processes
	if limited {
		at = &s.limited
	}
	if *at == nil {
		*at = s.open(limited)
		if s.closed {
			_ = (*at).Close() // always nil; nothing has been started
		}
	}
	return *at
}

// exec runs hooks as processes in a folder.
func (s *hookset) exec(dir string) func(ctx context.Context, c hooks.Command) (hooks.Outcome, error) {
	return func(ctx context.Context, c hooks.Command) (hooks.Outcome, error) {
		out, err := s.service(c.Source == hooks.SourceExtension).Program(ctx, process.Program{
			Line: c.Line, Dir: dir, Stdin: c.Stdin, Env: c.Env, Total: c.Limit, MaxBytes: hooks.MaxOutput, Drops: true,
		})
		if err != nil {
			return hooks.Outcome{}, err
		}
		return hooks.Outcome{
			Code: out.Code, Signal: out.Signal, TimedOut: out.Ending == process.TotalLimit,
			Stdout: out.Stdout, Stderr: out.Stderr, Dropped: out.Dropped, Duration: out.Duration,
		}, nil
	}
}

// openEnvironment is the part of an environment that programs of extensions get
// beside their settings, and what nested sessions know each other by.
func openEnvironment(environ func() []string, marker string) func() []string {
	if environ == nil {
		environ = os.Environ
	}
	return func() []string {
		return slices.DeleteFunc(slices.Clone(environ()), func(entry string) bool {
			name, _, _ := strings.Cut(entry, "=")
			return !extensions.IsOpen(name) && name != marker && name != marker+"_COMMAND_ID"
		})
	}
}

// hookVariables are the variables that tell a hook's command where it is.
func (c *Config) hookVariables(sh *shared) map[string]string {
	target, prefix := sh.workspace.Target(), c.params().Layout.EnvPrefix
	return map[string]string{
		prefix + "PROJECT_DIR": target, prefix + "CWD": target, prefix + "PLANS_DIR": c.plansDir(target), "CLAUDE_PROJECT_DIR": target,
		workspacePath: target,
	}
}

// hookEnvironment are those of a command, with that of its session.
func (c *Config) hookEnvironment(sh *shared, session string) []string {
	env := []string{c.params().Layout.EnvPrefix + "SESSION_ID=" + session}
	for name, value := range c.hookVariables(sh) {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// environmentOf takes lines NAME=VALUE apart.
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

// hookStarted tells that a hook runs.
func (c *Config) hookStarted(e hooks.Event, h *hooks.Hook) {
	if !c.params().Hooks.settled().silent && c.bus.Watched(bus.TypeHookMessage) {
		c.tellHook(e, h, bus.HookRuns, "")
	}
}

// tellHook tells people of a hook; h may be nil.
func (c *Config) tellHook(e hooks.Event, h *hooks.Hook, level bus.HookLevel, text string) {
	m := bus.HookMessage{Event: string(e), Level: level, Text: text, Subagent: c.subagent}
	if h != nil {
		m.Hook = h.Label()
	}
	if level == bus.HookWarning {
		c.params().Logger.Warn("hook", slog.String("event", m.Event), slog.String("hook", m.Hook), slog.String("problem", text))
	}
	_ = c.bus.Publish(m) // a closed bus has nobody to tell
}

// fireHooks runs the hooks of an event and tells people what they say. in needs
// what is the event's own.
func (c *Config) fireHooks(ctx context.Context, sh *shared, in hooks.Input, about hooks.Subject) hooks.Effect {
	effect := c.fireQuietly(ctx, sh, in, about)
	c.tellMessages(in.Event, effect)
	return effect
}

// tellMessages tells people what hooks of an event say.
func (c *Config) tellMessages(e hooks.Event, effect hooks.Effect) {
	for _, m := range effect.Messages {
		if !m.Quiet {
			c.tellOnce(e, m, bus.HookInfo)
		}
	}
}

// fireQuietly is fireHooks that tells warnings alone.
func (c *Config) fireQuietly(ctx context.Context, sh *shared, in hooks.Input, about hooks.Subject) hooks.Effect {
	runner := sh.hooks.runner.Load()
	if !runner.Any(in.Event) {
		return hooks.Effect{}
	}
	effect := runner.Fire(ctx, c.hookInput(sh, in), about)
	for _, w := range effect.Warnings() {
		c.tellOnce(in.Event, w, bus.HookWarning)
	}
	return effect
}

// tellOnce tells what a hook says, or what is wrong with it; at pieces of an answer
// once for each request.
func (c *Config) tellOnce(e hooks.Event, m hooks.Message, level bus.HookLevel) {
	if s, _ := c.current(); s != nil && e == hooks.AfterModel && !s.hooks.first(m.Hook, string(level)+"\x00"+m.Text) {
		return
	}
	c.tellHook(e, m.Hook, level, m.Text)
}

// hookInput adds what every hook is told.
func (c *Config) hookInput(sh *shared, in hooks.Input) hooks.Input {
	now := time.Now
	if c.params().Now != nil {
		now = c.params().Now
	}
	in.SessionID, in.CWD, in.Timestamp = c.SessionID(), sh.workspace.Target(), now().UTC()
	if s, _ := c.current(); s != nil {
		in.TranscriptPath = s.hooks.transcriptPath()
	}
	return in
}

// close waits for what still runs; the processes are ended by who opened them.
func (s *hookset) close() {
	s.mu.Lock()
	s.closed = true
	made := []*process.Service{s.processes, s.limited}
	s.mu.Unlock()
	for _, service := range made {
		if service != nil {
			_ = service.Close() // ends what telling waits for
		}
	}
	s.telling.Wait()
}
