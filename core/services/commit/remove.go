package commit

import (
	"context"
	"errors"
	"io/fs"
	"sync"
)

// Remove takes the target away if it still has the content that r.Base names,
// with the checks of [Committer.Commit]: it gets a temporary name, is verified
// under it, and goes; otherwise it gets its own name back. Somebody else's file
// that has taken that name meanwhile stays there, and what was displaced is kept
// beside it, in Kept. Data is not used, and Base is required. A file with
// several hard links loses this name alone. Mode bits do not matter, as for any
// removal.
//
// Errors are those of Commit, with file_changed_since_read and
// not_a_regular_file for what is not the target.
func (c *Committer) Remove(ctx context.Context, r Request) (Outcome, error) {
	if err := checkRequest(r); err != nil {
		return Outcome{}, err
	}
	dir, unlock, err := c.lock(ctx, r.Dir)
	if err != nil {
		return Outcome{}, lockFailure(r.Path, err)
	}
	defer unlock()
	t := &transaction{Committer: c, Request: r, dir: dir.file, sum: sync.OnceValue(func() string { return r.Base })}
	defer t.closeFiles()
	if dir.exclusive {
		t.sweep(ctx, dir.id)
	}
	err = t.takeAway(ctx)
	if err != nil {
		return Outcome{Kept: t.kept}, t.failure(err)
	}
	return Outcome{Kept: t.kept, Method: MethodRename}, nil
}

// takeAway removes the target by way of a temporary name.
func (t *transaction) takeAway(ctx context.Context) error {
	found, err := t.system.look(t.dir, t.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t.disappeared()
	case err != nil:
		return err
	case !found.mode.IsRegular():
		return t.notRegular(found.mode)
	}
	target, err := t.openTarget(ctx, t.system.openRead)
	if err != nil {
		return err
	}
	_, err = t.verifyTarget(ctx, target)
	closeFile(target)
	if err == nil {
		err = t.step(StepChecked)
	}
	if err != nil {
		return err
	}
	temp := t.tempName()
	if err := t.renameNew(t.Name, temp); err != nil {
		return t.swapFailure(err)
	}
	return t.settleRemoval(context.WithoutCancel(ctx), temp)
}

// settleRemoval removes what has the temporary name if it is the base and nobody
// can write to it, and gives it its own name back otherwise.
func (t *transaction) settleRemoval(ctx context.Context, temp string) error {
	failed := t.step(StepExchanged)
	w, verdict := t.examine(ctx, temp, t.base(), noWait)
	defer w.end()
	switch {
	case verdict == gone:
		return nil
	case failed == nil && verdict == busy:
		failed = t.openElsewhere()
	case failed == nil && verdict == foreign:
		failed = t.changed("was changed")
	}
	if failed != nil {
		w.release()
		if err := t.renameNew(temp, t.Name); err != nil {
			t.keep(ctx, temp)
		}
		return failed
	}
	t.discard(temp)
	_ = t.step(StepUnlinked) // nothing can be undone any more
	if err := t.system.sync(t.dir); err != nil {
		t.log.Error("directory could not be flushed", "folder", t.folderPath(), "error", err)
	}
	t.rescue(ctx, w)
	return nil
}
