package commit

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// create places a new file with an operation that never replaces (FS-62).
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
			t.info, err = workspace.InfoOf(f)
		}
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		return t.nameTaken()
	}
	if err != nil {
		return err
	}
	err = t.step(StepExchanged)
	if err == nil {
		err = t.system.sync(t.dir)
	}
	if err == nil {
		err = t.step(StepSynced)
	}
	if err != nil {
		t.withdraw(context.WithoutCancel(ctx))
		return err
	}
	if !replacesOpenFiles {
		t.describeResult()
	}
	return nil
}

// withdraw takes a new file of ours away again, unless somebody has changed
// or replaced it by now.
func (t *transaction) withdraw(ctx context.Context) {
	temp := t.tempName()
	if err := t.renameNew(t.Name, temp); err != nil {
		t.log.Error("new file could not be withdrawn", "target", t.Path, "error", err)
		return
	}
	w, found := t.examine(ctx, temp, t.sum, t.options.LeaseWait)
	defer w.end()
	switch found {
	case intact:
		t.discard(temp)
		t.rescue(ctx, w)
	case busy, foreign:
		w.release()
		if err := t.renameNew(temp, t.Name); err != nil {
			t.keep(temp)
		}
	case gone:
	}
}

// renameNew renames without replacing: fs.ErrExist if the name is taken.
func (t *transaction) renameNew(from, to string) error {
	err := t.system.renameNoReplace(t.dir, from, to)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	err = t.system.link(t.dir, from, to)
	if err == nil {
		return t.system.remove(t.dir, from)
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
