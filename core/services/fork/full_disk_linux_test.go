package fork_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/fork"
)

// FK-05: a file system that fills up at any point keeps all old files or has all new ones, and the
// merge is complete once there is space. After it the file system can be unmounted.
func TestFullFileSystem(t *testing.T) {
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=512k"); err != nil {
		t.Skip("file systems cannot be mounted:", err)
	}
	require.NoError(t, syscall.Unmount(small, 0))
	stride := 3 // pages
	if os.Getenv("FETTLE_FULL") != "" {
		stride = 1
	}
	long := strings.Repeat("a line\n", 4000)
	modes(t, func(t *testing.T, mode fork.Mode) {
		created, refused, done := 0, 0, 0
		for pages := 0; pages <= 60; pages += stride {
			require.NoError(t, syscall.Mount("tmpfs", small, "tmpfs", 0, "size=512k"))
			defer syscall.Unmount(small, syscall.MNT_DETACH) // an error if it is unmounted already
			top := filepath.Join(small, "t")
			p := &project{t: t, dir: filepath.Join(top, "p"), state: filepath.Join(top, "state"), recovery: filepath.Join(top, "recovery"), mode: mode}
			before := map[string]string{"a": ten, "b": ten, "c": ten}
			p.write(before)
			fill(t, small, pages)
			f, err := p.store().Create(t.Context(), fork.Request{Name: "one", Dirs: []string{p.dir}, Mode: mode})
			require.NoError(t, os.Remove(filepath.Join(small, "full")))
			if err != nil {
				require.Equal(t, fault.NoSpaceLeft, fault.CodeOf(err), err)
				_, err := p.store().List(t.Context())
				require.NoError(t, err)
				p.left(0)
				f = p.create("one")
			} else {
				created++
			}
			p.change(f, map[string]string{"a": first(ten), "b": long, "c": "gone", "d": long})
			p.write(map[string]string{"a": last(ten)})
			before["a"] = last(ten)
			after := map[string]string{"a": last(first(ten)), "b": long, "d": long}
			fill(t, small, pages)
			_, err = p.merge(f, nil)
			require.NoError(t, os.Remove(filepath.Join(small, "full")))
			if err != nil {
				require.Equal(t, fault.NoSpaceLeft, fault.CodeOf(err), err)
				refused++
				if got := tree(t, p.dir); len(got) != len(after) || got["d"] == "" {
					require.Equal(t, before, got)
				}
				_, err = p.merge(f, nil)
				require.NoError(t, err)
			} else {
				done++
			}
			require.Equal(t, after, tree(t, p.dir))
			require.NoError(t, f.Close())
			require.NoError(t, syscall.Unmount(small, 0))
		}
		t.Logf("%d forks created, %d merges without space, %d complete", created, refused, done)
		require.Greater(t, refused, 3)
		require.Greater(t, done, 3)
	})
}

// fill leaves some free pages in a file system.
func fill(t *testing.T, dir string, pages int) {
	t.Helper()
	ballast, err := os.Create(filepath.Join(dir, "full"))
	require.NoError(t, err)
	for err == nil {
		_, err = ballast.Write(make([]byte, os.Getpagesize()))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	info, err := ballast.Stat()
	require.NoError(t, err)
	require.NoError(t, ballast.Truncate(max(0, info.Size()-int64(pages*os.Getpagesize()))))
	require.NoError(t, ballast.Close())
}
