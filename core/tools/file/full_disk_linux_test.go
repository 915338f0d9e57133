package file_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// mountTmpfs mounts a file system of a few pages on a directory.
func mountTmpfs(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.Mkdir(path, 0o755))
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("nothing can be mounted here: ", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(path, syscall.MNT_DETACH)) })
}

// A full disk: the error has a code, the file is unchanged, and no other file is left.
func TestFullDisk(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		mountTmpfs(t, s.Path("small"))
		s.Write("small/a.txt", base)
		require.NoError(t, os.WriteFile(s.Path("small/ballast"), make([]byte, 1), 0o644))
		for size := int64(4 << 10); ; size += 4 << 10 {
			f, err := os.OpenFile(s.Path("small/ballast"), os.O_WRONLY|os.O_APPEND, 0)
			require.NoError(t, err)
			_, err = f.Write(make([]byte, 4<<10))
			require.NoError(t, f.Close())
			if err != nil {
				break
			}
			require.Less(t, size, int64(1<<20))
		}
		read(t, s, "small/a.txt")
		before := listing(t, s.Dir)
		report := refuse(t, s.Call(m.tool, m.change("small/a.txt")), fault.NoSpaceLeft, "")
		requireShown(t, report.LatestFileState)
		refuse(t, s.Call(m.tool, m.create("small/new/tree.txt")), fault.NoSpaceLeft, "")
		require.Equal(t, base, s.Read("small/a.txt"))
		require.Equal(t, before, listing(t, s.Dir))
		// The remedy succeeds.
		require.NoError(t, os.Remove(s.Path("small/ballast")))
		succeed(t, s.Call(m.tool, m.change("small/a.txt")))
	})
}

// A file system that became read-only.
func TestReadOnlyFileSystem(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		mountTmpfs(t, s.Path("fixed"))
		s.Write("fixed/a.txt", base)
		require.NoError(t, syscall.Mount("", s.Path("fixed"), "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
		read(t, s, "fixed/a.txt")
		before := tree(t, s.Dir)
		refuse(t, s.Call(m.tool, m.change("fixed/a.txt")), fault.PermissionDenied, "")
		refuse(t, s.Call(m.tool, m.create("fixed/new/tree.txt")), fault.PermissionDenied, "")
		require.Equal(t, before, tree(t, s.Dir))
	})
}

// A path that becomes a FIFO or a directory in any window is refused at once, without waiting for a writer.
func TestTurnsIntoNoFile(t *testing.T) {
	t.Parallel()
	eachMutator(t, func(t *testing.T, m mutator) {
		for _, window := range changeWindows {
			for name, turn := range map[string]func(path string) error{
				"FIFO":   func(path string) error { return syscall.Mkfifo(path, 0o666) },
				"folder": func(path string) error { return os.Mkdir(path, 0o755) },
			} {
				t.Run(window+" "+name, func(t *testing.T) {
					s, arm := stagedSession(t, window, func(s *configtest.Session) {
						if err := os.Remove(s.Path("dir/a.txt")); err != nil {
							s.T.Error(err)
						}
						if err := turn(s.Path("dir/a.txt")); err != nil {
							s.T.Error(err)
						}
					})
					s.Write("dir/a.txt", base)
					read(t, s, "dir/a.txt")
					arm()
					begin := time.Now()
					r := s.Call(m.tool, m.change("dir/a.txt"))
					require.Less(t, time.Since(begin), time.Minute)
					require.Equal(t, scheduler.StatusError, r.Status)
					require.NotEmpty(t, r.Result.Error.Remedy)
					requireWithheld(t, reportOf(t, r).LatestFileState, s.Path("dir/a.txt"))
					info, err := os.Lstat(s.Path("dir/a.txt"))
					require.NoError(t, err)
					require.False(t, info.Mode().IsRegular())
					require.Len(t, listing(t, s.Path("dir")), 2, "no file is left behind")
				})
			}
		}
	})
}

// The same for reads.
func TestTurnsIntoAFIFOWhileReading(t *testing.T) {
	s := newSession(t, func(p *config.Parameters) {
		p.Calls.Seam = func(at string, path workspace.Path) error {
			if at == "stat-read" {
				_ = os.Remove(path.String())
				if err := syscall.Mkfifo(path.String(), 0o666); err != nil {
					t.Error(err)
				}
			}
			return nil
		}
	})
	s.Write("a.txt", strings.Repeat(base, 10))
	requireError(t, s.Call(file.ReadFile, args{"file_path": "a.txt"}), fault.NotARegularFile, fault.SpecialFile)
}
