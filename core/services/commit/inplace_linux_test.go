package commit

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

// linked returns a target with a second name.
func linked(t testing.TB) *fixture {
	t.Helper()
	fx := newFixture(t, oldText)
	require.NoError(t, os.Link(fx.file, filepath.Join(fx.path, "second")))
	return fx
}

func (fx *fixture) second() string {
	fx.t.Helper()
	data, err := os.ReadFile(filepath.Join(fx.path, "second"))
	require.NoError(fx.t, err)
	return string(data)
}

func TestInPlaceSizes(t *testing.T) { // FS-64
	for name, data := range map[string]string{
		"longer": strings.Repeat(newText, 1000), "shorter": "x", "empty": "", "same": oldText,
	} {
		t.Run(name, func(t *testing.T) {
			fx := linked(t)
			before, err := os.Stat(fx.file)
			require.NoError(t, err)
			recovery := t.TempDir()
			var steps []Step
			c := New(Options{RecoveryDir: recovery, Hook: func(s Step) error {
				steps = append(steps, s)
				if s == StepRecoverySaved {
					entries, err := os.ReadDir(recovery)
					require.NoError(t, err)
					require.Len(t, entries, 1)
					info, err := entries[0].Info()
					require.NoError(t, err)
					require.Equal(t, os.FileMode(0o600), info.Mode())
				}
				return nil
			}})
			out, err := c.Commit(t.Context(), fx.request(oldText, data))
			require.NoError(t, err)
			require.Equal(t, data, fx.content())
			require.Equal(t, data, fx.second())
			after, err := os.Stat(fx.file)
			require.NoError(t, err)
			require.True(t, os.SameFile(before, after))
			require.EqualValues(t, 2, out.Info.Nlink)
			require.EqualValues(t, len(data), out.Info.Size)
			require.Equal(t, []Step{StepLocked, StepChecked, StepRecoverySaved, StepInPlaceHalf, StepInPlaceWritten, StepSynced}, steps)
			require.Equal(t, []string{"second", "target.txt"}, fx.names())
		})
	}
}

// TestInPlaceSaves has another program save before the bytes are written.
func TestInPlaceSaves(t *testing.T) { // FS-64, TE-08
	for name, save := range saves {
		for _, step := range []Step{StepLocked, StepChecked, StepRecoverySaved} {
			t.Run(name+"/"+string(step), func(t *testing.T) {
				fx := linked(t)
				recovery := t.TempDir()
				var saved string
				c := New(Options{RecoveryDir: recovery, Hook: at(step, func() error {
					err := save(fx, extText)
					saved = fx.state()
					return err
				})})
				_, err := c.Commit(t.Context(), fx.request(oldText, newText))
				require.Error(t, err)
				require.Contains(t, []fault.Code{fault.FileChangedSinceRead, fault.NotARegularFile}, fault.CodeOf(err))
				require.Equal(t, saved, fx.state())
				if name == "rename" || name == "deleted" {
					require.Equal(t, oldText, fx.second())
				}
				entries, err := os.ReadDir(recovery)
				require.NoError(t, err)
				require.Empty(t, entries)
			})
		}
	}
}

// TestInPlaceAlone checks that no other process can open the file while it is half written.
func TestInPlaceAlone(t *testing.T) { // FS-64
	fx := linked(t)
	read := make(chan string)
	c := New(Options{RecoveryDir: t.TempDir(), Hook: at(StepInPlaceHalf, func() error {
		for _, flags := range []int{unix.O_RDONLY, unix.O_WRONLY} {
			_, err := openNow(fx.dir, "second", flags)
			require.ErrorIs(t, err, errBusy)
		}
		go func() {
			data, err := os.ReadFile(filepath.Join(fx.path, "second"))
			read <- string(data)
			if err != nil {
				t.Error(err)
			}
		}()
		return nil
	})})
	_, err := c.Commit(t.Context(), fx.request(oldText, newText))
	require.NoError(t, err)
	require.Equal(t, newText, <-read)
}

func TestInPlaceOpenElsewhere(t *testing.T) { // FS-59, FS-64
	t.Run("for writing", func(t *testing.T) {
		fx := linked(t)
		f, err := os.OpenFile(filepath.Join(fx.path, "second"), os.O_RDWR, 0)
		require.NoError(t, err)
		defer f.Close()
		_, err = New(Options{RecoveryDir: t.TempDir(), LeaseWait: -1}).Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileChangedSinceRead, fault.OpenElsewhere)
		require.Equal(t, oldText, fx.second())
	})
	t.Run("for reading", func(t *testing.T) {
		fx := linked(t)
		f, err := os.Open(filepath.Join(fx.path, "second"))
		require.NoError(t, err)
		defer f.Close()
		_, err = New(Options{RecoveryDir: t.TempDir()}).Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.Equal(t, newText, fx.second())
	})
	t.Run("by a commit through another name", func(t *testing.T) {
		fx := linked(t)
		f, err := os.Open(fx.file)
		require.NoError(t, err)
		defer f.Close()
		require.NoError(t, kernel{}.tryLock(f))
		_, err = New(Options{RecoveryDir: t.TempDir(), LeaseWait: -1}).Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileChangedSinceRead, fault.OpenElsewhere)
		require.Equal(t, oldText, fx.content())
	})
}

// TestInPlaceMixed lets another program write in between, which is possible without leases. The
// write is noticed, its bytes are not overwritten, and both versions are kept.
func TestInPlaceMixed(t *testing.T) { // FS-64
	for _, step := range []Step{StepInPlaceHalf, StepInPlaceWritten} {
		fx := linked(t)
		recovery := t.TempDir()
		var saved string
		c := newOn(noLeases{kernel{}}, Options{RecoveryDir: recovery, Hook: at(step, func() error {
			err := saves["in place"](fx, strings.Repeat("#", 100))
			saved = fx.content()
			return err
		})})
		_, err := c.Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
		entries, dirErr := os.ReadDir(recovery)
		require.NoError(t, dirErr)
		require.Len(t, entries, 1)
		require.Contains(t, fault.As(err).Message, entries[0].Name())
		if step == StepInPlaceWritten {
			require.Equal(t, saved, fx.content())
		}
		left, err := New(Options{RecoveryDir: recovery}).Recover(t.Context())
		require.NoError(t, err)
		require.Len(t, left, 1)
	}
}

// TestInPlaceTorn checks that a failure after which the old bytes cannot be restored leaves the
// recovery file, and that the next start completes the write.
func TestInPlaceTorn(t *testing.T) { // FS-64
	fx := linked(t)
	recovery := t.TempDir()
	// Writes 1 to 4 make the recovery file, 5 and 6 the halves, 7 restores.
	broken := &brokenDisk{system: kernel{}, good: 5}
	_, err := newOn(broken, Options{RecoveryDir: recovery}).Commit(t.Context(), fx.request(oldText, newText))
	requireCode(t, err, fault.NoSpaceLeft, "")
	require.NotContains(t, []string{oldText, newText}, fx.content())
	left, err := New(Options{RecoveryDir: recovery}).Recover(t.Context())
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, LeftoverFinished, left[0].State)
	require.Equal(t, newText, fx.content())
	require.Equal(t, newText, fx.second())
}

// brokenDisk writes a number of times, and then fails.
type brokenDisk struct {
	system
	good int
}

func (s *brokenDisk) writeAt(f *os.File, data []byte, offset int64) error {
	if s.good--; s.good < 0 {
		return &os.PathError{Op: "write", Path: f.Name(), Err: unix.ENOSPC}
	}
	return s.system.writeAt(f, data, offset)
}

func TestInPlaceCancelled(t *testing.T) { // AR-29
	for _, step := range []Step{StepChecked, StepRecoverySaved} {
		fx := linked(t)
		recovery := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		c := New(Options{RecoveryDir: recovery, Hook: at(step, func() error { cancel(); return nil })})
		_, err := c.Commit(ctx, fx.request(oldText, newText))
		requireCode(t, err, fault.Cancelled, "")
		require.Equal(t, oldText, fx.content())
		entries, err := os.ReadDir(recovery)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}

// TestInPlaceNoRecord checks that the error names a recovery directory that cannot be created or
// written, instead of reporting the target as unwritable.
func TestInPlaceNoRecord(t *testing.T) { // FS-64
	t.Run("a file in its place", func(t *testing.T) {
		blocked := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(blocked, nil, 0o644))
		requireNoRecord(t, kernel{}, filepath.Join(blocked, "recovery"), fault.FileWriteFailure, unix.ENOTDIR)
		requireNoRecord(t, kernel{}, blocked, fault.FileWriteFailure, unix.ENOTDIR)
	})
	t.Run("no space", func(t *testing.T) {
		requireNoRecord(t, &brokenDisk{system: kernel{}, good: 2}, t.TempDir(), fault.NoSpaceLeft, unix.ENOSPC)
	})
}

// TestNobodyNoRecord uses a recovery directory that the process may not create, or not write.
func TestNobodyNoRecord(t *testing.T) { // FS-64
	skipUnlessNobody(t)
	parent := t.TempDir()
	require.NoError(t, os.Chmod(parent, 0o555))
	requireNoRecord(t, kernel{}, filepath.Join(parent, "recovery"), fault.PermissionDenied, unix.EACCES)
	requireNoRecord(t, kernel{}, parent, fault.PermissionDenied, unix.EACCES)
}

func requireNoRecord(t *testing.T, s system, recovery string, code fault.Code, cause error) {
	t.Helper()
	fx := linked(t)
	_, err := newOn(s, Options{RecoveryDir: recovery}).Commit(t.Context(), fx.request(oldText, newText))
	requireCode(t, err, code, "")
	require.ErrorIs(t, err, cause)
	message := fault.As(err).Message
	require.Contains(t, message, "recovery file in the directory "+recovery+" failed")
	require.Contains(t, message, fx.file+" may be written")
	require.Contains(t, message, "it was not changed")
	require.NotContains(t, fault.As(err).Remedy, "permissions of the file")
	require.Equal(t, oldText, fx.content())
	require.Equal(t, []string{"second", "target.txt"}, fx.names())
}

// unflushed fails to flush the target once it is rewritten, after it has called act.
type unflushed struct {
	system
	target string
	act    func()
}

func (s *unflushed) sync(f *os.File) error {
	if filepath.Base(f.Name()) != s.target || s.act == nil {
		return s.system.sync(f)
	}
	act := s.act
	s.act = nil
	act()
	return &os.PathError{Op: "sync", Path: f.Name(), Err: unix.EIO}
}

// TestInPlaceNotFlushed checks that no other process reads the new bytes before they are flushed.
// If they cannot be flushed, the old ones do not overwrite the bytes of another process.
func TestInPlaceNotFlushed(t *testing.T) { // FS-64
	t.Run("with a lease", func(t *testing.T) {
		fx := linked(t)
		s := &unflushed{system: kernel{}, target: "target.txt", act: func() {
			_, err := openNow(fx.dir, "second", unix.O_WRONLY)
			require.ErrorIs(t, err, errBusy)
		}}
		_, err := newOn(s, Options{RecoveryDir: t.TempDir()}).Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileWriteFailure, "")
		require.ErrorIs(t, err, unix.EIO)
		require.Nil(t, s.act)
		require.Equal(t, oldText, fx.second())
	})
	t.Run("without, and somebody saves", func(t *testing.T) {
		fx, recovery := linked(t), t.TempDir()
		s := &unflushed{system: noLeases{kernel{}}, target: "target.txt", act: func() {
			require.NoError(t, saves["in place"](fx, extText))
		}}
		out, err := newOn(s, Options{RecoveryDir: recovery}).Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
		require.ErrorIs(t, err, unix.EIO)
		require.Len(t, out.KeptFiles, 1)
		require.Equal(t, extText, fx.second())
		entries, dirErr := os.ReadDir(recovery)
		require.NoError(t, dirErr)
		require.Len(t, entries, 1)
		require.Contains(t, fault.As(err).Message, entries[0].Name())
		require.Equal(t, filepath.Join(recovery, entries[0].Name()), out.KeptFiles[0])
	})
}
