package workspace

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
)

// In random trees of links, a name leads to the same file as for the kernel if that file is inside;
// otherwise it is refused.
func TestLeadsLikeTheKernel(t *testing.T) {
	rounds := 60
	if os.Getenv("FETTLE_FULL") != "" {
		rounds = 3000
	}
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "c"}
	element := func() string { return names[random.IntN(len(names))] }
	count := map[string]int{}
	for range rounds {
		top := tree(t, "w1/a/a/f 1", "w1/b/f 22", "w2/a/f 333", "w2/f 4444", "out/a/f 55555", "out/f 666666")
		places := []string{"w1", "w1/a", "w1/a/a", "w1/b", "w2", "w2/a", "out", "out/a"}
		place := func() string { return places[random.IntN(len(places))] }
		for range 10 {
			var target string
			for range 1 + random.IntN(4) {
				target += []string{element(), element(), "..", "..", ".", "f"}[random.IntN(6)] + "/"
			}
			if random.IntN(4) > 0 {
				target = strings.TrimSuffix(target, "/")
			}
			if random.IntN(3) == 0 {
				target = top + "/" + place() + "/" + target
			}
			_ = os.Symlink(target, filepath.Join(top, place(), element())) // an existing name stays
		}
		for _, openDirectory := range []func(string) (directory, error){openDirectory, openRootDirectory} {
			w, err := open(openDirectory, []string{top + "/w1", top + "/w2"})
			require.NoError(t, err)
			for range 60 {
				name := filepath.Join(top, []string{"w1", "w2"}[random.IntN(2)], element())
				for random.IntN(2) == 0 {
					name = filepath.Join(name, element())
				}
				if random.IntN(2) == 0 {
					name = filepath.Join(name, "f")
				}
				count[compare(t, w, top, name)]++
			}
			require.NoError(t, w.Close())
		}
	}
	t.Log(count)
	for _, outcome := range []string{"inside", "outside", "absent"} {
		require.NotZero(t, count[outcome])
	}
}

func compare(t *testing.T, w *Workspace, top, name string) (outcome string) {
	p := resolve(t, w, name)
	info, err := w.Stat(p)
	fd, kerr := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if kerr != nil {
		require.Error(t, err, "%s: the kernel says %v", name, kerr)
		if fault.CodeOf(err) == fault.PathNotInWorkspace {
			return "outside"
		}
		require.ErrorIs(t, err, kerr, name)
		return "absent"
	}
	defer unix.Close(fd)
	where, lerr := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	require.NoError(t, lerr)
	if !strings.HasPrefix(where+"/", top+"/w1/") && !strings.HasPrefix(where+"/", top+"/w2/") {
		requireCode(t, err, fault.PathNotInWorkspace)
		return "outside"
	}
	require.NoError(t, err, "%s leads to %s", name, where)
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(fd, &st))
	require.Equal(t, [2]uint64{st.Dev, st.Ino}, [2]uint64{info.Dev, info.Ino}, name)
	l, err := w.Locate(p)
	if where == top+"/w1" || where == top+"/w2" {
		requireCode(t, err, fault.TargetIsDirectory)
		return "inside"
	}
	require.NoError(t, err, name)
	defer l.Close()
	requireAt(t, where, l)
	own, err := l.in.lstat(l.Name)
	require.NoError(t, err)
	require.Equal(t, info.Ino, own.Ino)
	return "inside"
}

// RC-01: every name of a file has one identity.
func TestInfo(t *testing.T) {
	top := tree(t, "file x", "link ->file")
	require.NoError(t, os.Link(top+"/file", top+"/hard"))
	require.NoError(t, os.Chmod(top+"/file", 0o2640))
	require.NoError(t, unix.Mkfifo(top+"/fifo", 0o600))
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(socket)
	require.NoError(t, unix.Bind(socket, &unix.SockaddrUnix{Name: top + "/socket"}))
	onEach(t, func(t *testing.T, start func(...string) *Workspace) {
		w := start(top)
		var first Info
		for i, name := range []string{"file", "link", "hard"} {
			info, err := w.Stat(resolve(t, w, name))
			require.NoError(t, err)
			if i == 0 {
				first = info
			}
			require.Equal(t, first, info)
			f, err := w.OpenRead(resolve(t, w, name))
			require.NoError(t, err)
			info, err = InfoOf(f)
			require.NoError(t, err)
			require.Equal(t, first, info)
			require.NoError(t, f.Close())
		}
		fi, err := os.Stat(top + "/file")
		require.NoError(t, err)
		st := fi.Sys().(*syscall.Stat_t)
		require.Equal(t, Info{fi.Mode(), 1, st.Dev, st.Ino, 2, fi.ModTime().UnixNano(), st.Ctim.Nano()}, first)
		require.True(t, first.Identified())

		for name, mode := range map[string]fs.FileMode{"fifo": fs.ModeNamedPipe, "socket": fs.ModeSocket, ".": fs.ModeDir} {
			info, err := w.Stat(resolve(t, w, name))
			require.NoError(t, err)
			require.Equal(t, mode, info.Mode.Type())
		}
		f, err := w.OpenRead(resolve(t, w, "fifo")) // returns without a writer
		require.NoError(t, err)
		require.NoError(t, f.Close())
		_, err = w.OpenRead(resolve(t, w, "socket"))
		requireCode(t, err, fault.NotARegularFile)
	})
	for _, name := range []string{"/dev/null", "/dev"} {
		fi, err := os.Stat(name)
		require.NoError(t, err)
		var st unix.Stat_t
		require.NoError(t, unix.Stat(name, &st))
		require.Equal(t, fi.Mode(), infoOfStat(&st).Mode, name)
	}
	f, err := os.Open(top)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, err = InfoOf(f)
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestLacksOpenat2(t *testing.T) {
	for err, want := range map[error]bool{
		nil: false, unix.ENOSYS: true, unix.EPERM: true, unix.EINVAL: true, unix.EACCES: false, unix.ENOENT: false,
	} {
		require.Equal(t, want, lacksOpenat2(err), "%v", err)
	}
}

// A workspace at the root of the file system contains all files.
func TestRootDirectory(t *testing.T) {
	top := tree(t, "file x", "abs ->$/file")
	onEach(t, func(t *testing.T, start func(...string) *Workspace) {
		w := start("/")
		for _, name := range []string{"/file", "/abs"} {
			content, err := readAll(w.OpenRead(resolve(t, w, top+name)))
			require.NoError(t, err)
			require.Equal(t, "x", content)
			l, err := w.Locate(resolve(t, w, top+name))
			require.NoError(t, err)
			requireAt(t, top+"/file", l)
			require.NoError(t, l.Close())
		}
		p := resolve(t, w, "../..")
		require.Equal(t, "/", p.String())
	})
}

// No call leaks a descriptor.
func TestDescriptors(t *testing.T) {
	top := leadsTree(t)
	onEach(t, func(t *testing.T, start func(...string) *Workspace) {
		w := start(top+"/ws", top+"/ws2")
		use := func() {
			for _, tt := range leadCases {
				p := resolve(t, w, tt.path)
				_, _ = w.Stat(p)
				_, _ = readAll(w.OpenRead(p))
				_, _ = w.ReadDir(t.Context(), p)
				if l, err := w.Locate(p); err == nil {
					_ = l.Close()
				}
				if undo, err := w.MakeParents(p); err == nil {
					undo()
				}
			}
		}
		use()
		before := descriptors(t)
		for range 20 {
			use()
		}
		// Fewer descriptors are no leak: the garbage collector may close those of an earlier test.
		// A leak of one per round would still be detected.
		require.LessOrEqual(t, descriptors(t), before)
	})
}

func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

func TestPermissions(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		for _, dir := range []string{"closed", "unlisted", "readonly"} {
			require.NoError(t, os.Mkdir(filepath.Join(top, dir), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(top, dir, "file"), []byte("x"), 0o644))
		}
		require.NoError(t, os.WriteFile(top+"/private", nil, 0o600))
		require.NoError(t, os.Chmod(top+"/closed", 0o700))
		require.NoError(t, os.Chmod(top+"/unlisted", 0o711))
		require.NoError(t, os.Symlink(top+"/closed/file", top+"/link"))
	})
	if !ok {
		return
	}
	onEach(t, func(t *testing.T, start func(...string) *Workspace) {
		w := start(top)
		for _, name := range []string{"closed/file", "link"} {
			_, err := w.Stat(resolve(t, w, name))
			requireCode(t, err, fault.PermissionDenied)
			require.ErrorIs(t, err, fs.ErrPermission)
			_, err = w.Locate(resolve(t, w, name))
			requireCode(t, err, fault.PermissionDenied)
		}
		_, err := w.Stat(resolve(t, w, "private"))
		require.NoError(t, err) // the attributes are accessible, the content is not
		_, err = w.OpenRead(resolve(t, w, "private"))
		requireCode(t, err, fault.PermissionDenied)
		_, err = w.MakeParents(resolve(t, w, "readonly/new/file"))
		requireCode(t, err, fault.PermissionDenied)
		_, err = w.ReadDir(t.Context(), resolve(t, w, "unlisted"))
		requireCode(t, err, fault.PermissionDenied)
	})
	w, err := Open(top + "/unlisted") // permission to enter, but not to list
	require.NoError(t, err)
	_, err = w.Stat(resolve(t, w, "file"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
}
