package commit

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// swapped is a commit whose new bytes are at the path, and what they displaced
// under a temporary name.
type swapped struct {
	*transaction
	swap      swapFunc
	displaced string
}

// noWait: while the outcome is open our bytes are at the path, and the longer
// they stay there the likelier the next save of the same program hits them and
// its two saves part. The wait for others comes before the swap.
const noWait = 0

// swapFunc puts the file called temp at the path, and answers the name under
// which what was there is found now.
type swapFunc func(temp string) (displaced string, err error)

// settle removes what was displaced if it is the base and nobody else can
// write to it; otherwise it undoes the swap.
//
// target watches the file that was at the path just before the swap.
func (s *swapped) settle(ctx context.Context, target *watch) error {
	failed := s.step(StepExchanged)
	w, found := s.identify(ctx, target)
	defer w.end()
	if found == intact && failed == nil {
		s.unshield()
		failed = s.verified(ctx, w)
	}
	if found == intact && !w.quiet(ctx) {
		w.release()
		found = w.judge(ctx, noWait)
	}
	switch {
	case failed != nil:
		return s.undo(ctx, w, failed)
	case found == busy:
		return s.undo(ctx, w, s.openElsewhere())
	case found == foreign:
		return s.undo(ctx, w, s.changed("was changed"))
	case found == gone:
		// Somebody cleans up files that are not theirs. What was displaced
		// cannot be judged any more, and without our bytes there would be none.
		s.unshield()
		s.log.Warn("displaced file vanished before it was verified", "target", s.Path, "name", s.displaced)
		s.describeResult()
		return nil
	}
	s.discard(s.displaced)
	_ = s.step(StepUnlinked) // nothing can be undone any more
	s.rescue(ctx, w)
	s.describeResult()
	return nil
}

// identify judges what was displaced. If that is the target under its lease, a
// look is enough. It ends target unless it returns it.
func (s *swapped) identify(ctx context.Context, target *watch) (*watch, verdict) {
	w, judged := target, intact
	if found, err := s.system.look(s.dir, s.displaced); err != nil || found.ino == 0 || !found.is(w.info) {
		w.end()
		w, judged = s.examine(ctx, s.displaced, s.base(), noWait)
	} else if !w.quiet(ctx) {
		w.release()
		judged = w.judge(ctx, noWait)
	}
	if judged != intact {
		return w, judged
	}
	var err error
	if w.info, err = workspace.InfoOf(w.file); err != nil || w.info.Nlink > 1 {
		return w, foreign // a second name would not have our bytes
	}
	return w, intact
}

// verified makes the swap durable while late writers are still noticed.
func (s *swapped) verified(ctx context.Context, displaced *watch) error {
	if err := s.step(StepVerified); err != nil {
		return err
	}
	if err := s.followMode(displaced); err != nil {
		return err
	}
	if err := s.system.sync(s.dir); err != nil {
		return err
	}
	if err := s.step(StepSynced); err != nil {
		return err
	}
	return sleep(ctx, s.options.Settle)
}

// followMode repeats on the new file what somebody did to the old one's mode
// after its attributes were copied.
func (s *swapped) followMode(displaced *watch) error {
	if s.ours == nil {
		return nil
	}
	info, err := workspace.InfoOf(s.ours)
	if err != nil || info.Mode == displaced.info.Mode {
		return err
	}
	err = s.system.copyAttributes(s.ours, displaced.file)
	if asObstacle(err) != nil {
		return s.changed("was given to another owner")
	}
	return err
}

// undo gives the path back what was displaced, whose watch it releases first:
// whoever waits to write to it goes on. What it finds at the path is ours and
// is removed, or somebody else's and newer: then that stays there and what was
// displaced is kept beside it (FS-60). It returns cause, or if our bytes stay
// at the path an error that says so.
func (s *swapped) undo(ctx context.Context, displaced *watch, cause error) error {
	displaced.release()
	defer s.unshield()
	back, err := s.putBack()
	if err != nil {
		return s.notUndone(ctx, cause, err)
	}
	if back == "" {
		return cause
	}
	ours := s.written()
	if s.shielded {
		ours = s.rewind(ctx)
		s.unshield()
	}
	_ = s.step(StepUndone) // it fails already
	w, verdict := s.examine(ctx, back, ours, s.options.LeaseWait)
	defer w.end()
	switch verdict {
	case intact:
		s.discard(back)
		s.rescue(ctx, w)
	case busy:
		// Our bytes, but somebody is about to write to them.
		w.release()
		s.keep(ctx, back)
	case foreign:
		older, err := s.swap(back)
		if err != nil {
			older = back
		}
		s.keep(ctx, older)
	case gone:
	}
	return cause
}

// notUndone keeps what was displaced beside the target and says what is at the
// path: what somebody else put there (then all is as if undone), or our bytes.
func (s *swapped) notUndone(ctx context.Context, cause, undoing error) error {
	older := s.keep(ctx, s.displaced)
	ours, unknown := workspace.InfoOf(s.ours)
	found, err := s.system.look(s.dir, s.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.notPutBack("does not exist any more", older, errors.Join(cause, undoing))
	case unknown == nil && err == nil && !found.is(ours):
		return cause
	default:
		return s.notPutBack("holds the new content", older, errors.Join(cause, undoing))
	}
}

// putBack swaps what was displaced back to the path and answers the name of
// what was there, "" if there was nothing.
func (s *swapped) putBack() (back string, err error) {
	const tries = 100 // each fails only if somebody creates or deletes the path in between
	for range tries {
		back, err = s.swap(s.displaced)
		if !errors.Is(err, fs.ErrNotExist) {
			return back, err
		}
		err = s.renameNew(s.displaced, s.Name)
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return "", err
}

// describeResult fills in what the call reports about the new file. The bytes
// are in place whatever comes of it.
func (t *transaction) describeResult() {
	if t.ours == nil {
		var err error
		if t.ours, err = t.system.openRead(t.dir, t.Name); err != nil {
			t.log.Warn("new file could not be described", "target", t.Path, "error", err)
			return
		}
	}
	t.describe(t.ours)
}

func (t *transaction) describe(file *os.File) {
	var err error
	if t.info, err = workspace.InfoOf(file); err != nil {
		t.log.Warn("new file could not be described", "target", t.Path, "error", err)
	}
}
