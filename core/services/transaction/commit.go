package transaction

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/services/commit"
)

// set is a set in progress.
type set struct {
	*Service
	*plan
	journal *journal
	locks   *commit.Locks
	kept    []string
	unmake  func() // removes the created directories
}

func (s *Service) commit(ctx context.Context, p *plan) (Result, error) {
	if s.dir == "" {
		return Result{Failed: -1}, fault.New(fault.FileWriteFailure, op, "Several files cannot be changed together, because no recovery directory is configured; nothing was written.",
			"Change the files one by one, or configure a recovery directory.")
	}
	unlock, err := s.lockNew(ctx)
	if err != nil {
		return Result{Failed: -1}, s.failure(ctx, "Preparing the recovery directory "+s.dir, err)
	}
	defer unlock()
	id := newID()
	j, err := s.announce(id, p.record(id))
	if err != nil {
		return Result{Failed: -1}, s.failure(ctx, "Writing a journal in "+s.dir, err)
	}
	t := &set{Service: s, plan: p, journal: j, unmake: func() {}}
	failed, err := t.run(ctx)
	if t.locks != nil {
		defer t.locks.Unlock()
	}
	if err != nil {
		err = s.failure(ctx, "Committing a set of changes", err)
		if undoing := t.undo(ctx); undoing != nil {
			err = undoing
		}
		return Result{Failed: failed, KeptFiles: t.kept}, err
	}
	return t.finish(ctx), nil
}

func (s *Service) lockNew(ctx context.Context) (func(), error) {
	if err := os.MkdirAll(s.dir, lockedfile.DirMode); err != nil {
		return nil, err
	}
	unlock, _, err := s.lock(ctx)
	return unlock, err
}

func (s *Service) failure(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) && fault.As(err) == nil {
		return fault.WasCancelled("transaction.Commit", err)
	}
	return whole(what, err)
}

// record returns the content of the journal.
func (p *plan) record(id string) record {
	r := record{Version: version, Made: p.made}
	for i, c := range p.changes {
		e := entry{Path: c.path.String(), Dir: c.dir, Name: c.name, Temp: tempName(id, i), Old: c.base, NewSize: -1, Layer: c.layer}
		switch {
		case c.remove:
		case c.data == nil && c.from != nil:
			e.New = c.from.base
		default:
			sum := sha256.Sum256(c.data)
			e.New, e.NewSize = hex.EncodeToString(sum[:]), int64(len(c.data))
		}
		r.Files = append(r.Files, e)
	}
	return r
}

// run makes the changes up to the moment at which the set has happened. It returns the index of the
// operation that failed, -1 for none.
func (t *set) run(ctx context.Context) (failed int, err error) {
	if err := t.step(StepAnnounced); err != nil {
		return -1, err
	}
	unmake, failed, err := t.open(t.plan)
	if err != nil {
		return failed, err
	}
	t.unmake = unmake
	if t.locks, err = t.committer.LockAll(ctx, t.dirs()); err != nil {
		return -1, err
	}
	if err := t.step(StepLocked); err != nil {
		return -1, err
	}
	for i, c := range t.changes {
		r := commit.SetRequest{
			Request: commit.Request{Dir: c.at.Dir, Name: c.name, Layer: c.at.Layer, Path: c.path.String(), Data: c.data, Base: c.base},
			Remove:  c.remove, Temp: tempName(t.journal.id, i),
		}
		if c.from != nil {
			r.From = c.from.staged
		}
		if c.staged, err = t.locks.Stage(ctx, r); err != nil {
			return c.operation, err
		}
	}
	if err := t.locks.Flush(); err != nil {
		return -1, err
	}
	if err := t.step(StepStaged); err != nil {
		return -1, err
	}
	if err := t.journal.mark(exchanging); err != nil {
		return -1, err
	}
	if err := t.step(StepJournaled); err != nil {
		return -1, err
	}
	return t.exchange(ctx)
}

func (t *set) exchange(ctx context.Context) (failed int, err error) {
	for _, c := range t.order() {
		if err := c.staged.Exchange(ctx); err != nil {
			return c.operation, err
		}
	}
	for _, c := range t.changes {
		if err := c.staged.Confirm(ctx); err != nil {
			return c.operation, err
		}
	}
	if err := t.step(StepExchanged); err != nil {
		return -1, err
	}
	if err := t.journal.mark(complete); err != nil && t.journal.state != complete {
		return -1, err
	} else if err != nil {
		t.log.Error("journal could not be flushed", "path", t.journal.path(), "error", err)
	}
	_ = t.step(StepCommitted) // nothing can be undone from here
	return -1, nil
}

// order returns the changes with removals last, so that a moved file always has a name.
func (t *set) order() []*change {
	changes := slices.Clone(t.changes)
	slices.SortStableFunc(changes, func(a, b *change) int {
		switch {
		case a.remove == b.remove:
			return 0
		case a.remove:
			return 1
		}
		return -1
	})
	return changes
}

// finish removes the displaced files and the journal.
func (t *set) finish(ctx context.Context) Result {
	r := Result{Files: make([]commit.Outcome, t.operations), Failed: -1}
	for _, c := range t.changes {
		out := c.staged.Finish(ctx)
		r.KeptFiles = append(r.KeptFiles, out.KeptFiles...)
		r.Files[c.operation] = out // the new file of a move comes after the removal
	}
	_ = t.step(StepFinished)
	if err := t.locks.Flush(); err != nil {
		t.log.Error("directories could not be flushed", "error", err)
	}
	if err := t.journal.remove(); err != nil {
		t.log.Error("journal could not be removed", "path", t.journal.path(), "error", err)
	}
	_ = t.step(StepClosed)
	return r
}

// undo restores all targets, in reverse order. After an error the journal stays, so that a recovery
// tries again.
func (t *set) undo(ctx context.Context) error {
	var failure error
	for _, c := range slices.Backward(t.order()) {
		if c.staged == nil {
			continue
		}
		out, err := c.staged.Undo(ctx)
		t.kept = append(t.kept, out.KeptFiles...)
		if err != nil {
			t.log.Error("a change of a set could not be undone", "path", c.path.String(), "error", err)
			failure = err
		}
	}
	t.unmake()
	_ = t.step(StepUndone) // it fails already
	if failure != nil {
		return failure
	}
	if err := t.journal.remove(); err != nil {
		t.log.Error("journal could not be removed", "path", t.journal.path(), "error", err)
	}
	_ = t.step(StepClosed)
	return nil
}
