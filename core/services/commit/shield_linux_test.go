package commit

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

// TestShield checks that a program that reads the target between the exchange and the verdict reads
// the content after the verdict, never a refused text.
func TestShield(t *testing.T) { // FS-58, FS-59
	for _, method := range []Method{MethodExchange, MethodLink} {
		for name, want := range map[string]string{"refused": extText, "committed": newText, "emptied": ""} {
			t.Run(string(method)+"/"+name, func(t *testing.T) {
				fx := newFixture(t, oldText)
				s := &watching{system: methods[method]}
				read := make(chan string)
				c := newOn(s, Options{Hook: func(step Step) error {
					switch {
					case step == StepRechecked && name != "committed":
						return saves["rename"](fx, want)
					case step == StepExchanged:
						go func() {
							data, err := os.ReadFile(fx.file)
							if err != nil {
								t.Error(err)
							}
							read <- string(data)
						}()
						for exclusivelyHeld(s.shielded) {
							runtime.Gosched()
						}
					}
					return nil
				}})
				out, err := c.Commit(t.Context(), fx.request(oldText, newText))
				require.Equal(t, want, <-read)
				require.Equal(t, want, fx.content())
				require.Empty(t, out.KeptFiles)
				require.Equal(t, []string{"target.txt"}, fx.names())
				if name == "committed" {
					require.NoError(t, err)
				} else {
					requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
				}
			})
		}
	}
}

// exclusivelyHeld reports whether no program waits to open the leased file.
func exclusivelyHeld(f *os.File) bool {
	kind, err := unix.FcntlInt(f.Fd(), unix.F_GETLEASE, 0)
	return err == nil && kind == unix.F_WRLCK
}

// TestShieldedSave checks that a program that opens the target in place between the exchange and
// its undo, and writes after that, does not lose its save.
func TestShieldedSave(t *testing.T) { // FS-60
	for _, name := range []string{"in place", "truncating"} {
		fx := newFixture(t, oldText)
		s := &watching{system: kernel{}}
		saved := make(chan error, 1)
		c := newOn(s, Options{Hook: func(step Step) error {
			switch step {
			case StepRechecked:
				return saves["rename"](fx, extText)
			case StepExchanged:
				go func() { saved <- saves[name](fx, extText+"and more\n") }()
				for exclusivelyHeld(s.shielded) {
					runtime.Gosched()
				}
			}
			return nil
		}})
		_, err := c.Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
		require.NoError(t, <-saved)
		require.Equal(t, extText+"and more\n", fx.content(), name)
	}
}

// TestNonBlockingOpen checks that an open with O_NONBLOCK does not wait for the verdict. It fails
// with EAGAIN before it, and reads the content at the path after it.
func TestNonBlockingOpen(t *testing.T) {
	for name, want := range map[string]string{"refused": extText, "committed": newText} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t, oldText)
			tried := map[Step]error{}
			c := New(Options{Hook: func(step Step) error {
				if step == StepRechecked && name == "refused" {
					return saves["rename"](fx, extText)
				}
				f, err := openNow(fx.dir, "target.txt", unix.O_RDONLY)
				tried[step] = err
				if err == nil {
					closeFile(f)
				}
				return nil
			}})
			_, err := c.Commit(t.Context(), fx.request(oldText, newText))
			require.Equal(t, name == "committed", err == nil)
			require.Contains(t, tried, StepExchanged)
			for step, err := range tried {
				if step == StepExchanged {
					require.ErrorIs(t, err, errBusy)
				} else {
					require.NoError(t, err, step)
				}
			}
			require.Equal(t, want, fx.content())
		})
	}
}

// TestNonBlockingReaders checks that next to commits, half of which are undone, opens with
// O_NONBLOCK find a complete version that was not refused, or fail with EAGAIN.
func TestNonBlockingReaders(t *testing.T) {
	const refusedText = "a text that is refused"
	fx := newFixture(t, oldText)
	var stop atomic.Bool
	var reading sync.WaitGroup
	opens, again := 0, 0
	reading.Go(func() {
		for ; !stop.Load(); opens++ {
			f, err := openAt(fx.dir, "target.txt", unix.O_RDONLY|unix.O_NONBLOCK, 0)
			if errors.Is(err, unix.EAGAIN) {
				again++
				continue
			}
			if !assert.NoError(t, err) {
				return
			}
			data, err := readAll(t.Context(), f, unlimited)
			closeFile(f)
			if !assert.NoError(t, err) || !assert.Contains(t, []string{oldText, newText, extText}, string(data)) {
				return
			}
		}
	})
	refusing := New(Options{Settle: -1, Hook: at(StepRechecked, func() error { return saves["rename"](fx, extText) })})
	c := New(Options{Settle: -1})
	for range number(50, 3000) {
		_, err := refusing.Commit(t.Context(), fx.request(fx.content(), refusedText))
		requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
		_, err = c.Commit(t.Context(), fx.request(extText, newText))
		require.NoError(t, err)
	}
	stop.Store(true)
	reading.Wait()
	require.Less(t, again, opens)
	t.Logf("%d opens, %d of them failed with EAGAIN", opens, again)
}

// failingRewind cannot write to the new file once it was exchanged.
type failingRewind struct {
	system
	exchanged bool
}

func (s *failingRewind) exchange(dir *os.File, a, b string) error {
	s.exchanged = true
	return s.system.exchange(dir, a, b)
}

func (s *failingRewind) writeAt(f *os.File, data []byte, offset int64) error {
	if s.exchanged {
		return errors.Join(s.system.writeAt(f, data[:1], offset), &os.PathError{Op: "write", Path: f.Name(), Err: unix.EIO})
	}
	return s.system.writeAt(f, data, offset)
}

// TestRewindFails checks that the refused file is removed, whatever its content.
func TestRewindFails(t *testing.T) { // FS-65
	fx := newFixture(t, oldText)
	c := newOn(&failingRewind{system: kernel{}}, Options{Hook: at(StepRechecked, func() error { return saves["rename"](fx, extText) })})
	out, err := c.Commit(t.Context(), fx.request(oldText, newText))
	requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
	require.Equal(t, extText, fx.content())
	require.Empty(t, out.KeptFiles)
	require.Equal(t, []string{"target.txt"}, fx.names())
}

// TestExecutableAtVerdict checks that from the verdict on the new file can be executed, because it
// is no longer open for writing.
func TestExecutableAtVerdict(t *testing.T) { // FS-58
	fx := newFixture(t, "")
	fx.file = filepath.Join(fx.path, "script")
	const script = "#!/bin/sh\necho "
	require.NoError(t, os.WriteFile(fx.file, []byte(script+"old\n"), 0o755))
	if err := exec.Command(fx.file).Run(); err != nil {
		t.Skip("scripts cannot be executed here:", err)
	}
	ran := 0
	c := New(Options{Hook: func(s Step) error {
		if s == StepVerified || s == StepSynced || s == StepUnlinked {
			out, err := exec.Command(fx.file).Output()
			require.NoError(t, err, "at %s", s)
			require.Equal(t, "new", strings.TrimSpace(string(out)))
			ran++
		}
		return nil
	}})
	_, err := c.Commit(t.Context(), fx.request(script+"old\n", script+"new\n"))
	require.NoError(t, err)
	require.Equal(t, 3, ran)
}
