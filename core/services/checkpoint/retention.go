package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Retention configures which sessions [Store.Cleanup] keeps.
type Retention struct {
	// Keep reports whether the checkpoints of a session are kept; updated is the time of the last
	// addition. nil: all are kept.
	Keep     func(session string, updated time.Time) bool
	MaxBytes int64 // limit of all stored bytes; beyond it the oldest sessions are removed. 0: [DefaultMaxStore]; negative: no limit
}

// gcWait is how long a session waits for a clean-up to end before it begins.
const gcWait = 30 * time.Second

// young is the age below which a clean-up keeps an object, because it may not be in a log yet.
const young = time.Hour

// Cleanup removes the logs of sessions that are not kept, and the contents that no log refers to.
// It keeps the contents of sessions in use, and while there is such a session it removes no
// contents. The contents of the last full scan are kept, so that the next one need not read all
// files. The error is of code checkpoint_failed or cancelled.
func (s *Store) Cleanup(ctx context.Context, r Retention) error {
	if _, err := os.Lstat(s.sessions()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := lock(ctx, filepath.Join(s.o.Dir, lockFile), lockWait)
	if err != nil {
		return nil //nolint:nilerr // another process cleans up
	}
	defer unlock()
	all, err := s.histories(ctx)
	if err != nil {
		return err
	}
	r.MaxBytes = cmp.Or(r.MaxBytes, DefaultMaxStore)
	var removed, inUse bool
	refs := s.treeRefs()
	for i, h := range slices.Backward(all) { // latest first
		free, err := s.tryLock(ctx, h.Session)
		if err != nil {
			if ctx.Err() != nil {
				return cancelled(ctx, "Removing old checkpoints")
			}
			inUse = true
			continue
		}
		own := s.refsOf(h)
		tooMuch := r.MaxBytes > 0 && i < len(all)-1 && s.size(refs, own) > r.MaxBytes
		if tooMuch || r.Keep != nil && !r.Keep(h.Session, h.Updated) {
			err = os.Remove(s.logPath(h.Session))
			removed = true
		} else {
			for sum := range own {
				refs[sum] = true
			}
		}
		free()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed("Old checkpoints cannot be removed", err)
		}
	}
	if inUse || !removed && s.sweptLately() {
		return nil
	}
	return s.sweep(ctx, refs)
}

// Delete removes the log of a session, if there is one. The next clean-up removes contents that are
// no longer used. The error is of code checkpoint_failed, if another process uses the session, or
// cancelled.
func (s *Store) Delete(ctx context.Context, session string) error {
	path := s.logPath(session)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	free, err := s.tryLock(ctx, session)
	if err != nil {
		return err
	}
	defer free()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed("The checkpoints of the session cannot be removed", err)
	}
	return nil
}

// treeRefs returns the contents of the last stored tree.
func (s *Store) treeRefs() map[string]bool {
	refs := map[string]bool{}
	sum, err := os.ReadFile(filepath.Join(s.o.Dir, indexFile))
	if err == nil {
		s.addTree(refs, strings.TrimSpace(string(sum)))
	}
	return refs
}

func (s *Store) addTree(refs map[string]bool, sum string) {
	data, err := s.get(sum)
	if err != nil {
		return
	}
	t, err := decodeTree(data)
	if err != nil {
		return
	}
	refs[sum] = true
	for _, e := range t {
		if e.state.SHA256 != "" {
			refs[e.state.SHA256] = true
		}
	}
}

// refsOf returns the contents that a session needs: those of its changes, and, while it has an
// unfinished entry, all earlier ones.
func (s *Store) refsOf(h *History) map[string]bool {
	refs := map[string]bool{}
	for _, e := range h.entries() {
		if e.Running && h.tree != "" {
			s.addTree(refs, h.tree)
		}
		for _, c := range e.Files {
			for _, sum := range []string{c.Before.SHA256, c.After.SHA256} {
				if sum != "" {
					refs[sum] = true
				}
			}
		}
	}
	return refs
}

// size returns the number of bytes of sets of contents.
func (s *Store) size(sets ...map[string]bool) int64 {
	met := map[string]bool{}
	var total int64
	for _, set := range sets {
		for sum := range set {
			if met[sum] || !isHash(sum) {
				continue
			}
			met[sum] = true
			if info, err := os.Lstat(s.objectPath(sum)); err == nil {
				total += info.Size()
			}
		}
	}
	return total
}

// sweptFile records when contents were removed last.
const sweptFile = "swept"

func (s *Store) sweptLately() bool {
	info, err := os.Lstat(filepath.Join(s.o.Dir, sweptFile))
	return err == nil && s.o.Now().Sub(info.ModTime()) < 24*time.Hour
}

// sweep removes unused objects.
func (s *Store) sweep(ctx context.Context, refs map[string]bool) error {
	top := filepath.Join(s.o.Dir, objectsDirectory)
	shards, err := os.ReadDir(top)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed("Old checkpoints cannot be removed", err)
	}
	for _, shard := range shards {
		if ctx.Err() != nil {
			return cancelled(ctx, "Removing old checkpoints")
		}
		dir := filepath.Join(top, shard.Name())
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // not a directory of the store, or tried again later
		}
		for _, e := range entries {
			info, err := e.Info()
			if refs[shard.Name()+e.Name()] || err != nil || s.o.Now().Sub(info.ModTime()) < young {
				continue
			}
			_ = os.Remove(filepath.Join(dir, e.Name())) // otherwise the next clean-up does
		}
	}
	return s.replace(sweptFile, nil)
}
