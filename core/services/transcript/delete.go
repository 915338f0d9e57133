package transcript

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Delete removes a session with its files and the sessions of its subagents. If one of them is
// being recorded, in this process or another, Delete fails and removes nothing. The error has code
// session_not_found, session_unreadable or cancelled.
func (s *Store) Delete(ctx context.Context, id string) error {
	path, err := s.locate(ctx, id)
	if err != nil {
		return err
	}
	all, _, err := s.all(ctx)
	if err != nil {
		return err
	}
	targets := []target{{id, path}}
	for _, sum := range descendants(all, id) {
		targets = append(targets, target{sum.ID, sum.Path})
	}
	return s.remove(ctx, targets)
}

// descendants returns the sessions of a session's subagents, recursively.
func descendants(all []Summary, id string) []Summary {
	var found []Summary
	for parents := []string{id}; len(parents) > 0; {
		var next []string
		for _, sum := range all {
			isNew := sum.ID != id && !slices.ContainsFunc(found, func(f Summary) bool { return f.ID == sum.ID })
			if isNew && sum.Kind == KindSubagent && slices.Contains(parents, sum.Parent) {
				found, next = append(found, sum), append(next, sum.ID)
			}
		}
		parents = next
	}
	return found
}

// target is a session to remove.
type target struct{ id, path string }

// remove removes all targets, or none if one of them is in use.
func (s *Store) remove(ctx context.Context, targets []target) error {
	var open []*os.File
	defer func() {
		for _, f := range open {
			_ = closeLocked(f) // nothing was written
		}
	}()
	for _, t := range targets {
		if ctx.Err() != nil {
			return cancelled(ctx, "Deleting the session "+targets[0].id)
		}
		f, err := s.openAny(t.path)
		if err != nil {
			return readError(t.path, err)
		}
		open = append(open, f)
		if err := lockFile(f, t.id); err != nil {
			return err
		}
	}
	if !canRemoveOpen {
		for _, f := range open {
			_ = closeLocked(f) // nothing was written
		}
		open = nil
	}
	for _, t := range slices.Backward(targets) { // the session itself last, so that a later attempt finds the remainder
		var errs []error
		if CheckID(t.id) == nil {
			errs = append(errs, os.RemoveAll(filepath.Join(s.o.Dir, sidePrefix+t.id)))
		}
		errs = append(errs, os.Remove(t.path))
		if err := errors.Join(errs...); err != nil {
			return fault.Wrap(fault.SessionUnreadable, "transcript.delete", "The recording "+filepath.Base(t.path)+" cannot be removed: "+cause(err)+".",
				"Make sure that you have write permission for "+s.o.Dir+".", err)
		}
	}
	return nil
}

// openAny opens a regular file of any size, to lock it.
func (s *Store) openAny(path string) (*os.File, error) {
	unbounded := *s
	unbounded.o.MaxBytes = 1<<63 - 1
	return unbounded.open(path, os.O_RDWR)
}

// Retention is the policy of [Store.Cleanup].
type Retention struct {
	MaxAge   time.Duration // time since the last recorded line; 0: unlimited
	MaxCount int           // number of sessions to keep, without those of subagents; 0: unlimited
	MinAge   time.Duration // sessions below this age are kept; at least one hour
}

// minCleanupAge is the minimum age for removal, because a recent session may have just begun.
const minCleanupAge = time.Hour

// Cleanup removes sessions above the limits of r, the oldest first. It also removes recordings with
// a damaged beginning and sessions without a prompt. It keeps sessions that are being recorded and
// files that cannot be removed. It returns the removed files. The error has code session_unreadable
// or cancelled.
func (s *Store) Cleanup(ctx context.Context, r Retention) ([]string, error) {
	all, problems, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	now := s.o.Now()
	young := func(path string) bool {
		info, err := os.Lstat(path)
		return err != nil || now.Sub(info.ModTime()) < max(r.MinAge, minCleanupAge)
	}
	var removed []string
	remove := func(targets []target) {
		if slices.ContainsFunc(targets, func(t target) bool { return young(t.path) }) || s.remove(ctx, targets) != nil {
			return
		}
		for _, t := range targets {
			removed = append(removed, t.path)
		}
	}
	for _, p := range problems {
		if p.Kind == kindDamaged {
			remove([]target{{"", p.Path}})
		}
	}
	kept := 0
	byUse := slices.SortedFunc(slices.Values(all), func(a, b Summary) int { return b.Updated.Compare(a.Updated) })
	for _, sum := range byUse {
		if ctx.Err() != nil {
			return removed, cancelled(ctx, "Removing old sessions")
		}
		if sum.Kind == KindSubagent && slices.ContainsFunc(all, func(p Summary) bool { return p.ID == sum.Parent }) {
			continue // removed with its parent
		}
		if sum.Index > 0 {
			kept++
		}
		old := r.MaxAge > 0 && now.Sub(sum.Updated) > r.MaxAge
		if !old && (r.MaxCount <= 0 || kept <= r.MaxCount) && (sum.Turns > 0 || sum.conversation) {
			continue
		}
		targets := []target{{sum.ID, sum.Path}}
		for _, d := range descendants(all, sum.ID) {
			targets = append(targets, target{d.ID, d.Path})
		}
		remove(targets)
	}
	return removed, nil
}
