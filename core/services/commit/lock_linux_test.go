package commit

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

func TestLockExcludes(t *testing.T) { // FS-66
	fx := newFixture(t, oldText)
	first, second := New(Options{}), New(Options{})
	unlock, err := first.Lock(t.Context(), fx.dir)
	require.NoError(t, err)
	for name, c := range map[string]*Committer{"same Committer": first, "another": second} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		_, err = c.Lock(ctx, fx.dir)
		cancel()
		requireCode(t, err, fault.Cancelled, "")
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		_, err = c.Commit(ctx, fx.request(oldText, newText))
		requireCode(t, err, fault.Cancelled, "")
		require.Equal(t, oldText, fx.content(), name)
	}
	unlock()
	for _, c := range []*Committer{first, second} {
		unlock, err := c.Lock(t.Context(), fx.dir)
		require.NoError(t, err)
		unlock()
	}
	require.Empty(t, first.queues.byDir)
	require.Empty(t, second.queues.byDir)
}

// TestLockOfAnotherProcess checks that a lock ends with the process that held it.
func TestLockOfAnotherProcess(t *testing.T) { // FS-66
	fx := newFixture(t, oldText)
	holder := startRole(t, "locker", fx.path)
	holder.waitFor("locked")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	_, err := New(Options{}).Lock(ctx, fx.dir)
	requireCode(t, err, fault.Cancelled, "")
	holder.kill()
	unlock, err := New(Options{}).Lock(t.Context(), fx.dir)
	require.NoError(t, err)
	unlock()
}

func holdLock(args []string) error {
	dir, err := os.Open(args[1])
	if err != nil {
		return err
	}
	if _, err := New(Options{}).Lock(context.Background(), dir); err != nil {
		return err
	}
	os.Stdout.WriteString("locked\n")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// TestOneOfTwo checks that of several changes based on one version exactly one succeeds.
func TestOneOfTwo(t *testing.T) { // FS-66
	for name, committer := range map[string]func() *Committer{
		"one Committer": func() func() *Committer { c := New(Options{}); return func() *Committer { return c } }(),
		"many":          func() *Committer { return New(Options{}) },
		"without flock": func() func() *Committer {
			c := newOn(noLocks{kernel{}}, Options{})
			return func() *Committer { return c }
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t, oldText)
			const callers = 16
			var wg sync.WaitGroup
			errs := make([]error, callers)
			for i := range callers {
				wg.Go(func() {
					_, errs[i] = committer().Commit(t.Context(), fx.request(oldText, newText+strconv.Itoa(i)))
				})
			}
			wg.Wait()
			winner := -1
			for i, err := range errs {
				if err == nil {
					require.Equal(t, -1, winner)
					winner = i
					continue
				}
				requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
			}
			require.Equal(t, newText+strconv.Itoa(winner), fx.content())
			require.Equal(t, []string{"target.txt"}, fx.names())
		})
	}
}

// TestLockWithoutFlock checks that calls through one Committer exclude each other even on file
// systems without locks.
func TestLockWithoutFlock(t *testing.T) { // FS-66
	fx := newFixture(t, oldText)
	c := newOn(noLocks{kernel{}}, Options{})
	unlock, err := c.Lock(t.Context(), fx.dir)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	_, err = c.Lock(ctx, fx.dir)
	requireCode(t, err, fault.Cancelled, "")
	unlock()
	unlock, err = c.Lock(t.Context(), fx.dir)
	require.NoError(t, err)
	unlock()
}

// TestUnlockWithCopies checks that the lock does not wait for a child process that briefly has a
// copy of the descriptor.
func TestUnlockWithCopies(t *testing.T) { // FS-66
	fx := newFixture(t, oldText)
	directory, unlock, err := New(Options{}).lock(t.Context(), fx.dir)
	require.NoError(t, err)
	copied, err := unix.Dup(int(directory.file.Fd()))
	require.NoError(t, err)
	defer unix.Close(copied)
	unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	unlock, err = New(Options{}).Lock(ctx, fx.dir)
	require.NoError(t, err)
	unlock()
}

type noLocks struct{ system }

func (noLocks) tryLock(*os.File) error { return unsupported(os.ErrInvalid) }

// TestDirectoriesDoNotWait checks that commits into different directories run concurrently.
func TestDirectoriesDoNotWait(t *testing.T) { // FS-66
	a, b := newFixture(t, oldText), newFixture(t, oldText)
	c := New(Options{})
	unlock, err := c.Lock(t.Context(), a.dir)
	require.NoError(t, err)
	defer unlock()
	_, err = c.Commit(t.Context(), b.request(oldText, newText))
	require.NoError(t, err)
}

// TestNothingLeftOpen checks that neither success nor failure leaks a descriptor.
func TestNothingLeftOpen(t *testing.T) {
	fx := newFixture(t, oldText)
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(entries)
	}
	run := func() {
		recovery := t.TempDir()
		for _, step := range []Step{"", StepChecked, StepTempWritten, StepTempLinked, StepExchanged, StepSynced} {
			c := New(Options{RecoveryDir: recovery, Hook: at(step, func() error { return errHook })})
			_, _ = c.Commit(t.Context(), fx.request(fx.content(), newText+string(step)))
			_, _ = c.Commit(t.Context(), fx.request("other", newText))
			second := *fx
			second.file = filepath.Join(fx.path, "new")
			_, _ = c.Commit(t.Context(), second.request("", newText))
			require.NoError(t, os.Link(fx.file, fx.file+"2"))
			_, _ = c.Commit(t.Context(), fx.request(fx.content(), newText+string(step)+"2"))
			require.NoError(t, os.Remove(fx.file+"2"))
			os.Remove(second.file)
			_, _ = c.Recover(t.Context())
		}
	}
	run()
	before := open()
	run()
	require.Equal(t, before, open())
}
