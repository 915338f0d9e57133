package commit

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

// dying is a disk that fails when the directory is flushed, and is mounted read-only from then on.
type dying struct {
	system
	dead bool
}

var errReadOnly = &os.PathError{Op: "rename", Path: "target.txt", Err: unix.EROFS}

func (s *dying) sync(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		s.dead = true
		return &os.PathError{Op: "sync", Path: f.Name(), Err: unix.EIO}
	}
	return s.system.sync(f)
}

func (s *dying) exchange(dir *os.File, a, b string) error {
	if s.dead {
		return errReadOnly
	}
	return s.system.exchange(dir, a, b)
}

func (s *dying) link(dir *os.File, from, to string) error {
	if s.dead {
		return errReadOnly
	}
	return s.system.link(dir, from, to)
}

func (s *dying) rename(dir *os.File, from, to string) error {
	if s.dead {
		return errReadOnly
	}
	return s.system.rename(dir, from, to)
}

func (s *dying) renameNoReplace(dir *os.File, from, to string) error {
	if s.dead {
		return errReadOnly
	}
	return s.system.renameNoReplace(dir, from, to)
}

func (s *dying) remove(dir *os.File, name string) error {
	if s.dead {
		return errReadOnly
	}
	return s.system.remove(dir, name)
}

// TestNotUndone checks that an exchange that cannot be undone is reported as such.
func TestNotUndone(t *testing.T) { // FS-60, FS-65
	for _, method := range []Method{MethodExchange, MethodLink} {
		t.Run(string(method), func(t *testing.T) {
			fx := newFixture(t, oldText)
			out, err := newOn(&dying{system: methods[method]}, Options{}).Commit(t.Context(), fx.request(oldText, newText))
			requireCode(t, err, fault.FileWriteFailure, "")
			require.ErrorIs(t, err, unix.EIO)
			require.ErrorIs(t, err, unix.EROFS)
			require.Equal(t, "file: "+newText, fx.state())
			requireKept(t, out, oldText)
			require.Contains(t, fault.As(err).Message, out.KeptFiles[0])
			require.Contains(t, fault.As(err).Message, "holds the new content")
			require.NotContains(t, fault.As(err).Line(), "not changed")
			require.Contains(t, fault.As(err).Remedy, "before the next write")
		})
	}
	t.Run("only the exchange fails", func(t *testing.T) {
		fx := newFixture(t, oldText)
		s := &failing{system: noSync{kernel{}}, call: "rename", nth: 2, err: unix.EIO}
		c := newOn(s, Options{Hook: at(StepRechecked, func() error { return saves["rename"](fx, extText) })})
		out, err := c.Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileWriteFailure, "")
		require.Equal(t, "file: "+newText, fx.state())
		requireKept(t, out, extText)
		require.Contains(t, fault.As(err).Message, out.KeptFiles[0])
		require.NotContains(t, fault.As(err).Remedy, "before the next write")
	})
	t.Run("somebody else has saved meanwhile", func(t *testing.T) {
		fx := newFixture(t, oldText)
		s := &failing{system: noSync{kernel{}}, call: "rename", nth: 2, err: unix.EIO}
		c := newOn(s, Options{Hook: func(step Step) error {
			if step == StepRechecked || step == StepExchanged {
				return saves["rename"](fx, string(step))
			}
			return nil
		}})
		out, err := c.Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
		require.Equal(t, "file: "+string(StepExchanged), fx.state())
		requireKept(t, out, string(StepRechecked))
	})
	t.Run("the path is empty", func(t *testing.T) {
		fx := newFixture(t, oldText)
		s := &dying{system: kernel{}}
		c := newOn(s, Options{Hook: at(StepVerified, func() error {
			s.dead = true
			return errors.Join(os.Remove(fx.file), errHook)
		})})
		out, err := c.Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileWriteFailure, "")
		require.Contains(t, fault.As(err).Message, "no longer exists")
		requireKept(t, out, oldText)
	})
	t.Run("the displaced file is gone", func(t *testing.T) {
		fx := newFixture(t, oldText)
		c := New(Options{Hook: at(StepExchanged, func() error {
			for _, name := range fx.names() {
				if tempPattern().MatchString(name) {
					require.NoError(t, os.Remove(fx.path+"/"+name))
				}
			}
			return errHook
		})})
		out, err := c.Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileWriteFailure, "")
		require.ErrorIs(t, err, errHook)
		require.Contains(t, fault.As(err).Message, "holds the new content")
		require.Contains(t, fault.As(err).Message, "has removed its previous content")
		require.Empty(t, out.KeptFiles)
		require.Equal(t, "file: "+newText, fx.state())
	})
}

// stubborn removes no file called name.
type stubborn struct {
	system
	name string
}

func (s stubborn) remove(dir *os.File, name string) error {
	if name == s.name || s.name == "part" && partPattern().MatchString(name) {
		return &os.PathError{Op: "remove", Path: name, Err: unix.EIO}
	}
	return s.system.remove(dir, name)
}

// closing creates a new file that cannot be described any more.
type closing struct{ system }

func (s closing) linkUnnamed(f, dir *os.File, name string) error {
	return errors.Join(s.system.linkUnnamed(f, dir, name), f.Close())
}

// TestNotWithdrawn checks that an error means that there is no new file, unless the error states
// that there is.
func TestNotWithdrawn(t *testing.T) { // FS-62, FS-65
	systems := map[string]system{
		"read-only":              &dying{system: kernel{}},
		"name cannot be removed": &failing{system: stubborn{noNoReplace{kernel{}}, "target.txt"}, call: "sync", nth: 2, err: unix.EIO},
	}
	for name, system := range systems {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t, "")
			_, err := newOn(system, Options{}).Commit(t.Context(), fx.request("", newText))
			requireCode(t, err, fault.FileWriteFailure, "")
			require.ErrorIs(t, err, unix.EIO)
			require.Contains(t, fault.As(err).Message, "holds the new content")
			require.NotContains(t, fault.As(err).Line(), "not changed")
			require.Equal(t, "file: "+newText, fx.state())
		})
	}
	t.Run("open in another program", func(t *testing.T) {
		fx := newFixture(t, "")
		var editor *os.File
		defer func() { editor.Close() }()
		_, err := New(Options{LeaseWait: -1, Hook: at(StepSynced, func() (err error) {
			editor, err = os.OpenFile(fx.file, os.O_RDWR, 0)
			return errors.Join(err, errHook)
		})}).Commit(t.Context(), fx.request("", newText))
		requireCode(t, err, fault.FileWriteFailure, "")
		require.ErrorIs(t, err, errHook)
		require.Contains(t, fault.As(err).Message, "holds the new content")
		require.Equal(t, "file: "+newText, fx.state())
	})
	for name, system := range map[string]system{
		"a part stays":        stubborn{noNoReplace{noUnnamed{kernel{}}}, "part"},
		"it is not described": closing{kernel{}},
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t, "")
			out, err := newOn(system, Options{}).Commit(t.Context(), fx.request("", newText))
			require.NoError(t, err, "the file is in place")
			require.Equal(t, MethodCreate, out.Method)
			require.Equal(t, "file: "+newText, fx.state())
		})
	}
}

// counting records whether a lease is held when names are exchanged.
type counting struct {
	lateOpener
	held      int
	exchanges []int // leases held at each exchange
}

func (s *counting) lease(f *os.File, exclusive bool) error {
	err := s.lateOpener.lease(f, exclusive)
	if err == nil {
		s.held++
	}
	return err
}

func (s *counting) endLease(f *os.File) {
	s.held--
	s.lateOpener.endLease(f)
}

func (s *counting) exchange(dir *os.File, a, b string) error {
	s.exchanges = append(s.exchanges, s.held)
	return s.lateOpener.exchange(dir, a, b)
}

// TestUndoWithoutLease checks that the program whose open broke the lease of the target does not
// wait until the new file is judged.
func TestUndoWithoutLease(t *testing.T) { // FS-59
	fx := newFixture(t, oldText)
	s := &counting{lateOpener: lateOpener{kernel{}, t, 3, extText}}
	_, err := newOn(s, Options{}).Commit(t.Context(), fx.request(oldText, newText))
	requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
	require.Equal(t, []int{2, 0}, s.exchanges)
}
