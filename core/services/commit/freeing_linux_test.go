package commit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestWait checks that no displaced or removed file is open after Wait.
func TestWait(t *testing.T) { // FS-59
	fx := newFixture(t, oldText)
	c := New(Options{})
	_, err := c.Commit(t.Context(), fx.request(oldText, newText))
	require.NoError(t, err)
	_, err = c.Remove(t.Context(), fx.request(newText, ""))
	require.NoError(t, err)
	c.Wait()
	open, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, fd := range open {
		name, err := os.Readlink(fd)
		require.False(t, err == nil && strings.HasPrefix(name, fx.file[:len(fx.path)+1]), name)
	}
}

// TestFreeing checks that the number of files in the background is limited, and that wait waits for
// all of them.
func TestFreeing(t *testing.T) {
	var f freeing
	f.wait()
	slots := f.begun()
	open := func() *os.File {
		file, err := os.CreateTemp(t.TempDir(), "")
		require.NoError(t, err)
		t.Cleanup(func() { file.Close() })
		return file
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
	further := open()
	f.close(further)
	require.ErrorIs(t, further.Close(), os.ErrClosed)
	for range cap(slots) {
		<-slots
	}
	var files []*os.File
	for range 2 * cap(slots) {
		files = append(files, open())
		f.close(files[len(files)-1])
	}
	f.wait()
	for _, file := range files {
		require.ErrorIs(t, file.Close(), os.ErrClosed)
	}
}

// TestSpaceOfRemovedFiles checks that the inode of a removed file is free at the next commit.
func TestSpaceOfRemovedFiles(t *testing.T) { // FS-65
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "nr_inodes=3"); err != nil {
		t.Skip("file systems cannot be mounted:", err)
	}
	c := New(Options{Settle: -1})
	t.Cleanup(func() {
		c.Wait()
		require.NoError(t, unix.Unmount(small, 0))
	})
	fx := fixtureIn(t, small, oldText)
	texts := [2]string{oldText, strings.Repeat(newText, 20_000)} // freeing 1 MB takes a while
	for i := range 500 {
		_, err := c.Commit(t.Context(), fx.request(texts[i%2], texts[(i+1)%2]))
		require.NoError(t, err, "%d", i)
	}
	require.NoError(t, fx.dir.Close())
}
