package process_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/internal/gitdir"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/process"
)

// forkOfWorld is the fork in which attempts run, beside another one.
type forkOfWorld struct {
	f         *fork.Fork
	dir, ws   string
	upper     string
	other     string // the upper directory of the other fork
	protected func(path string) bool
}

// forkFiles are changes of file tools in the fork.
var forkFiles = map[string]string{"hidden": "of the fork\n", "forked/.env": "content\n", "forked/.git/config": "content\n", "forked/AGENTS.md": "content\n", "forked/x": "content\n"}

// inForkOfWorld lets a world run its commands in a fork.
func inForkOfWorld(t *testing.T) func(w *world, c *process.Confinement) {
	return func(w *world, c *process.Confinement) {
		require.NoError(t, os.WriteFile(filepath.Join(w.ws, "hidden"), []byte(secretWord+" below\n"), 0o600)) // replaced in the fork
		store := fork.New(fork.Options{Dir: filepath.Join(w.home, ".local/state/fettle/forks")})
		make := func(name string) *fork.Fork {
			f, err := store.Create(t.Context(), fork.Request{Name: name, Dirs: []string{w.ws}})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, f.Close()) })
			return f
		}
		other := make("other").Layers()[0].Upper
		require.NoError(t, os.WriteFile(filepath.Join(other, "file"), []byte(secretWord+" of the other fork\n"), 0o600))
		f := make("one")
		engine, err := policy.NewEngine(policy.Options{})
		require.NoError(t, err)
		l := f.Layers()[0]
		w.fork = &forkOfWorld{f: f, ws: w.ws, upper: l.Upper, dir: filepath.Dir(filepath.Dir(l.Upper)), other: other, protected: func(path string) bool { return engine.Protects(path, []string{w.ws}) }}
		w.fork.reset(t)
		c.Overlays = inFork(f)
	}
}

func (f *forkOfWorld) vars() string {
	return fmt.Sprintf("export U='%s' K='%s' F='%s' F2='%s' fsopen=%d fsconfig=%d fsmount=%d open_tree=%d move_mount=%d mount_setattr=%d removexattr=%d ioctl=%d\n", f.upper, filepath.Join(filepath.Dir(f.upper), "work"), f.dir, f.other,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_REMOVEXATTR, unix.SYS_IOCTL)
}

// has reports whether a path is in the directory of the fork.
func (f *forkOfWorld) has(path string) bool { return f != nil && path == f.dir }

// reset undoes the changes of an attempt.
func (f *forkOfWorld) reset(t *testing.T) {
	t.Helper()
	_ = exec.CommandContext(t.Context(), "chmod", "-R", "u+rwx", f.upper).Run()
	entries, err := os.ReadDir(f.upper)
	require.NoError(t, err)
	for _, e := range entries {
		require.NoError(t, os.RemoveAll(filepath.Join(f.upper, e.Name())))
	}
	for name, text := range forkFiles {
		path := filepath.Join(f.upper, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// changed returns the forbidden changes of an attempt in the fork: protected paths, and files that would let the
// kernel or a merge read another file.
func (f *forkOfWorld) changed(t *testing.T, w *world) (escaped []string) {
	t.Helper()
	kept := make(map[string]bool)
	moved := func(path, name string) bool { // with its parent at most
		for of, text := range forkFiles {
			data, err := os.ReadFile(name)
			info, _ := os.Lstat(name)
			same := err == nil && string(data) == text && info.Mode() == 0o644
			if same && filepath.Base(of) == filepath.Base(path) || info.IsDir() && filepath.Base(path) == ".git" && filepath.Base(filepath.Dir(of)) == ".git" {
				return true
			}
		}
		return false
	}
	require.NoError(t, filepath.WalkDir(f.upper, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == f.upper {
			return err
		}
		path := f.ws + strings.TrimPrefix(name, f.upper)
		protected := w.isKept(path) && !slices.Contains(peerSockets, strings.TrimPrefix(path, w.top+"/")) || f.protected(path) || gitdir.IsMember(name)
		switch info, err := d.Info(); {
		case err != nil:
			return err
		case info.Mode()&fs.ModeCharDevice != 0:
			if stat := new(unix.Stat_t); unix.Lstat(name, stat) != nil || stat.Rdev != 0 {
				escaped = append(escaped, "a device in the fork: "+path)
			} else if protected {
				escaped = append(escaped, "removed in the fork: "+path)
			}
		case protected && moved(path, name):
			kept[filepath.Base(path)] = true
		case protected:
			escaped = append(escaped, "created in the fork: "+path)
		}
		buffer := make([]byte, 4096)
		n, _ := unix.Llistxattr(name, buffer)
		for key := range strings.SplitSeq(string(buffer[:n]), "\x00") {
			value := make([]byte, 256)
			size, _ := unix.Lgetxattr(name, key, value)
			switch {
			case !strings.HasPrefix(key, "user.overlay.") || strings.HasPrefix(key, "user.overlay.overlay."):
			case key == "user.overlay.origin" && size == 0, key == "user.overlay.impure", key == "user.overlay.opaque" && d.IsDir():
			default:
				escaped = append(escaped, fmt.Sprintf("%s has %s = %q", path, key, value[:size]))
			}
		}
		return nil
	}))
	for name := range forkFiles {
		if f.protected(filepath.Join(f.ws, name)) && !kept[filepath.Base(name)] {
			escaped = append(escaped, "removed: "+name)
		}
	}
	return escaped
}

// preparedWorld prepares the files of a test's attempts, in a process without privileges. As root it does so with
// FETTLE_FULL=1 only, and reports false otherwise.
func preparedWorld(t *testing.T) (top string, ok bool) {
	t.Helper()
	if _, err := exec.LookPath("perl"); err != nil || runtime.GOARCH != "amd64" {
		t.Skip("it needs perl and the system calls of amd64")
	}
	t.Setenv("TMPDIR", "/var/tmp")
	root := ""
	top, ok = unprivileged.Run(t, func(top string) {
		prepareWorld(t, top)
		root = t.TempDir()
	})
	if !ok {
		if os.Getenv("FETTLE_FULL") == "" {
			return "", false
		}
		prepareWorld(t, root)
		require.NoError(t, exec.CommandContext(t.Context(), "chown", "-R", "0:0", root).Run())
		top = root
	}
	return top, true
}

// FK-04, FK-08: no attempt of a command in a fork leads out of it. The attempts of root run with FETTLE_FULL=1 only.
func TestEscapesFromFork(t *testing.T) {
	top, ok := preparedWorld(t)
	if !ok {
		return // the attempts of the unprivileged user have run
	}
	w := newWorld(t, top, inForkOfWorld(t))
	rows := slices.Concat(escapesFromFork, escapesByMounts, escapesByProcesses, escapesBySockets, escapesByFiles, escapesByNames, escapesByRepositories, escapesAgain)
	attempts, successes, sample := 0, 0, 5
	if testing.Short() {
		sample = 20
	}
	full := os.Getenv("FETTLE_FULL") != ""
	for n, e := range rows {
		hows := []process.Confine{process.ConfineWrite}
		if n < len(escapesFromFork) || full {
			if !strings.Contains(e.line, "ipcmk") { // commands of a session share an IPC namespace
				hows = append(hows, process.ConfineRead)
			}
		} else if rand.IntN(sample) > 0 { // all of them with FETTLE_FULL
			continue
		}
		for _, how := range hows {
			attempts++
			if escaped := w.attempt(t, e, how); escaped != "" {
				successes++
				t.Errorf("%s (%s)\n%s\n%s", e.name, how, e.line, escaped)
				if now := w.look(t); !sameFiles(now, w.files) {
					t.Fatal("the remaining attempts need the files as they were")
				}
			}
			w.reset(t)
		}
	}
	t.Logf("%d attempts, %d successes", attempts, successes)
	require.GreaterOrEqual(t, attempts, map[bool]int{false: 150, true: 700}[full])
}
