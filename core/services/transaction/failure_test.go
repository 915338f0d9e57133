package transaction_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
)

// A disk that is full at any step leaves all old files, or all new ones once the set has happened.
func TestFullDiskAtEachStep(t *testing.T) { // TX-02, TX-05
	undone, done := 0, 0
	for n := 1; ; n++ {
		calls, failedAt := 0, ""
		p := newProject(t, func(step string) error {
			if calls++; calls == n {
				failedAt = step
				return syscall.ENOSPC
			}
			return nil
		})
		r, err := p.Commit(t.Context(), p.set())
		require.Empty(t, r.KeptFiles, "at %s", failedAt)
		p.requireClean(t)
		if failedAt == "" {
			require.NoError(t, err)
			break
		}
		if err == nil {
			done++
			require.Equal(t, after, p.tree(t), "at %s", failedAt)
			continue
		}
		undone++
		requireCode(t, err, fault.NoSpaceLeft, "")
		require.Equal(t, before, p.tree(t), "at %s", failedAt)
	}
	t.Logf("full at %d steps: %d sets undone, %d complete", undone+done, undone, done)
	require.Greater(t, undone, 25)
	require.Positive(t, done)
}

// A journal that cannot be written refuses the set.
func TestNoJournal(t *testing.T) { // TX-02
	p := newProject(t, nil)
	require.NoError(t, os.WriteFile(p.recovery, nil, 0o600))
	_, err := p.Commit(t.Context(), p.set())
	requireCode(t, err, fault.FileWriteFailure, "")
	require.Equal(t, before, p.tree(t))
}

// Of two sets that overlap, one is committed and the other is refused as stale.
func TestOverlap(t *testing.T) { // TX-05
	for range 30 {
		p := newProject(t, nil)
		q, err := open(p.dir, filepath.Join(t.TempDir(), "recovery"), nil) // of another project directory
		require.NoError(t, err)
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i, each := range []*project{p, q} {
			wg.Go(func() {
				set := each.set()
				if i == 1 {
					set = append(set[:2:2], each.update("d/e/c.txt", "c 0\n", "c 1\n"))
				}
				_, errs[i] = each.Commit(t.Context(), set)
			})
		}
		wg.Wait()
		require.NoError(t, q.files.Close())
		loser := errors.Join(errs...)
		requireCode(t, loser, fault.FileChangedSinceRead, fault.Changed)
		want := after
		if errs[0] != nil {
			require.NoError(t, errs[1])
			want = with(before, map[string]string{"a.txt": "a 1\n", "d/b.txt": strings.Repeat("b 1\n", 1000), "d/e/c.txt": "c 1\n"})
		} else {
			require.Error(t, errs[1])
		}
		require.Equal(t, want, p.tree(t))
		p.requireClean(t)
		q.requireClean(t)
	}
}

// with returns a tree with other contents.
func with(tree, changes map[string]string) map[string]string {
	all := make(map[string]string)
	for _, m := range []map[string]string{tree, changes} {
		for name, text := range m {
			all[name] = text
		}
	}
	return all
}

// Readers see complete files during commits and undos: each is old or new.
func TestReaders(t *testing.T) { // TX-03
	p := newProject(t, nil)
	texts := []string{strings.Repeat("old\n", 5000), strings.Repeat("new\n", 5000)}
	p.write(t, "a.txt", texts[0])
	p.write(t, "d/b.txt", texts[0])
	stop := make(chan struct{})
	var wg sync.WaitGroup
	reads := 0
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, name := range []string{"a.txt", "d/b.txt"} {
				data, err := os.ReadFile(filepath.Join(p.dir, name))
				if err != nil || string(data) != texts[0] && string(data) != texts[1] {
					t.Errorf("%s has %d bytes: %v", name, len(data), err)
					return
				}
				reads++
			}
		}
	})
	for n := range 40 {
		from, to := texts[n%2], texts[(n+1)%2]
		_, err := p.Commit(t.Context(), append(p.set()[:0], p.update("a.txt", from, to), p.update("d/b.txt", from, to)))
		require.NoError(t, err)
	}
	close(stop)
	wg.Wait()
	t.Logf("%d reads", reads)
}

// A save of another program is kept, at the path or next to it, whenever it happens.
func TestSaveDuringSet(t *testing.T) { // TX-03
	for n, last := 1, 1; n <= last; n++ {
		calls, at := 0, ""
		var p *project
		p = newProject(t, func(step string) error {
			if calls++; calls == n {
				at = step
				temp := filepath.Join(p.dir, "saving")
				return errors.Join(os.WriteFile(temp, []byte("theirs\n"), 0o600), os.Rename(temp, filepath.Join(p.dir, "d/b.txt")))
			}
			return nil
		})
		r, err := p.Commit(t.Context(), p.set())
		last = max(last, calls)
		tree := p.tree(t)
		for _, kept := range r.KeptFiles {
			delete(tree, strings.TrimPrefix(kept, p.dir+"/"))
		}
		p.requireClean(t)
		require.Equal(t, "theirs\n", tree["d/b.txt"], "at %s", at)
		want := after
		if err != nil {
			requireCode(t, err, fault.FileChangedSinceRead, fault.Changed)
			want = before
		}
		require.Equal(t, with(want, map[string]string{"d/b.txt": "theirs\n"}), tree, "at %s %d: %v", at, n, r.KeptFiles)
	}
}

// A journal that is being written stays while its set holds the lock, and goes when the set has ended.
func TestPartOfLiveSet(t *testing.T) { // TX-03
	var p *project
	var part string
	p = newProject(t, func(step string) error {
		if step != "set announced" {
			return nil
		}
		part = filepath.Join(p.recovery, "0123456789abcdef.set-part")
		require.NoError(t, os.WriteFile(part, []byte("{"), 0o600))
		starting, err := open(p.dir, p.recovery, nil)
		require.NoError(t, err)
		defer starting.files.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // so that it does not wait for the lock
		_, err = starting.Recover(ctx)
		requireCode(t, err, fault.Cancelled, "")
		require.FileExists(t, part)
		return nil
	})
	_, err := p.Commit(t.Context(), p.set())
	require.NoError(t, err)
	left, err := p.Recover(t.Context())
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoFileExists(t, part)
}

// Nothing but the temporary names of a set is found by the search for leftovers of single commits.
func TestSingleCommitLeavesSets(t *testing.T) { // TX-03
	p := newProject(t, nil)
	name := filepath.Join(p.dir, ".fettle-set-0123456789abcdef-0")
	require.NoError(t, os.WriteFile(name, []byte("a 0\n"), 0o600))
	dir, err := os.Open(p.dir)
	require.NoError(t, err)
	defer dir.Close()
	_, err = commit.New(commit.Options{}).Commit(t.Context(), commit.Request{
		Dir: dir, Name: "a.txt", Path: filepath.Join(p.dir, "a.txt"), Base: hash("a 0\n"), Data: []byte("a 1\n"),
	})
	require.NoError(t, err)
	require.FileExists(t, name)
}
