package commit

import (
	"context"
	"errors"
	"io/fs"
	"os"
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
	t := c.begin(r, dir.file)
	t.sum = func() string { return r.Base }
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
	target, err := t.checkRemovable(ctx)
	if err != nil {
		return err
	}
	closeFile(target)
	temp := t.tempName()
	w, err := t.displace(ctx, temp)
	if err == nil {
		t.dropRemoved(ctx, temp, w)
	}
	return err
}

// checkRemovable opens the target and verifies that it has the base content and is not open for
// writing. The caller closes the file.
func (t *transaction) checkRemovable(ctx context.Context) (*os.File, error) {
	found, err := t.system.look(t.dir, t.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, t.disappeared()
	case err != nil:
		return nil, err
	case !found.mode.IsRegular():
		return nil, t.notRegular(found.mode)
	}
	target, err := t.openTarget(ctx, t.system.openRead)
	if err != nil {
		return nil, err
	}
	_, err = t.verifyTarget(ctx, target)
	if err == nil {
		err = t.step(StepChecked)
	}
	if err != nil {
		closeFile(target)
		return nil, err
	}
	return target, nil
}

// displace renames the target to a temporary name and returns a watch on it, nil if it is gone. If
// it does not have the base content, or a process can write to it, it is renamed back.
func (t *transaction) displace(ctx context.Context, temp string) (*watch, error) {
	if err := t.renameNew(t.Name, temp); err != nil {
		return nil, t.swapFailure(err)
	}
	ctx = context.WithoutCancel(ctx)
	failed := t.step(StepExchanged)
	w, verdict := t.examine(ctx, temp, t.base(), noWait)
	switch {
	case verdict == gone:
		return nil, nil
	case failed == nil && verdict == busy:
		failed = t.openElsewhere()
	case failed == nil && verdict == foreign:
		failed = t.changed("was changed")
	}
	if failed != nil {
		w.end()
		if err := t.renameNew(temp, t.Name); err != nil {
			t.keep(ctx, temp)
		}
		return nil, failed
	}
	return w, nil
}

// dropRemoved removes the displaced file, which w watches; nil if it is gone.
func (t *transaction) dropRemoved(ctx context.Context, temp string, w *watch) {
	if w == nil {
		return
	}
	defer w.endWith(t.freeing.close)
	ctx = context.WithoutCancel(ctx)
	t.discard(temp)
	_ = t.step(StepUnlinked) // nothing can be undone from here
	if err := t.system.sync(t.dir); err != nil {
		t.log.Error("directory could not be flushed", "directory", t.dirPath(), "error", err)
	}
	t.rescue(ctx, w)
}
