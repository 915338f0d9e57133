package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func protectsGit(path string) bool { return filepath.Base(path) == ".git" }

// newTree returns a Tree and its recovery directory. *alive is the answer about processes that
// commands have left.
func newTree(t *testing.T, alive *bool) (tree *Tree, recovery string) {
	t.Helper()
	recovery = t.TempDir()
	tree = NewTree(protectsGit, func() bool { return *alive }, func() (string, error) { return recovery, nil })
	t.Cleanup(func() { require.NoError(t, tree.Close()) })
	return tree, recovery
}

// SB-03: a name belongs to a command if a confined process ran when it appeared, and to the user
// otherwise.
func TestTree(t *testing.T) {
	ws, alive := t.TempDir(), false
	tree, recovery := newTree(t, &alive)
	make := func(path string) string {
		path = filepath.Join(ws, path, ".git")
		require.NoError(t, os.MkdirAll(path, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(path, "config"), []byte(path), 0o600))
		return path
	}
	end := func() []string {
		t.Helper()
		removed, err := tree.End()
		require.NoError(t, err)
		return removed
	}
	first := make("first")
	require.Equal(t, []string{first}, tree.Begin([]string{ws}, nil))
	created := make("a/b/c")
	require.Equal(t, []string{created}, end())
	require.NoDirExists(t, created)
	kept, err := filepath.Glob(recovery + "/*/a/b/c/.git/config")
	require.NoError(t, err)
	require.Len(t, kept, 1)

	users := make("user")
	require.Equal(t, []string{first, users}, tree.Begin([]string{ws}, nil))
	alive = true // the command leaves a process
	require.Empty(t, end())
	left := make("left")
	alive = false // it has ended
	require.Equal(t, []string{first, users}, tree.Begin([]string{ws}, nil))
	adopt := tree.Pause()
	approved := make("approved")
	adopt()
	require.Equal(t, []string{left}, end())
	require.Equal(t, []string{approved, first, users}, tree.Begin([]string{ws}, nil))
	require.NoError(t, os.Rename(filepath.Join(ws, "user"), filepath.Join(ws, "moved")))
	require.NoError(t, os.RemoveAll(first))
	require.Empty(t, end(), "a repository that moved was not created")
	require.Equal(t, []string{approved, filepath.Join(ws, "moved", ".git")}, tree.Begin([]string{ws}, nil))
	tree.Cancel()

	require.NotEmpty(t, tree.Begin([]string{ws}, nil))
	alive = true
	require.Empty(t, end())
	late := make("late")
	require.NoError(t, tree.Close())
	require.NoDirExists(t, late)
}

// SB-03: a known name that a process has replaced, because it appeared after the process had
// started, is moved away; so is a file of the user's that replaced one meanwhile.
func TestTreeReplacedLink(t *testing.T) {
	ws, alive := t.TempDir(), true
	tree, recovery := newTree(t, &alive)
	git := filepath.Join(ws, ".git")
	require.NoError(t, os.Symlink("elsewhere", git))
	require.Equal(t, []string{git}, tree.Begin([]string{ws}, nil))
	require.NoError(t, os.WriteFile(filepath.Join(ws, "new"), []byte("evil"), 0o600))
	require.NoError(t, os.Rename(filepath.Join(ws, "new"), git))
	removed, err := tree.End()
	require.NoError(t, err)
	require.Equal(t, []string{git}, removed)
	require.NoFileExists(t, git)
	kept, err := filepath.Glob(recovery + "/*/.git")
	require.NoError(t, err)
	require.Len(t, kept, 1)
}

// A removal follows no link: if a process replaces the parents of a path meanwhile, the files at
// the new target stay.
func TestTreeFollowsNoLink(t *testing.T) {
	ws, outside, alive := t.TempDir(), t.TempDir(), false
	tree, _ := newTree(t, &alive)
	require.NoError(t, os.Mkdir(filepath.Join(outside, ".git"), 0o700))
	tree.Begin([]string{ws}, nil)
	require.NoError(t, os.Symlink(outside, filepath.Join(ws, "a")))
	removed, err := tree.End()
	require.NoError(t, err)
	require.Empty(t, removed)
	require.Error(t, tree.remove(ws, filepath.Join(ws, "a", ".git")))
	require.DirExists(t, filepath.Join(outside, ".git"))
}

// The recovery directory may lie on another file system.
func TestTreeCopies(t *testing.T) {
	ws, alive := t.TempDir(), false
	other, err := os.MkdirTemp("/var/tmp", "fettle") //nolint:usetesting // tests' directories lie in memory
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(other)) })
	tree := NewTree(protectsGit, func() bool { return alive }, func() (string, error) { return other, nil })
	tree.Begin([]string{ws}, nil)
	git := filepath.Join(ws, ".git")
	require.NoError(t, exec.CommandContext(t.Context(), "sh", "-c", "mkdir -p "+git+"/a/b; echo x >"+git+"/a/b/c; ln -s / "+git+"/link; chmod 0 "+git+"/a/b").Run())
	removed, err := tree.End()
	require.NoError(t, err)
	require.Equal(t, []string{git}, removed)
	require.NoDirExists(t, git)
	found, err := filepath.Glob(other + "/*/.git/a/b/c")
	require.NoError(t, err)
	require.Len(t, found, 1)
}

// A change in the same tick as the scan before is found.
func TestTreeSameTick(t *testing.T) {
	ws, alive := t.TempDir(), false
	tree, _ := newTree(t, &alive)
	for i := range 200 {
		tree.Begin([]string{ws}, nil)
		path := filepath.Join(ws, strings.Repeat("d", i%3+1), ".git")
		require.NoError(t, os.MkdirAll(path, 0o700))
		removed, err := tree.End()
		require.NoError(t, err)
		require.Equal(t, []string{path}, removed)
	}
}

func TestTreeConcurrently(t *testing.T) {
	ws, alive := t.TempDir(), false
	tree, _ := newTree(t, &alive)
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			tree.Begin([]string{ws}, nil)
			_ = os.MkdirAll(filepath.Join(ws, string(rune('a'+i)), ".git"), 0o700)
			_, _ = tree.End()
		})
	}
	running.Wait()
	found, err := filepath.Glob(ws + "/*/.git")
	require.NoError(t, err)
	require.Empty(t, found)
}

// SB-02: a failed step is named, and nothing is started.
func TestStartFails(t *testing.T) {
	if err := Probe(); err != nil {
		t.Skip(err)
	}
	s := New(Options{})
	defer s.Close()
	dir := t.TempDir()
	for want, r := range map[string]Rules{
		"open " + dir + "/missing: no such file or directory": {Temp: dir, Protected: []string{dir + "/missing"}},
		"the whole file system cannot be writable":            {Temp: dir, Writable: []string{"/"}},
	} {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", ":")
		cmd.Dir = "/"
		require.ErrorContains(t, s.Start(cmd, r), want)
		require.Nil(t, cmd.Process)
	}
	cmd := exec.CommandContext(t.Context(), "/missing")
	cmd.Dir = "/"
	require.ErrorContains(t, s.Start(cmd, Rules{Temp: dir}), "execute /missing: no such file or directory")
	// The namespaces are created again if their first process was killed.
	require.NoError(t, exec.CommandContext(t.Context(), "kill", "-9", strconv.Itoa(s.keeper.pid)).Run())
	require.Eventually(t, func() bool {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", ":")
		cmd.Dir = "/"
		return s.Start(cmd, Rules{Temp: dir}) == nil && cmd.Wait() == nil
	}, 10*time.Second, 10*time.Millisecond)
}

// Commands are started concurrently, while the garbage collector and other goroutines run.
func TestStartConcurrently(t *testing.T) {
	if err := Probe(); err != nil {
		t.Skip(err)
	}
	s := New(Options{})
	defer s.Close()
	dir := t.TempDir()
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 20 {
				cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "exit 7")
				cmd.Dir = "/"
				if err := s.Start(cmd, Rules{Temp: dir, Writable: []string{dir}}); err != nil {
					t.Error(err)
					return
				}
				if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 7 {
					t.Error(err)
				}
				_ = make([]byte, 1<<20)
			}
		})
	}
	running.Wait()
}

// SB-03: a protected name cannot hide in a directory whose path the kernel does not accept.
func TestTreeOverlongPath(t *testing.T) {
	alive := false
	tree, _ := newTree(t, &alive)
	ws := t.TempDir()
	tree.Begin([]string{ws}, nil)
	name := strings.Repeat("d", 200)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "for i in $(seq 25); do mkdir "+name+" && cd -P "+name+" || exit; done; mkdir .git; touch .git/x")
	cmd.Dir = ws
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	removed, err := tree.End()
	require.NoError(t, err)
	require.Len(t, removed, 1)
	require.Greater(t, len(removed[0]), longest)
	require.NoError(t, os.RemoveAll(ws))
}

// SB-03: additional protected paths that exist are the user's, and missing ones must not appear.
func TestTreeAlso(t *testing.T) {
	alive := false
	tree, _ := newTree(t, &alive)
	ws := t.TempDir()
	hooks, missing := filepath.Join(ws, "hooks"), filepath.Join(ws, "later", "hooks")
	require.NoError(t, os.Mkdir(hooks, 0o755))
	also := func([]string) []string { return []string{hooks, missing, ws, filepath.Dir(ws), "/etc/passwd"} }
	require.Equal(t, []string{hooks}, tree.Begin([]string{ws}, also))
	require.NoError(t, os.MkdirAll(missing, 0o755))
	removed, err := tree.End()
	require.NoError(t, err)
	require.Equal(t, []string{missing}, removed)
	require.Equal(t, []string{hooks}, tree.Begin([]string{ws}, also))
	require.NoError(t, os.WriteFile(filepath.Join(ws, "x"), nil, 0o600))
	removed, err = tree.End()
	require.NoError(t, err)
	require.Empty(t, removed)
}

// SB-02: sockets of processes outside are told from those of confined processes.
func TestTreeSockets(t *testing.T) {
	alive := true
	tree, _ := newTree(t, &alive)
	ws := t.TempDir()
	bind := func(path string) {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: path}))
	}
	t.Chdir(ws)
	before, own := filepath.Join(ws, "before"), filepath.Join(ws, "own")
	bind(before)
	tree.Begin([]string{ws}, nil)
	bind("relative") // by a process outside, while confined ones run
	// A socket whose process is in another network is not in the list of this one, as after its end.
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: own}))
	require.NoError(t, unix.Close(fd))
	_, err = tree.End()
	require.NoError(t, err)
	tree.Begin([]string{ws}, nil)
	require.ElementsMatch(t, []string{before, filepath.Join(ws, "relative")}, tree.Sockets(false))
	require.ElementsMatch(t, []string{before, filepath.Join(ws, "relative"), own}, tree.Sockets(true))
}

// SB-03: while only processes run that last, names are moved away without a further command. A
// command that does not last keeps its names until it ends.
func TestTreeLasting(t *testing.T) {
	alive := false
	tree, _ := newTree(t, &alive)
	ws := t.TempDir()
	git := filepath.Join(ws, ".git")
	exists := func() bool { _, err := os.Lstat(git); return err == nil }
	tree.Begin([]string{ws}, nil)
	tree.Lasting(1)
	require.NoError(t, os.Mkdir(git, 0o755))
	require.Eventually(t, func() bool { return !exists() }, time.Minute, time.Millisecond)
	tree.Begin([]string{ws}, nil)
	require.NoError(t, os.Mkdir(git, 0o755))
	tree.mu.Lock()
	tree.timer.Stop()
	tree.mu.Unlock()
	tree.look()
	require.True(t, exists(), "a command may use it")
	removed, err := tree.End()
	require.NoError(t, err)
	require.Equal(t, []string{git}, removed)
	require.False(t, exists())
	adopt := tree.Pause()
	require.NoError(t, os.Mkdir(git, 0o755))
	tree.look()
	require.True(t, exists(), "it belongs to an unconfined command")
	adopt()
	tree.look()
	require.True(t, exists())
	tree.Lasting(-1)
	_, err = tree.End()
	require.NoError(t, err)
	require.NoError(t, tree.Close())
	require.Nil(t, tree.timer)
}

// SB-03: a name that cannot be moved away is reported, and does not become the user's later.
func TestTreeStuck(t *testing.T) {
	ws, recovery := t.TempDir(), errors.New("no space")
	alive := false
	tree := NewTree(protectsGit, func() bool { return alive }, func() (string, error) { return "", recovery })
	git := filepath.Join(ws, ".git")
	tree.Begin([]string{ws}, nil)
	require.NoError(t, os.Mkdir(git, 0o700))
	for range 2 {
		removed, err := tree.End()
		require.ErrorIs(t, err, recovery)
		require.Equal(t, []string{git}, removed)
		require.DirExists(t, git)
		require.Empty(t, tree.Begin([]string{ws}, nil), "it is not the user's")
	}
	require.NoError(t, os.Remove(git))
	_, err := tree.End()
	require.ErrorIs(t, err, recovery, "of Begin")
	require.NoError(t, os.Mkdir(git, 0o700))
	require.Equal(t, []string{git}, tree.Begin([]string{ws}, nil), "another one is")
	alive = true
	_, err = tree.End()
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(ws, "late"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(ws, "late", ".git"), 0o700))
	alive = false
	require.ErrorIs(t, tree.Close(), recovery)
}

// A name that a process removes during the scan is no error, and leaves nothing behind.
func TestTreeVanished(t *testing.T) {
	ws, alive := t.TempDir(), false
	var tree *Tree
	git, kept := filepath.Join(ws, ".git"), t.TempDir()
	tree = NewTree(protectsGit, func() bool { return alive }, func() (string, error) { return kept, os.Remove(git) })
	t.Cleanup(func() { require.NoError(t, tree.Close()) })
	tree.Begin([]string{ws}, nil)
	require.NoError(t, os.Mkdir(git, 0o700))
	removed, err := tree.End()
	require.NoError(t, err)
	require.Empty(t, removed)
	entries, err := os.ReadDir(kept)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// A name that a process replaces during the scan is moved away too. If each attempt fails so, that is reported.
func TestTreeReplaced(t *testing.T) {
	for replaced, stays := range map[int]bool{1: false, 2: false, 3: true} {
		ws, alive := t.TempDir(), false
		git, kept, attempts := filepath.Join(ws, ".git"), t.TempDir(), 0
		tree := NewTree(protectsGit, func() bool { return alive }, func() (string, error) {
			if attempts++; attempts > replaced {
				return kept, nil
			}
			other := filepath.Join(ws, strconv.Itoa(attempts))
			require.NoError(t, os.Mkdir(other, 0o700))
			require.NoError(t, unix.Renameat2(unix.AT_FDCWD, other, unix.AT_FDCWD, git, unix.RENAME_EXCHANGE))
			return "", errors.New("no space")
		})
		tree.Begin([]string{ws}, nil)
		require.NoError(t, os.Mkdir(git, 0o700))
		removed, err := tree.End()
		require.Equal(t, []string{git}, removed)
		if stays {
			require.ErrorContains(t, err, "no space")
			require.DirExists(t, git)
			require.Empty(t, tree.Begin([]string{ws}, nil), "it is not the user's")
			tree.Cancel()
		} else {
			require.NoError(t, err)
			require.NoDirExists(t, git)
		}
		require.NoError(t, tree.Close())
	}
}

// A file that a process replaces by a pipe while it is copied does not block the scan.
func TestCopyFileEnds(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	require.NoError(t, unix.Mkfifo(dir+"/pipe", 0o600))
	writer, err := os.OpenFile(dir+"/pipe", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, writer.Close()) })
	require.NoError(t, copyFile(root, "pipe", dir+"/copy"))
	require.NoFileExists(t, dir+"/copy")
}

// A copy that fails leaves the original, and nothing at the other path.
func TestCopyFails(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, ".git", strings.Repeat(strings.Repeat("d", 200)+"/", 18))
	require.NoError(t, os.MkdirAll(deep, 0o700))
	into := filepath.Join(t.TempDir(), strings.Repeat(strings.Repeat("e", 200)+"/", 3)) // the copy exceeds the longest path
	require.NoError(t, os.MkdirAll(into, 0o700))
	parent, err := openDirectory(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Close(parent)) })
	require.ErrorIs(t, moveTree(parent, ".git", filepath.Join(into, ".git")), unix.ENAMETOOLONG)
	require.DirExists(t, deep)
	require.NoDirExists(t, filepath.Join(into, ".git"))
}
