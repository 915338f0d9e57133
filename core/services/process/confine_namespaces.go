package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/sandbox"
)

// spaces are the namespaces of a Service. It is safe for concurrent use.
type spaces struct {
	names *Names

	mu      sync.Mutex
	session *sandbox.Session   // nil before the first command
	idle    []*sandbox.Session // for commands in overlays
	lower   *sandbox.Tree      // of the directories below overlays; nil before the first command
}

// take returns namespaces without processes, for one command.
func (s *spaces) take(c *Confinement) *sandbox.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		session := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return session
	}
	return sandbox.New(sandbox.Options{Home: c.Home, Network: !c.NoTCP})
}

// give ends the processes in namespaces that take has returned.
func (s *spaces) give(session *sandbox.Session) {
	if session.Busy() {
		session.Close() // it creates others for the next command
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, session)
}

// below returns the tree of the protected paths below overlays.
func (s *spaces) below(isProtected func(path string) bool) *sandbox.Tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lower == nil {
		none := func() (string, error) { return "", errors.New("the directory is not observed") }
		s.lower = sandbox.NewTree(isProtected, func() bool { return false }, none)
	}
	return s.lower
}

// get returns the namespaces for a confinement, and the tree of protected paths, nil if no path is
// protected. temp is the temporary directory.
func (s *spaces) get(c *Confinement, temp string) (*sandbox.Session, *sandbox.Tree) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil {
		s.session = sandbox.New(sandbox.Options{Home: c.Home, Network: !c.NoTCP})
	}
	return s.session, s.names.join(s.session, c, temp)
}

// end ends every process in the namespaces.
func (s *spaces) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, session := range s.idle {
		session.Close()
	}
	s.idle = nil
	if s.lower != nil {
		_ = s.lower.Close() // it moves nothing away
		s.lower = nil
	}
	if s.session == nil {
		return nil
	}
	s.session.Close()
	if err := s.names.leave(s.session); err != nil {
		return fault.Wrap(fault.FileWriteFailure, "process.close", fmt.Sprintf("A protected path that a confined process created could not be moved away: %v.", err),
			"Inspect the path, and remove it.", err)
	}
	return nil
}

// supportsNamespaces returns an error if this system cannot confine commands by namespaces.
func supportsNamespaces() error {
	if err := sandbox.Probe(); err != nil {
		return fault.Wrap(fault.InvalidConfig, confining, fmt.Sprintf("Commands cannot be confined by namespaces here: %v.", err),
			"Allow unprivileged user namespaces, or confine commands by landlock or a container.", err)
	}
	return nil
}

// enclosed starts commands in the namespaces of the Service.
type enclosed struct {
	unconfined
	s    *Service
	ctx  context.Context // of the start
	read bool            // the command may write only in the temporary directory
	tree *sandbox.Tree   // nil if the command is not observed
	last bool            // it is a background process or a server
}

// begin starts the command. If a step fails, nothing is started.
func (e *enclosed) begin(cmd *exec.Cmd) error {
	c := e.s.confinement()
	if err := c.supported(); err != nil {
		return err
	}
	rules, err := e.rules(c, cmd)
	if err != nil {
		return err
	}
	writable := rules.Writable
	if rules, err = e.caches(c, cmd, rules); err != nil { // creates directories, before new names count as the command's
		return err
	}
	session, tree := e.s.spaces.get(c, rules.Temp)
	if tree != nil && !e.read {
		e.tree = tree
		rules.Protected = withTargets(tree.Begin(writable, c.Protected), writable, filepath.EvalSymlinks)
		rules.Masked = append(rules.Masked, tree.Sockets(!c.NoTCP)...)
		if e.last {
			tree.Lasting(1)
		}
	}
	rules.Pinned = c.pinned(rules)
	if err := session.Start(cmd, rules); err != nil {
		if e.tree != nil {
			e.passed()
			e.tree.Cancel()
		}
		return refused("namespaces", err)
	}
	return nil
}

func (*enclosed) visible(pids []int) []int {
	inner := make([]int, len(pids))
	for i, pid := range pids {
		inner[i] = sandbox.PID(pid)
	}
	return inner
}

func (e *enclosed) removed() ([]string, error) {
	if e.tree == nil {
		return nil, nil
	}
	e.passed()
	return e.tree.End()
}

// passed ends what began with Lasting.
func (e *enclosed) passed() {
	if e.last {
		e.tree.Lasting(-1)
	}
}

// lasting returns the starter of a process that lasts.
func lasting(by starter) starter {
	switch e := by.(type) {
	case *enclosed:
		e.last = true
	case *overlaid:
		e.last = true
	}
	return by
}

// rules returns the rules for a command, without caches.
func (e *enclosed) rules(c *Confinement, cmd *exec.Cmd) (r sandbox.Rules, err error) {
	if r.Temp, err = e.s.temporaryDirectory(); err != nil {
		return r, err
	}
	if r.Writable, err = e.s.scratch.writable(c.Writable); err != nil {
		return r, err
	}
	r.ReadOnly, r.Readable = e.read, append(slices.Concat(c.Readable, c.Writable), cmd.Path)
	if r.Masked, err = e.paths(c.Masked, "masked"); err != nil {
		return r, err
	}
	return r, nil
}

// pinned returns the directories that a command may not move, because the paths in them would no
// longer be masked, or protected: the name of some is protected only in a certain directory, such
// as workflows in .github, and others are protected by their whole path.
func (c *Confinement) pinned(r sandbox.Rules) (dirs []string) {
	isRoot := func(dir string) bool { return slices.Contains(r.Writable, dir) || !holds(r.Writable, dir) }
	for _, path := range r.Masked {
		for dir := filepath.Dir(path); !isRoot(dir); dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	if c.IsProtected != nil {
		for _, path := range r.Protected {
			dir, base := filepath.Split(path)
			dir = filepath.Clean(dir)
			switch {
			case !c.IsProtected(path):
				for ; !isRoot(dir); dir = filepath.Dir(dir) {
					dirs = append(dirs, dir)
				}
			case !isRoot(dir) && !c.IsProtected(filepath.Join(filepath.Dir(dir), "-", base)):
				dirs = append(dirs, dir)
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// caches adds the directory for caches and the Landlock rules, and sets the command's variables.
func (e *enclosed) caches(c *Confinement, cmd *exec.Cmd, r sandbox.Rules) (sandbox.Rules, error) {
	caches := filepath.Join(r.Temp, "cache")
	if c.Cache != "" && !e.read {
		var err error
		if caches, err = makeCache(filepath.Join(c.Cache, "tools")); err != nil {
			return r, err
		}
		r.Writable = append(r.Writable, caches)
	}
	cmd.Env = append(cmd.Env, temporary(r.Temp)...)
	cmd.Env = append(cmd.Env, cacheVariables(cmd.Env, caches, !c.NoTCP)...)
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(hiddenSockets[:], name)
	})
	dirs := []string{r.Temp}
	for _, dir := range r.Writable { // an overlay gets its rule when it is mounted
		if !e.read && !slices.ContainsFunc(r.Overlays, func(o sandbox.Overlay) bool { return o.Dir == dir }) {
			dirs = append(dirs, dir)
		}
	}
	r.Ruleset = namespaceRuleset(dirs)
	return r, nil
}

// paths calls a function of the Confinement, and resolves the paths that exist.
func (e *enclosed) paths(f func(context.Context) ([]string, error), which string) (existing []string, err error) {
	if f == nil {
		return nil, nil
	}
	paths, err := f(e.ctx)
	if err != nil {
		return nil, refused(which+" paths", err)
	}
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		switch {
		case err == nil:
			existing = append(existing, real)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, refused(path, err)
		}
	}
	return existing, nil
}

// withTargets adds the files and directories in the writable directories that protected links lead
// to: what they contain counts as much.
func withTargets(protected, writable []string, resolve func(string) (string, error)) []string {
	for _, path := range protected {
		real, err := resolve(path)
		if err == nil && real != path && holds(writable, real) && !slices.ContainsFunc(writable, func(dir string) bool { return sandbox.Below(real, dir) }) {
			protected = append(protected, real)
		}
	}
	slices.Sort(protected)
	return slices.Compact(protected)
}

// hiddenSockets are the variables that name sockets which commands cannot reach.
var hiddenSockets = [...]string{
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "WAYLAND_DISPLAY", "DISPLAY", "DOCKER_HOST",
}

// cacheVariables returns the variables that direct the caches of build tools to a directory. With a
// network, modules that go and cargo download go there too; without one, the user's own are read.
func cacheVariables(env []string, dir string, network bool) (set []string) {
	for _, v := range [...][2]string{
		{"XDG_CACHE_HOME", "xdg"}, {"GOCACHE", "go-build"}, {"npm_config_cache", "npm"}, {"YARN_CACHE_FOLDER", "yarn"}, {"PIP_CACHE_DIR", "pip"}, {"UV_CACHE_DIR", "uv"}, {"CCACHE_DIR", "ccache"},
	} {
		set = append(set, v[0]+"="+filepath.Join(dir, v[1]))
	}
	if !network {
		return set
	}
	modules := variable(env, "GOMODCACHE")
	if modules == "" {
		gopath := variable(env, "GOPATH")
		if gopath == "" {
			gopath = filepath.Join(variable(env, "HOME"), "go")
		}
		modules = filepath.Join(filepath.SplitList(gopath)[0], "pkg", "mod")
	}
	proxy := variable(env, "GOPROXY")
	if proxy == "" {
		proxy = "https://proxy.golang.org,direct"
	}
	return append(set, "CARGO_HOME="+filepath.Join(dir, "cargo"), "GOMODCACHE="+filepath.Join(dir, "go-mod"),
		"GOPROXY=file://"+filepath.ToSlash(filepath.Join(modules, "cache", "download"))+","+proxy,
		"GOFLAGS="+strings.TrimSpace(variable(env, "GOFLAGS")+" -modcacherw"))
}

// makeCache creates the cache directory and returns its real path.
func makeCache(dir string) (string, error) {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", badDirectory(dir, err)
	}
	return dir, nil
}

// temporaryDirectory returns the temporary directory of confined commands.
func (s *Service) temporaryDirectory() (string, error) {
	if c := s.confinement(); c.Kind == Namespaces || c.Overlays != nil {
		return s.scratch.directoryIn(temporaryParent)
	}
	return s.scratch.directory()
}

// temporaryParent returns the directory for temporary directories: not below /tmp or /dev/shm,
// where the temporary directory is mounted.
func temporaryParent() string {
	const instead = "/var/tmp"
	dir, err := filepath.EvalSymlinks(os.TempDir())
	if err == nil && !holds([]string{"/tmp", "/dev"}, dir) {
		return ""
	}
	if probe, err := os.MkdirTemp(instead, scratchPrefix); err == nil {
		_ = os.Remove(probe)
		return instead
	}
	return ""
}
