package commit

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// create places a new file with an operation that never replaces one.
func (t *transaction) create(ctx context.Context) error {
	found, err := t.system.look(t.dir, t.Name)
	switch {
	case err == nil && found.mode.IsRegular():
		return t.nameTaken()
	case err == nil:
		return t.notRegular(found.mode)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err = t.place(nil, func(f *os.File, part string) (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if part == "" {
			err = t.system.linkUnnamed(f, t.dir, t.Name)
		} else {
			err = t.renameNew(part, t.Name)
		}
		if err == nil && f != nil {
			t.describe(f)
		}
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		return t.nameTaken()
	}
	if err != nil {
		return err
	}
	if err := t.settleCreation(ctx); err != nil {
		return err
	}
	if !replacesOpenFiles {
		t.describeResult()
	}
	return nil
}

// settleCreation makes the new file durable, or withdraws it.
func (t *transaction) settleCreation(ctx context.Context) error {
	err := t.step(StepExchanged)
	if err == nil {
		err = t.system.sync(t.dir)
	}
	if err == nil {
		err = t.step(StepSynced)
	}
	if err != nil {
		return t.withdraw(context.WithoutCancel(ctx), err)
	}
	return nil
}

// withdraw removes the new file again, unless another process has changed or replaced it. It
// returns cause, or an error that says that the new bytes stay at the path.
func (t *transaction) withdraw(ctx context.Context, cause error) error {
	temp := t.tempName()
	if err := t.renameNew(t.Name, temp); errors.Is(err, fs.ErrNotExist) {
		return cause
	} else if err != nil {
		return t.notWithdrawn(errors.Join(cause, err))
	}
	w, verdict := t.examine(ctx, temp, t.written(), t.options.LeaseWait)
	defer w.end()
	switch verdict {
	case intact:
		t.discard(temp)
		t.rescue(ctx, w)
		if found, err := t.system.look(t.dir, t.Name); err == nil && found.is(w.info) {
			return t.notWithdrawn(cause) // it was renamed by a link, and the name could not be removed
		}
	case busy:
		// These are the new bytes, but another process is about to write to them.
		w.release()
		if err := t.renameNew(temp, t.Name); err == nil {
			return t.notWithdrawn(cause)
		}
		t.keep(ctx, temp)
	case foreign:
		if err := t.renameNew(temp, t.Name); err != nil {
			t.keep(ctx, temp)
		}
	case gone:
	}
	return cause
}

// renameNew renames without replacing, and returns fs.ErrExist if the name exists. If renaming
// takes a link, an old name that cannot be removed is logged.
func (t *transaction) renameNew(from, to string) error {
	err := t.system.renameNoReplace(t.dir, from, to)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	err = t.system.link(t.dir, from, to)
	if err == nil {
		t.discard(from)
		return nil
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	switch _, err := t.system.look(t.dir, to); {
	case err == nil:
		return fs.ErrExist
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return t.system.rename(t.dir, from, to)
}
