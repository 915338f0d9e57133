package commit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

// TestOpenElsewhere has another program hold the file open for writing.
func TestOpenElsewhere(t *testing.T) { // FS-59
	const wait = 20 * time.Millisecond

	t.Run("before the commit", func(t *testing.T) {
		fx := newFixture(t, oldText)
		editor, err := os.OpenFile(fx.file, os.O_RDWR, 0)
		require.NoError(t, err)
		defer editor.Close()
		var steps []Step
		c := New(Options{LeaseWait: wait, Hook: func(s Step) error { steps = append(steps, s); return nil }})
		start := time.Now()
		_, err = c.Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileChangedSinceRead, fault.OpenElsewhere)
		require.GreaterOrEqual(t, time.Since(start), wait)
		require.Equal(t, []Step{StepLocked}, steps, "nothing of ours came near the path")
		_, err = editor.WriteString(extText)
		require.NoError(t, err)
		require.Equal(t, extText+oldText[len(extText):], fx.content())
		require.Equal(t, []string{"target.txt"}, fx.names())
	})
	t.Run("by a mapping whose descriptor is closed", func(t *testing.T) {
		fx := newFixture(t, oldText)
		editor, err := os.OpenFile(fx.file, os.O_RDWR, 0)
		require.NoError(t, err)
		mapped, err := unix.Mmap(int(editor.Fd()), 0, len(oldText), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		require.NoError(t, err)
		defer unix.Munmap(mapped)
		require.NoError(t, editor.Close())
		_, err = New(Options{LeaseWait: -1}).Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileChangedSinceRead, fault.OpenElsewhere)
	})
	t.Run("closed while the commit waits", func(t *testing.T) {
		fx := newFixture(t, oldText)
		editor, err := os.OpenFile(fx.file, os.O_RDWR, 0)
		require.NoError(t, err)
		s := &onBusy{system: kernel{}, act: func() { editor.Close() }}
		_, err = newOn(s, Options{LeaseWait: time.Minute}).Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.Equal(t, newText, fx.content())
	})
	for _, method := range []Method{MethodExchange, MethodLink} {
		t.Run("opened during the flush, by "+string(method), func(t *testing.T) {
			fx := newFixture(t, oldText)
			var editor *os.File
			defer func() { editor.Close() }()
			c := newOn(methods[method], Options{LeaseWait: wait, Hook: func(s Step) (err error) {
				switch s {
				case StepTempLinked:
					editor, err = os.OpenFile(fx.file, os.O_RDWR, 0)
				case StepExchanged:
					t.Error("what was known to be open came to be exchanged")
				}
				return err
			}})
			_, err := c.Commit(t.Context(), fx.request(oldText, newText))
			requireCode(t, err, fault.FileChangedSinceRead, fault.OpenElsewhere)
			require.Equal(t, oldText, fx.content())
			_, err = editor.WriteString(extText)
			require.NoError(t, err)
			require.Equal(t, extText+oldText[len(extText):], fx.content(), "the editor's file is the one at the path")
			require.Equal(t, []string{"target.txt"}, fx.names())
		})
	}
	t.Run("our file opened before the undo", func(t *testing.T) { // FS-60
		fx := newFixture(t, oldText)
		var editor *os.File
		defer func() { editor.Close() }()
		hook := func(s Step) (err error) {
			switch s {
			case StepRechecked:
				return saves["rename"](fx, extText)
			case StepExchanged:
				editor, err = os.OpenFile(fx.file, os.O_RDWR, 0)
			}
			return err
		}
		out, err := newOn(unshielded{kernel{}}, Options{Hook: hook, LeaseWait: wait}).Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
		require.Equal(t, extText, fx.content())
		require.Len(t, out.KeptFiles, 1)
		_, err = editor.WriteString("late")
		require.NoError(t, err)
		kept, err := os.ReadFile(out.KeptFiles[0])
		require.NoError(t, err)
		require.Equal(t, "late"+newText[4:], string(kept), "what the editor writes now is not lost")
	})
}

// watching records the files that were leased last.
type watching struct {
	system
	leased, shielded *os.File
}

func (s *watching) lease(f *os.File, exclusive bool) error {
	if exclusive {
		s.shielded = f
	} else {
		s.leased = f
	}
	return s.system.lease(f, exclusive)
}

// TestOpenedDuringExchange checks that a program that opens the target for writing between the last
// check and the exchange waits, is noticed, and saves into the file that is finally at the path.
func TestOpenedDuringExchange(t *testing.T) { // FS-59
	for _, method := range []Method{MethodExchange, MethodLink, MethodRename} {
		for _, name := range inPlaceSaves {
			t.Run(string(method)+"/"+name, func(t *testing.T) {
				fx := newFixture(t, oldText)
				s := &watching{system: methods[method]}
				saved := make(chan error)
				c := newOn(s, Options{LeaseWait: -1, Hook: at(StepRechecked, func() error {
					go func() { saved <- saves[name](fx, extText) }()
					for s.leaseHeld(s.leased) {
						runtime.Gosched()
					}
					return nil
				})})
				out, err := c.Commit(t.Context(), fx.request(oldText, newText))
				require.NoError(t, <-saved)
				if err != nil { // a signal can interrupt the open, which then finds the new file
					require.Equal(t, fault.FileChangedSinceRead, fault.CodeOf(err), "%v", err)
				}
				require.NotContains(t, fx.content(), "version", "the save stands")
				require.Empty(t, out.KeptFiles)
				require.Equal(t, []string{"target.txt"}, fx.names())
			})
		}
	}
}

// onBusy acts once a lease is refused.
type onBusy struct {
	system
	act func()
}

func (s *onBusy) lease(f *os.File, exclusive bool) error {
	err := s.system.lease(f, exclusive)
	if errors.Is(err, errBusy) {
		s.act()
	}
	return err
}

// lateOpener is a program whose open(2) found the displaced file by name before the exchange, and
// completes only later: the lease breaks at the given check, and as soon as it is released the
// program writes.
type lateOpener struct {
	system
	t     testing.TB
	looks int // checks left before it arrives
	write string
}

func (s *lateOpener) leaseHeld(f *os.File) bool {
	s.looks--
	return s.looks != 0 && s.system.leaseHeld(f)
}

func (s *lateOpener) endLease(f *os.File) {
	s.system.endLease(f)
	if s.looks != 0 || s.write == "" {
		return
	}
	late, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_WRONLY|os.O_TRUNC, 0)
	require.NoError(s.t, err)
	_, err = io.WriteString(late, s.write)
	require.NoError(s.t, err)
	require.NoError(s.t, late.Close())
}

func TestLateOpener(t *testing.T) { // FS-59
	// The lease is checked before the exchange, after it, before the name is removed, and after
	// that.
	t.Run("before the exchange", func(t *testing.T) {
		fx := newFixture(t, oldText)
		c := newOn(&lateOpener{kernel{}, t, 1, extText}, Options{Hook: at(StepExchanged, func() error {
			t.Error("exchanged")
			return nil
		})})
		_, err := c.Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileChangedSinceRead, fault.OpenElsewhere)
		require.Equal(t, extText, fx.content())
		require.Equal(t, []string{"target.txt"}, fx.names())
	})
	for name, look := range map[string]int{"after the exchange": 2, "before the name is removed": 3} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t, oldText)
			_, err := newOn(&lateOpener{kernel{}, t, look, extText}, Options{}).Commit(t.Context(), fx.request(oldText, newText))
			requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
			require.Equal(t, extText, fx.content())
			require.Equal(t, []string{"target.txt"}, fx.names())
		})
		t.Run(name+", without writing", func(t *testing.T) {
			fx := newFixture(t, oldText)
			_, err := newOn(&lateOpener{kernel{}, t, look, ""}, Options{}).Commit(t.Context(), fx.request(oldText, newText))
			require.NoError(t, err)
			require.Equal(t, newText, fx.content())
		})
	}
	t.Run("after the name is removed", func(t *testing.T) {
		fx := newFixture(t, oldText)
		out, err := newOn(&lateOpener{kernel{}, t, 4, extText}, Options{}).Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.Equal(t, newText, fx.content())
		requireKept(t, out, extText)
	})
	t.Run("without leases, through a descriptor", func(t *testing.T) {
		fx := newFixture(t, oldText)
		editor, err := os.OpenFile(fx.file, os.O_RDWR, 0)
		require.NoError(t, err)
		defer editor.Close()
		hook := at(StepUnlinked, func() error { _, err := editor.WriteString(extText); return err })
		out, err := newOn(noLeases{kernel{}}, Options{Hook: hook}).Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.Equal(t, newText, fx.content())
		requireKept(t, out, extText+oldText[len(extText):])
	})
	t.Run("without leases, before the name is removed", func(t *testing.T) {
		for _, step := range []Step{StepExchanged, StepVerified, StepSynced} {
			fx := newFixture(t, oldText)
			editor, err := os.OpenFile(fx.file, os.O_RDWR, 0)
			require.NoError(t, err)
			defer editor.Close()
			hook := at(step, func() error { _, err := editor.WriteString(extText); return err })
			_, err = newOn(noLeases{kernel{}}, Options{Hook: hook}).Commit(t.Context(), fx.request(oldText, newText))
			requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
			require.Equal(t, extText+oldText[len(extText):], fx.content())
		}
	})
	t.Run("renamed over, through a descriptor", func(t *testing.T) { // FS-61
		fx := newFixture(t, oldText)
		editor, err := os.OpenFile(fx.file, os.O_RDWR, 0)
		require.NoError(t, err)
		defer editor.Close()
		hook := at(StepExchanged, func() error { _, err := editor.WriteString(extText); return err })
		out, err := newOn(noLeases{methods[MethodRename]}, Options{Hook: hook}).Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.Equal(t, newText, fx.content())
		requireKept(t, out, extText+oldText[len(extText):])
	})
}

func requireKept(t testing.TB, out Outcome, want string) {
	t.Helper()
	require.Len(t, out.KeptFiles, 1)
	kept, err := os.ReadFile(out.KeptFiles[0])
	require.NoError(t, err)
	require.Equal(t, want, string(kept))
}
