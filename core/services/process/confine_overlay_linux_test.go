package process_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/sandbox"
)

// inFork lets a confinement run commands in a fork.
func inFork(f *fork.Fork) func(ctx context.Context, write bool) ([]sandbox.Overlay, func(context.Context) error, error) {
	return func(ctx context.Context, write bool) (all []sandbox.Overlay, ended func(context.Context) error, err error) {
		m, err := f.Mount(ctx, write)
		if err != nil {
			return nil, nil, err
		}
		for _, l := range m.Layers() {
			all = append(all, sandbox.Overlay{Dir: l.Dir, Upper: l.Upper, Work: l.Work})
		}
		return all, m.Close, nil
	}
}

// inForkOf lets the commands of a confinement run in a new fork of its first directory, which must not change until the end.
func inForkOf(t *testing.T) func(c *process.Confinement) {
	return func(c *process.Confinement) {
		ws := c.Writable[0]
		f, err := fork.New(fork.Options{Dir: filepath.Join(filepath.Dir(ws), "home/.local/state/fettle/forks")}).Create(t.Context(), fork.Request{Dirs: []string{ws}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, f.Close()) })
		before := stateOf(t, ws)
		t.Cleanup(func() { require.Equal(t, before, stateOf(t, ws)) })
		c.Overlays = inFork(f)
	}
}

// forked is a project with a fork, and a Service that runs commands in it.
type forked struct {
	t             testing.TB
	s             *process.Service
	f             *fork.Fork
	top, ws, home string
	upper         string
}

func newForked(t testing.TB, top string, files map[string]string, change func(c *process.Confinement)) *forked {
	t.Helper()
	f := &forked{t: t, top: top, ws: filepath.Join(top, "ws"), home: filepath.Join(top, "home")}
	for _, dir := range []string{f.ws, f.home} {
		require.NoError(t, os.MkdirAll(dir, 0o700))
	}
	f.write(f.ws, files)
	made, err := fork.New(fork.Options{Dir: filepath.Join(f.home, ".local/state/fettle/forks")}).Create(t.Context(), fork.Request{Name: "one", Dirs: []string{f.ws}})
	if fault.CodeOf(err) == fault.ForkUnsupported {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, made.Close()) })
	f.f, f.upper = made, made.Layers()[0].Upper
	c := process.Confinement{
		Kind: process.Namespaces, NoTCP: true, PerCommand: true, Writable: []string{f.ws}, Home: f.home, Cache: filepath.Join(top, "cache"), Overlays: inFork(made),
		IsProtected: func(path string) bool { return filepath.Base(path) == ".envrc" },
	}
	if change != nil {
		change(&c)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	f.s = newService(t, process.Options{Confinement: c, Environ: func() []string { return append(os.Environ(), "HOME="+f.home, "LC_ALL=C") }})
	f.settle()
	return f
}

// settle returns when the clock of files is later than the last change.
func (f *forked) settle() {
	f.t.Helper()
	clock := func() time.Duration {
		var now unix.Timespec
		require.NoError(f.t, unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now))
		return time.Duration(now.Nano())
	}
	for begun := clock(); clock()-begun < 20*time.Millisecond; {
		time.Sleep(time.Millisecond) // the clock advances
	}
}

func (f *forked) write(dir string, files map[string]string) {
	f.t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(f.t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func (f *forked) run(line string, how process.Confine) process.Result {
	f.t.Helper()
	r, err := f.s.Run(f.t.Context(), process.Command{Line: line, Dir: f.ws, Confine: how})
	require.NoError(f.t, err)
	require.NoError(f.t, r.Unrecorded)
	require.NoError(f.t, r.RemoveError)
	require.Empty(f.t, r.Background)
	return r
}

// verdicts returns the comparison of the fork.
func (f *forked) verdicts() map[string]string {
	f.t.Helper()
	r, err := f.f.Compare(f.t.Context(), nil)
	require.NoError(f.t, err)
	all := make(map[string]string)
	for _, file := range r.Files {
		all[file.Path] = strings.TrimSpace(string(file.Verdict) + " " + file.Change + " " + string(file.Kind))
	}
	return all
}

// shown returns the state of the project, without the fork.
func (f *forked) shown() string { return stateOf(f.t, f.ws) }

// stateOf returns the names, attributes and contents of the files in a directory.
func stateOf(t testing.TB, dir string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `find "$0" -printf '%p %y %m %n %T@ %C@ %l\n' | sort; find "$0" -type f -exec sha256sum {} + | sort`, dir).CombinedOutput() //nolint:noctx // ends at once
	require.NoError(t, err, "%s", out)
	return string(out)
}

// both runs a test as the caller and as the user nobody.
func both(t *testing.T, test func(t *testing.T, top string)) {
	t.Helper()
	t.Setenv("TMPDIR", "/var/tmp")
	if os.Getuid() == 0 && os.Getenv("FETTLE_FULL") != "" {
		t.Run("root", func(t *testing.T) { test(t, t.TempDir()) })
	}
	top, ok := unprivileged.Run(t, func(top string) { require.NoError(t, os.Chown(top, 65534, 65534)) })
	if ok {
		test(t, top)
	}
}

// FK-03: every command and program of a Service with overlays works on the fork alone.
func TestOverlays(t *testing.T) { both(t, testOverlays) }

func testOverlays(t *testing.T, top string) {
	f := newForked(t, top, map[string]string{"a": "a\n", "gone": "x\n", "d/e/f": "f\n", "same": "s\n"}, nil)
	before := f.shown()
	require.Equal(t, "a\nb\n", f.run("echo b >>a; cat a; rm gone; rm -r d; mkdir new; echo n >new/n; chmod 600 same", process.ConfineDefault).Text)
	require.Equal(t, before, f.shown())
	require.Equal(t, map[string]string{"a": "clean modified", "gone": "clean deleted", "d/e/f": "clean deleted", "new/n": "clean added", "same": "clean modified"}, f.verdicts())
	require.Equal(t, "a\nb\na new same\n", f.run("cat a; echo *; echo x 2>/dev/null >a; rm -f new/n 2>/dev/null", process.ConfineRead).Text)
	r := f.run("cd new && pwd && cat n", process.ConfineWrite)
	require.Equal(t, filepath.Join(f.ws, "new")+"\nn\n", r.Text)
	in, err := f.s.Run(t.Context(), process.Command{Line: "pwd; echo m >m", Dir: filepath.Join(f.ws, "new")}) // a directory of the fork alone
	require.NoError(t, err)
	require.Equal(t, filepath.Join(f.ws, "new")+"\n", in.Text)
	for _, how := range []process.Confine{process.ConfineDefault, process.ConfineNone, process.ConfineWrite, process.ConfineRead} {
		o, err := f.s.Program(t.Context(), process.Program{Line: "cat a; echo p 2>/dev/null >>a", Dir: f.ws, Confine: how})
		require.NoError(t, err)
		require.Contains(t, string(o.Stdout), "a\nb\n")
		require.NoError(t, o.Unrecorded)
	}
	require.Equal(t, before, f.shown())
	require.Equal(t, "a\nb\np\np\np\n", f.run("cat a", process.ConfineRead).Text)

	_, err = f.s.Run(t.Context(), process.Command{Line: "touch x", Dir: f.ws, Confine: process.ConfineNone})
	require.Equal(t, fault.ForkUnsupported, fault.CodeOf(err))
	_, err = f.s.Start(t.Context(), process.Command{Line: "touch x", Dir: f.ws})
	require.Equal(t, fault.ForkUnsupported, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Remedy, "fork.copy")
	_, err = f.s.StartConfined(t.Context(), &exec.Cmd{Path: "/usr/bin/touch", Args: []string{"touch", "x"}, Dir: f.ws})
	require.Equal(t, fault.ForkUnsupported, fault.CodeOf(err))
	require.NoFileExists(t, filepath.Join(f.ws, "x"))
	require.NotContains(t, f.verdicts(), "x")
	m, err := f.f.Mount(t.Context(), true) // nothing has kept the fork
	require.NoError(t, err)
	require.NoError(t, m.Close(t.Context()))
}

// FK-03: no process outlives its command, also with another session, environment or output.
func TestOverlaysEndProcesses(t *testing.T) { both(t, testOverlaysEndProcesses) }

func testOverlaysEndProcesses(t *testing.T, top string) {
	f := newForked(t, top, map[string]string{"a": "a\n"}, nil)
	for _, line := range []string{
		"sleep 1001 & echo left", "setsid sleep 1001 & echo left", "(setsid env -i sleep 1001 >/dev/null 2>&1 &) ; echo left", "(trap '' HUP TERM INT; while :; do echo x >>loop; done) >/dev/null 2>&1 & until test -e loop; do :; done; echo left",
		"for i in 1 2 3; do (setsid env -i sh -c 'sleep 1001 & sleep 1001' </dev/null >/dev/null 2>&1 &); done; echo left",
	} {
		for _, how := range []process.Confine{process.ConfineWrite, process.ConfineRead} {
			require.Contains(t, f.run(line, how).Text, "left")
			out, _ := exec.CommandContext(t.Context(), "pgrep", "-f", "^sleep 1001").Output()
			require.Empty(t, string(out), line)
			m, err := f.f.Mount(t.Context(), true)
			require.NoError(t, err)
			require.NoError(t, m.Close(t.Context()))
		}
	}
	size := func() int64 {
		info, err := os.Stat(filepath.Join(f.upper, "loop"))
		require.NoError(t, err)
		return info.Size()
	}
	is := size()
	f.settle()
	require.Equal(t, is, size())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // the command is cancelled after its change
		defer cancel()
		assert.Eventually(t, func() bool {
			data, _ := os.ReadFile(filepath.Join(f.upper, "a"))
			return string(data) == "x\n"
		}, time.Minute, time.Millisecond)
	}()
	r, err := f.s.Run(ctx, process.Command{Line: "echo x >a; sleep 1001", Dir: f.ws})
	require.NoError(t, err)
	require.Equal(t, process.Cancelled, r.Ending)
	require.NoError(t, r.Unrecorded)
	require.Equal(t, "clean modified", f.verdicts()["a"])
}

// FK-04: each .git, protected and masked names are those that the command sees, of the project and of the fork.
func TestOverlaysProtect(t *testing.T) { both(t, testOverlaysProtect) }

func testOverlaysProtect(t *testing.T, top string) {
	files := map[string]string{".git/config": "c\n", "sub/.git": "gitdir: ../x\n", "deep/er/.git/HEAD": "h\n", ".envrc": "e\n", "d/.envrc": "e\n", "secret": "LOWER\n", "old/secret": "LOWER\n", "replaced/secret": "LOWER\n"}
	f := newForked(t, top, files, func(c *process.Confinement) {
		ws := c.Writable[0]
		c.Masked = func(context.Context) (paths []string, err error) {
			for _, name := range []string{"secret", "new/secret", "old/secret", "replaced/secret", "link", "missing"} {
				paths = append(paths, filepath.Join(ws, name))
			}
			return paths, nil
		}
	})
	// Approved changes of file tools.
	f.write(f.upper, map[string]string{"new/.git/config": "u\n", "new/.envrc": "u\n", "new/secret": "UPPER\n", "replaced/secret": "UPPER\n"})
	require.NoError(t, os.Symlink("new/target", filepath.Join(f.upper, "link")))
	f.write(f.upper, map[string]string{"new/target": "UPPER\n"})
	require.NoError(t, os.Mkdir(filepath.Join(f.upper, "old"), 0o755))
	require.NoError(t, unix.Mknod(filepath.Join(f.upper, "old/secret"), unix.S_IFCHR, 0))
	require.NoError(t, os.Mkdir(filepath.Join(f.upper, "d"), 0o755))
	require.NoError(t, unix.Mknod(filepath.Join(f.upper, "d/.envrc"), unix.S_IFCHR, 0))
	f.settle()
	before := f.shown()
	for _, path := range []string{".git/config", ".git/hooks/x", "sub/.git", "deep/er/.git/HEAD", "deep/er/.git/x", ".envrc", "new/.git/config", "new/.git/x", "new/.envrc"} {
		for _, line := range []string{"echo x >$p", "rm -rf $p", "mv $p x", "chmod 777 $p", "rm -rf ${p%/*}; test -e $p || echo removed; touch $p", "mv ${p%/*} y && echo was moved; mkdir -p ${p%/*}; touch $p", "ln $p hard && echo x >hard"} {
			r := f.run("exec 2>/dev/null; p="+path+"; "+line+"; cat $p", process.ConfineWrite)
			require.NotContains(t, r.Text, "was moved", "%s: %s", path, line)
			if !strings.HasSuffix(path, "x") {
				require.NotContains(t, r.Text, "removed\n", "%s: %s", path, line)
				require.NotEqual(t, "x\n", r.Text, "%s: %s", path, line)
				require.NotEmpty(t, r.Text, "%s: %s", path, line)
			}
			require.NoFileExists(t, filepath.Join(f.upper, ".git/hooks"), line)
		}
	}
	require.Equal(t, before, f.shown())
	for _, how := range []process.Confine{process.ConfineWrite, process.ConfineRead} {
		r := f.run("cat secret new/secret old/secret replaced/secret link new/target; mv secret s; cp link l; cat s l", how)
		require.NotContains(t, r.Text, "LOWER")
		require.NotContains(t, r.Text, "UPPER")
	}
	for line, want := range map[string][]string{
		"touch d/.envrc":                       {"d/.envrc"}, // of a file that the fork has removed
		"mkdir -p q/r; touch q/r/.envrc":       {"q/r/.envrc"},
		"git init -q w; mkdir v; touch v/.git": {"v/.git", "w/.git"},
		"mkdir -p u/.git; chmod 000 u/.git u":  {"u/.git"},
	} {
		var paths []string
		for _, name := range want {
			paths = append(paths, filepath.Join(f.ws, name))
		}
		require.Equal(t, paths, f.run(line, process.ConfineWrite).Removed, line)
	}
	require.Equal(t, "d/.envrc is gone\n", f.run("test -e d/.envrc || echo d/.envrc is gone; ls -d q/r/.envrc w/.git v/.git u/.git 2>/dev/null", process.ConfineWrite).Text)
	require.Equal(t, before, f.shown())
}
