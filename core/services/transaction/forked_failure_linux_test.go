package transaction_test

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/services/transaction"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// FK-01, TX-02: a change that fails at any step leaves the files of the fork as they were.
func TestFailedForkChanges(t *testing.T) {
	rounds := 10
	if os.Getenv("FETTLE_FULL") != "" {
		rounds = 500
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 5))
	failures := 0
	for range rounds {
		f, plain := newForked(t, buildModel), newPlain(t, buildModel)
		require.NoError(t, f.files.Close())
		left := 0
		require.NoError(t, f.open(func(string) error {
			if left--; left == 0 {
				return syscall.ENOSPC
			}
			return nil
		}))
		var log []string
		for range 40 {
			what, do := killable(t, r, plain)
			left = r.IntN(30)
			err := do(f)
			log = append(log, what)
			if errors.Is(err, syscall.ENOSPC) {
				failures++
			} else {
				_ = do(plain) // as in the fork, see TestForkIsLikeAPlainDirectory
			}
			require.Equal(t, tree(t, plain.dir), f.shown(t), "%v: %v", log, err)
		}
		require.NoError(t, f.files.Close())
		require.NoError(t, plain.files.Close())
	}
	t.Log(failures, "failures")
	require.Greater(t, failures, rounds)
}

// FK-01, TX-02: a fork without space refuses changes and stays as it is.
func TestForkOnFullFileSystem(t *testing.T) {
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("file systems cannot be mounted:", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(small, 0)) })
	f := newForked(t, func(dir string) {
		buildModel(dir)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "large"), make([]byte, 64<<10), 0o644))
	})
	require.NoError(t, f.files.Close())
	f.upper = filepath.Join(small, "upper")
	refused, done := 0, 0
	for pages := 0; pages <= 60; pages += 3 {
		require.NoError(t, os.Mkdir(f.upper, 0o755))
		require.NoError(t, f.open(nil))
		full := filepath.Join(small, "full")
		require.NoError(t, os.WriteFile(full, make([]byte, (60-pages)*4096), 0o600))
		before := f.shown(t)
		_, err := f.sets.Commit(t.Context(), []transaction.Operation{
			{Kind: transaction.Move, Path: f.path("large"), To: f.path("n/large"), Base: sum(string(make([]byte, 64<<10)))},
			{Kind: transaction.Delete, Path: f.path("d/a"), Base: sum("below d/a\n")},
			{Kind: transaction.Update, Path: f.path("b"), Base: sum("below b\n"), Data: make([]byte, 8<<10)},
		})
		if err != nil {
			require.Equal(t, fault.NoSpaceLeft, fault.As(err).Code, "%v", err)
			require.Equal(t, before, f.shown(t))
			refused++
		} else {
			after := f.shown(t)
			require.NotContains(t, after, "large")
			require.NotContains(t, after, "d/a")
			require.Contains(t, after, "n/large")
			done++
		}
		require.NoError(t, f.files.Close())
		f.commit.Wait()
		require.NoError(t, os.Remove(full))
		require.NoError(t, os.RemoveAll(f.upper))
	}
	t.Logf("%d refused, %d done", refused, done)
	require.Greater(t, refused, 2)
	require.Greater(t, done, 2)
}

// FK-01: a fork in a read-only file system can be read; changes are refused.
func TestForkOnReadOnlyFileSystem(t *testing.T) {
	f := newForked(t, buildModel)
	require.NoError(t, f.put(t.Context(), "a", sum("below a\n"), "changed\n"))
	require.NoError(t, f.files.Close())
	if err := syscall.Mount(f.upper, f.upper, "", syscall.MS_BIND, ""); err != nil {
		t.Skip("file systems cannot be mounted:", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(f.upper, 0)) })
	require.NoError(t, syscall.Mount("", f.upper, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	require.NoError(t, f.open(nil))
	defer f.files.Close()
	before := f.shown(t)
	for _, name := range []string{"a", "b", "d/a", "new", "n/n/n"} {
		base := ""
		if text, ok := f.regular(name); ok {
			base = sum(text)
		}
		err := f.put(t.Context(), name, base, "again\n")
		if name == "a" {
			require.Error(t, err)
			continue
		}
		require.Equal(t, fault.PermissionDenied, fault.As(err).Code, "%s: %v", name, err)
	}
	require.Equal(t, before, f.shown(t))
}

// FK-01: an unprivileged user's fork has the permissions and owners that are permitted, and refuses changes
// that the project refuses.
func TestForkUnprivileged(t *testing.T) {
	const nobody = 65534
	top, ok := unprivileged.Run(t, func(top string) {
		for _, dir := range []string{"project", "upper", "project/d", "project/root", "project/closed"} {
			require.NoError(t, os.MkdirAll(filepath.Join(top, dir), 0o755))
			require.NoError(t, os.Chown(filepath.Join(top, dir), nobody, nobody))
		}
		for _, name := range []string{"own", "d/own", "readonly", "closed/own"} {
			require.NoError(t, os.WriteFile(filepath.Join(top, "project", name), []byte("text\n"), 0o640))
			require.NoError(t, os.Chown(filepath.Join(top, "project", name), nobody, nobody))
		}
		require.NoError(t, os.Chmod(filepath.Join(top, "project/readonly"), 0o444))
		require.NoError(t, os.Chmod(filepath.Join(top, "project/closed"), 0o300))
		require.NoError(t, os.WriteFile(filepath.Join(top, "project/roots"), []byte("text\n"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(top, "project/shared"), []byte("text\n"), 0o666))
		require.NoError(t, os.Chmod(filepath.Join(top, "project/shared"), 0o666))
		require.NoError(t, os.Chown(filepath.Join(top, "project/root"), 0, 0))
	})
	if !ok {
		return
	}
	f := &forked{dir: filepath.Join(top, "project"), upper: filepath.Join(top, "upper"), recovery: t.TempDir(), touched: make(map[string]string)}
	require.NoError(t, f.open(nil))
	defer f.files.Close()
	ctx := t.Context()
	for _, name := range []string{"own", "d/own", "shared"} {
		require.NoError(t, f.put(ctx, name, sum("text\n"), "new\n"), name)
	}
	for _, name := range []string{"readonly", "roots"} {
		err := f.put(ctx, name, sum("text\n"), "new\n")
		require.Equal(t, fault.PermissionDenied, fault.As(err).Code, "%s: %v", name, err)
	}
	for _, name := range []string{"root/new", "closed/new"} {
		require.Equal(t, fault.PermissionDenied, fault.As(f.put(ctx, name, "", "new\n")).Code, "as without a fork")
	}
	require.NoError(t, f.remove(ctx, "own", sum("new\n")))
	_, err := f.files.Stat(f.path("own"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	info, err := f.files.Stat(f.path("d/own"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o640), info.Mode)
}

// FK-01: the copy of a file has its attributes, and is another file than its hard links.
func TestForkKeepsAttributes(t *testing.T) {
	f := newForked(t, buildModel)
	a, d := filepath.Join(f.dir, "d", "a"), filepath.Join(f.dir, "d")
	require.NoError(t, os.Link(a, filepath.Join(f.dir, "hard")))
	require.NoError(t, syscall.Setxattr(a, "user.note", []byte("kept"), 0))
	require.NoError(t, os.Chmod(a, 0o751))
	require.NoError(t, os.Chmod(d, 0o2775))
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(a, 1234, 4321))
		require.NoError(t, os.Chmod(a, 0o751|fs.ModeSetgid))
		require.NoError(t, os.Chown(d, 1234, 4321))
		require.NoError(t, os.Chmod(d, 0o775|fs.ModeSetgid))
	}
	before, err := f.files.Stat(f.path("d/a"))
	require.NoError(t, err)
	top, err := f.files.Stat(f.path("d"))
	require.NoError(t, err)
	at, err := f.files.Locate(f.path("d/a"))
	require.NoError(t, err)
	require.Equal(t, workspace.Covering, at.Layer)
	require.NoError(t, at.Close())
	copied, err := f.files.Stat(f.path("d/a"))
	require.NoError(t, err)
	require.Equal(t, before.Mode, copied.Mode)
	require.Equal(t, before.MtimeNS, copied.MtimeNS)
	require.NotEqual(t, before.Ino, copied.Ino)
	require.EqualValues(t, 1, copied.Nlink)
	require.NoError(t, f.put(t.Context(), "d/a", sum("below d/a\n"), "new\n"))
	var value [8]byte
	n, err := syscall.Getxattr(filepath.Join(f.upper, "d", "a"), "user.note", value[:])
	require.NoError(t, err)
	require.Equal(t, "kept", string(value[:n]))
	for _, name := range []string{"d", "d/a"} {
		want, err := os.Lstat(filepath.Join(f.dir, name))
		require.NoError(t, err)
		got, err := os.Lstat(filepath.Join(f.upper, name))
		require.NoError(t, err)
		require.Equal(t, want.Sys().(*syscall.Stat_t).Uid, got.Sys().(*syscall.Stat_t).Uid)
		require.Equal(t, want.Sys().(*syscall.Stat_t).Gid, got.Sys().(*syscall.Stat_t).Gid)
		require.Equal(t, want.Mode(), got.Mode())
	}
	again, err := f.files.Stat(f.path("d"))
	require.NoError(t, err)
	require.Equal(t, [2]uint64{top.Dev, top.Ino}, [2]uint64{again.Dev, again.Ino}, "a directory stays the same")
	require.Equal(t, "below d/a\n", text(t, filepath.Join(f.dir, "hard")))
}

func text(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(data)
}

// FK-02, FK-03: beside a program that saves a file all the time, the recorded base is the bytes that the fork
// got.
func TestForkBaseIsTheCopy(t *testing.T) {
	rounds := 100
	if os.Getenv("FETTLE_FULL") != "" {
		rounds = 10_000
	}
	name := "a"
	done, refused := 0, 0
	for round := range rounds {
		f := newForked(t, buildModel)
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				data := []byte(strings.Repeat(string(rune('a'+i%26)), 1+i*977%9000))
				if round%2 == 0 {
					_ = os.WriteFile(filepath.Join(f.dir, name), data, 0o644)
				} else {
					_ = os.WriteFile(filepath.Join(f.dir, "saved"), data, 0o644)
					_ = os.Rename(filepath.Join(f.dir, "saved"), filepath.Join(f.dir, name))
				}
			}
		}()
		at, err := f.files.Locate(f.path(name))
		close(stop)
		<-ended
		if err != nil {
			refused++
			require.NoFileExists(t, filepath.Join(f.upper, name))
		} else {
			done++
			require.NoError(t, at.Close())
			got := text(t, filepath.Join(f.upper, name))
			require.Equal(t, "file "+got, f.touched[name])
			if got != "below a\n" {
				require.Equal(t, "", strings.Trim(got, got[:min(1, len(got))]), "a mixture")
			}
		}
		require.NoError(t, f.files.Close())
	}
	t.Logf("%d copied, %d refused", done, refused)
	require.NotZero(t, done)
}

// FK-01: an error of Touch is that of the call, and leaves nothing.
func TestForkTouchRefuses(t *testing.T) {
	f := newForked(t, buildModel)
	require.NoError(t, f.files.Close())
	refusal := fault.New(fault.NoSpaceLeft, "test", "No.", "")
	var err error
	f.files, err = workspace.OpenOverlays([]workspace.Overlay{{Dir: f.dir, Upper: f.upper, Touch: func(workspace.Touched) error { return refusal }}}, f.dir)
	require.NoError(t, err)
	for _, name := range []string{"a", "new", "d/e/a"} {
		_, err := f.files.Locate(f.path(name))
		require.ErrorIs(t, err, refusal)
	}
	for path, do := range map[string]func(workspace.Path) error{
		"l": f.files.RemoveEntry, "empty": f.files.RemoveEntry, "b": func(p workspace.Path) error { return f.files.Chmod(p, 0o600) },
		"new-link": func(p workspace.Path) error { return f.files.MakeLink(p, "a", false) },
	} {
		require.ErrorIs(t, do(f.path(path)), refusal, path)
	}
	left := tree(t, f.upper)
	maps.DeleteFunc(left, func(_, what string) bool { return strings.HasPrefix(what, "dir") })
	require.Empty(t, left)
}
