package commit

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// listing counts the batches in which a directory is listed, and fails some.
type listing struct {
	system
	batches int
	fail    func(batch int) error
}

func (s *listing) list(dir *os.File, n int) ([]string, error) {
	s.batches++
	if err := s.fail(s.batches); err != nil {
		return nil, err
	}
	return s.system.list(dir, n)
}

// TestSweepAgain checks that a directory counts as searched only after a complete listing.
func TestSweepAgain(t *testing.T) { // FS-65
	leftover := func(t *testing.T) (*fixture, string) {
		fx := newFixture(t, oldText)
		path := filepath.Join(fx.path, ".fettle-part-0123456789abcdef")
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		return fx, path
	}
	t.Run("after a failure", func(t *testing.T) {
		fx, path := leftover(t)
		s := &listing{system: kernel{}, fail: func(batch int) error {
			if batch == 1 {
				return io.ErrUnexpectedEOF
			}
			return nil
		}}
		c, clock := timed(s)
		_, err := c.Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.FileExists(t, path)
		_, err = c.Commit(t.Context(), fx.request(newText, oldText))
		require.NoError(t, err)
		require.Equal(t, 1, s.batches, "not at once")
		clock.add(sweepRetry)
		_, err = c.Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.NoFileExists(t, path)
	})
	t.Run("after a cancellation", func(t *testing.T) {
		fx, path := leftover(t)
		ctx, cancel := context.WithCancel(t.Context())
		s := &listing{system: kernel{}, fail: func(batch int) error { cancel(); return nil }}
		c := newOn(s, Options{})
		_, err := c.Commit(ctx, fx.request(oldText, newText))
		requireCode(t, err, fault.Cancelled, "")
		require.Equal(t, 1, s.batches, "the next batch is not asked for")
		require.FileExists(t, path)
		_, err = c.Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.NoFileExists(t, path)
	})
	t.Run("of a process that is killed later", func(t *testing.T) {
		fx := newFixture(t, oldText)
		c := New(Options{})
		_, err := c.Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.True(t, runKilled(t, fx.path, t.TempDir(), string(StepTempLinked), "back"))
		require.Len(t, fx.names(), 2)
		for range 1000 { // the duration of that listing decides which one
			_, err = c.Commit(t.Context(), fx.request(newText, newText))
			require.NoError(t, err)
			if len(fx.names()) == 1 {
				return
			}
		}
		t.Errorf("%v is left", fx.names())
	})
	t.Run("as often as a listing is cheap", func(t *testing.T) {
		fx, s := newFixture(t, oldText), &listing{system: kernel{}}
		c, clock := timed(s)
		const took = 3 * time.Millisecond
		s.fail = func(int) error { clock.add(took / 2); return nil } // a second batch ends the listing
		commit := func() {
			t.Helper()
			_, err := c.Commit(t.Context(), fx.request(oldText, oldText))
			require.NoError(t, err)
		}
		commit()
		require.Equal(t, 2, s.batches)
		path := filepath.Join(fx.path, ".fettle-part-0123456789abcdef")
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		clock.add(sweepPause*took - 1)
		commit()
		require.Equal(t, 2, s.batches)
		clock.add(1)
		commit()
		require.Equal(t, 4, s.batches)
		require.NoFileExists(t, path)
	})
}

// TestReportedOnce checks that a Committer reports a leftover with another program's bytes once,
// whatever happens to it.
func TestReportedOnce(t *testing.T) { // FS-60, FS-65
	fx := newFixture(t, oldText)
	foreignName := ".fettle-" + strings.Repeat("0", 16) + "-" + strings.Repeat("1", 16) + "-0123456789abcdef"
	path := filepath.Join(fx.path, foreignName)
	require.NoError(t, os.WriteFile(path, []byte(extText), 0o600))
	held := filepath.Join(fx.path, strings.ReplaceAll(foreignName, "1", "2"))
	writer, err := os.Create(held)
	require.NoError(t, err)
	defer writer.Close()
	c, clock := timed(kernel{})
	commit := func() []string {
		t.Helper()
		clock.add(time.Hour)
		out, err := c.Commit(t.Context(), fx.request(oldText, oldText))
		require.NoError(t, err)
		return out.KeptFiles
	}
	require.ElementsMatch(t, []string{path, held}, commit())
	require.Empty(t, commit())
	require.NoError(t, os.WriteFile(path, []byte("more of that"), 0o600))
	require.NoError(t, writer.Close())
	require.Empty(t, commit())
	require.NoError(t, os.Rename(path, filepath.Join(fx.path, "mine")))
	require.Empty(t, commit())
	require.NoError(t, os.Rename(filepath.Join(fx.path, "mine"), path))
	require.Equal(t, []string{path}, commit(), "it came back")
	out, err := New(Options{}).Commit(t.Context(), fx.request(oldText, oldText))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{path, held}, out.KeptFiles, "another Committer")
}

// TestDirectoriesRemembered checks that the state kept of directories is bounded.
func TestDirectoriesRemembered(t *testing.T) {
	c, clock := timed(kernel{})
	for i := range uint64(mostDirectories + 10) {
		c.sweepingOf(dirID{ino: i}).ended = clock.now()
		clock.add(time.Second)
	}
	require.Len(t, c.swept, mostDirectories)
	require.NotContains(t, c.swept, dirID{ino: 9}, "the one listed longest ago goes")
	require.Contains(t, c.swept, dirID{ino: 10})
}

// fakeClock stands still unless it is advanced.
type fakeClock struct{ at time.Time }

func (c *fakeClock) now() time.Time { return c.at }

func (c *fakeClock) add(d time.Duration) { c.at = c.at.Add(d) }

// timed returns a Committer with a test's own clock.
func timed(s system) (*Committer, *fakeClock) {
	c, clock := newOn(s, Options{}), &fakeClock{time.Unix(1e9, 0)}
	c.now = clock.now
	return c, clock
}
