package commit

import (
	"context"
	"errors"
	"io/fs"
	"sync"
)

// Remove removes the target if its content still has the hash r.Base, with the checks of
// [Committer.Commit]: it is renamed to a temporary name, verified, and removed; otherwise it is
// renamed back. If another process has created a file with its name meanwhile, that file stays, and
// the displaced one is kept next to it, in KeptFiles. Data is ignored, and Base is required. A file with
// several hard links loses only this name. Mode bits are ignored, as for any removal.
//
// Errors are those of Commit, with file_changed_since_read and not_a_regular_file for a target that
// is not as expected.
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
	err = t.removeTarget(ctx)
	if err != nil {
		return Outcome{KeptFiles: t.kept}, t.failure(err)
	}
	return Outcome{KeptFiles: t.kept, Method: MethodRename}, nil
}

// removeTarget removes the target by way of a temporary name.
func (t *transaction) removeTarget(ctx context.Context) error {
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

// settleRemoval removes the file with the temporary name if it has the base content and no process
// can write to it, and renames it back otherwise.
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
	_ = t.step(StepUnlinked) // nothing can be undone from here
	if err := t.system.sync(t.dir); err != nil {
		t.log.Error("directory could not be flushed", "directory", t.dirPath(), "error", err)
	}
	t.rescue(ctx, w)
	return nil
}
