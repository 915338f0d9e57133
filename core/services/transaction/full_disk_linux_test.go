package transaction_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/transaction"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// A small file system that fills up at any point of a set keeps all old files, and the set fits once
// there is space.
func TestFullFileSystem(t *testing.T) { // TX-02, TX-05
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("file systems cannot be mounted:", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(small, 0)) })
	stride := 4 // pages
	if os.Getenv("FETTLE_FULL") != "" {
		stride = 1
	}
	for _, place := range []string{"files and journal", "files"} {
		refused, done := 0, 0
		for pages := 0; pages <= 64; pages += stride {
			dir, recovery := filepath.Join(small, "p"), filepath.Join(small, "recovery")
			if place == "files" {
				recovery = t.TempDir()
			}
			require.NoError(t, os.Mkdir(dir, 0o755))
			files, err := workspace.Open(dir)
			require.NoError(t, err)
			committer := commit.New(commit.Options{RecoveryDir: recovery, Settle: -1})
			p := &project{dir: dir, recovery: recovery, files: files, Service: transaction.New(transaction.Options{
				Files: files, RecoveryDir: recovery, Committer: committer,
			})}
			if p.commitNearlyFull(t, pages, filepath.Join(small, "full")) {
				done++
			} else {
				refused++
			}
			require.NoError(t, files.Close())
			committer.Wait()
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.RemoveAll(recovery))
		}
		t.Logf("%s: %d sets without space, %d complete", place, refused, done)
		require.Greater(t, refused, 3)
		require.Greater(t, done, 3)
	}
}

// commitNearlyFull commits a set when the file system has some free pages, and reports whether that
// was enough. full is the name of a file that fills it.
func (p *project) commitNearlyFull(t *testing.T, pages int, full string) bool {
	t.Helper()
	for name, text := range five {
		p.write(t, name, text)
	}
	ballast, err := os.Create(full)
	require.NoError(t, err)
	for err == nil {
		_, err = ballast.Write(make([]byte, os.Getpagesize()))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	info, err := ballast.Stat()
	require.NoError(t, err)
	require.NoError(t, ballast.Truncate(max(0, info.Size()-int64(pages*os.Getpagesize()))))
	require.NoError(t, ballast.Close())
	set := p.set()
	set[1].Data = []byte(strings.Repeat("b 1\n", 20000)) // many pages
	r, err := p.Commit(t.Context(), set)
	require.Empty(t, r.KeptFiles)
	require.NoError(t, os.Remove(full))
	p.requireClean(t)
	if err == nil {
		require.Equal(t, with(after, map[string]string{"d/b.txt": string(set[1].Data)}), p.tree(t))
		return true
	}
	requireCode(t, err, fault.NoSpaceLeft, "")
	require.Equal(t, before, p.tree(t))
	_, err = p.Commit(t.Context(), set)
	require.NoError(t, err)
	return false
}
