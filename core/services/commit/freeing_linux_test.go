package commit

import (
	"os"
	"path/filepath"
	"runtime"
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
	f := newFreeing()
	open := func() *os.File {
		file, err := os.CreateTemp(t.TempDir(), "")
		require.NoError(t, err)
		t.Cleanup(func() { file.Close() })
		return file
	}
	for range cap(f.slots) {
		f.slots <- struct{}{}
	}
	further := open()
	f.close(further)
	require.ErrorIs(t, further.Close(), os.ErrClosed)
	for range cap(f.slots) {
		<-f.slots
	}
	var files []*os.File
	for range 2 * cap(f.slots) {
		files = append(files, open())
		f.close(files[len(files)-1])
	}
	f.wait()
	for _, file := range files {
		require.ErrorIs(t, file.Close(), os.ErrClosed)
	}
}

// fullDisk has no space until a file that is being closed is closed.
type fullDisk struct {
	system
	freeing *freeing
	full    bool
}

func (s *fullDisk) writeAt(f *os.File, data []byte, offset int64) error {
	if s.full {
		s.full = false
		go func() {
			for s.freeing.waiting.TryLock() { // until wait has it
				s.freeing.waiting.Unlock()
				runtime.Gosched()
			}
			<-s.freeing.slots
		}()
		return unix.ENOSPC
	}
	return s.system.writeAt(f, data, offset)
}

// TestSpaceOfRemovedFile checks that a change fits into the space of the file that the change before
// it removed.
func TestSpaceOfRemovedFile(t *testing.T) {
	fx := newFixture(t, oldText)
	disk := &fullDisk{system: kernel{}, full: true}
	c := newOn(disk, Options{})
	disk.freeing = c.freeing
	c.freeing.slots <- struct{}{}
	_, err := c.Commit(t.Context(), fx.request(oldText, newText))
	require.NoError(t, err)
	require.Equal(t, newText, fx.content())
}
