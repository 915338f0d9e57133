package commit

import (
	"context"
	"errors"
	"io"
	"io/fs"

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
func (s *swapped) settle(ctx context.Context) error {
	failed := s.step(StepExchanged)
	w, found := s.examine(ctx, s.displaced, s.Base, noWait)
	defer w.end()
	if found == intact && w.info.Nlink > 1 {
		found = foreign // it got a second name, which our bytes would not have
	}
	if found == intact && failed == nil {
		failed = s.verified(ctx, w)
	}
	if found == intact && !w.quiet() {
		w.release()
		found = w.judge(ctx, noWait)
	}
	switch {
	case failed != nil:
		w.release()
		s.undo(ctx)
		return failed
	case found == busy:
		w.release()
		s.undo(ctx)
		return s.openElsewhere()
	case found == foreign:
		s.undo(ctx)
		return s.changed("was changed")
	case found == gone:
		// Somebody cleans up files that are not theirs. What was displaced
		// cannot be judged any more, and without our bytes there would be none.
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
	return s.system.copyAttributes(s.ours, displaced.file)
}

// undo gives the path back what was displaced. What it finds there is ours and
// is removed, or somebody else's and newer: then that stays at the path and
// what was displaced is kept beside it (FS-60).
func (s *swapped) undo(ctx context.Context) {
	back, found := s.putBack()
	if !found {
		return
	}
	_ = s.step(StepUndone) // it fails already
	w, verdict := s.examine(ctx, back, s.sum, s.options.LeaseWait)
	defer w.end()
	switch verdict {
	case intact:
		s.discard(back)
		s.rescue(ctx, w)
	case busy:
		// Our bytes, but somebody is about to write to them.
		w.release()
		s.keep(back)
	case foreign:
		older, err := s.swap(back)
		if err != nil {
			older = back
		}
		s.keep(older)
	case gone:
	}
}

// putBack swaps what was displaced back to the path and answers the name of
// what was there, if there was something.
func (s *swapped) putBack() (back string, found bool) {
	const tries = 100 // each fails only if somebody creates or deletes the path in between
	for range tries {
		back, err := s.swap(s.displaced)
		if err == nil {
			return back, true
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		err = s.renameNew(s.displaced, s.Name)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return "", false
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	s.keep(s.displaced)
	return "", false
}

// keep gives a file with somebody else's bytes a visible name beside the
// target, and reports it.
func (t *transaction) keep(name string) {
	visible := t.keptName()
	if err := t.renameNew(name, visible); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		t.log.Error("kept file could not be renamed", "name", name, "error", err)
		visible = name
	}
	t.reportKept(visible)
}

// rescue is the last look at a file that has lost its name: bytes that arrived
// after it was judged are written beside the target and reported (FS-59). It
// hashes even under a lease: on a shared file system the kernel here does not
// know of writers on another machine.
func (t *transaction) rescue(ctx context.Context, w *watch) {
	if w.quiet() && w.unchanged() {
		return
	}
	w.release()
	switch w.judge(ctx, t.options.LeaseWait) {
	case intact:
		return
	case busy:
		t.log.Warn("another program has the replaced version of a file open for writing", "target", t.Path)
		return
	}
	name := t.keptName()
	if err := t.copyTo(name, w); err != nil {
		t.discard(name)
		t.log.Error("late bytes of another program could not be kept", "target", t.Path, "error", err)
		return
	}
	t.reportKept(name)
}

func (t *transaction) copyTo(name string, w *watch) error {
	data, err := io.ReadAll(&fileReader{f: w.file})
	if err != nil {
		return err
	}
	f, err := t.system.createNamed(t.dir, name)
	if err != nil {
		return err
	}
	defer closeFile(f)
	if err := t.system.writeAt(f, data, 0); err != nil {
		return err
	}
	if err := t.system.copyAttributes(f, w.file); err != nil {
		return err
	}
	return t.system.sync(f)
}

// describeResult fills in what the call reports about the new file. The bytes
// are in place whatever comes of it.
func (t *transaction) describeResult() {
	var err error
	if t.ours == nil {
		t.ours, err = t.system.openRead(t.dir, t.Name)
	}
	if err == nil {
		t.info, err = workspace.InfoOf(t.ours)
	}
	if err != nil {
		t.log.Warn("new file could not be described", "target", t.Path, "error", err)
	}
}
