package commit

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// check opens the target and verifies that it may be written, has the base content, and is not open
// for writing. The caller closes the file.
func (t *transaction) check(ctx context.Context) (*os.File, workspace.Info, error) {
	var none workspace.Info
	found, err := t.system.look(t.dir, t.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, none, t.disappeared()
	}
	if err != nil {
		return nil, none, err
	}
	if !found.mode.IsRegular() {
		return nil, none, t.notRegular(found.mode)
	}
	if err := t.system.mayWrite(t.dir, t.Name); err != nil {
		return nil, none, err
	}
	file, err := t.openTarget(ctx, t.system.openRead)
	if err != nil {
		return nil, none, err
	}
	info, err := t.verifyTarget(ctx, file)
	if err != nil {
		closeFile(file)
		return nil, none, err
	}
	return file, info, nil
}

// openTarget opens the target, waiting for a lease of another process to end.
func (t *transaction) openTarget(ctx context.Context, open func(*os.File, string) (*os.File, error)) (*os.File, error) {
	var file *os.File
	err := retryBusy(ctx, t.options.LeaseWait, func() (err error) {
		file, err = open(t.dir, t.Name)
		return err
	})
	switch {
	case err == nil:
		return file, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, t.disappeared()
	case errors.Is(err, errBusy):
		return nil, t.openElsewhere()
	}
	if found, looking := t.system.look(t.dir, t.Name); looking == nil && !found.mode.IsRegular() {
		return nil, t.notRegular(found.mode)
	}
	return nil, err
}

// verifyTarget verifies the open target.
func (t *transaction) verifyTarget(ctx context.Context, file *os.File) (workspace.Info, error) {
	info, err := workspace.InfoOf(file)
	if err != nil {
		return info, err
	}
	if !info.Mode.IsRegular() {
		return info, t.notRegular(info.Mode)
	}
	w := &watch{system: t.system, file: file, want: t.base()}
	defer w.release()
	if err := w.takeLease(ctx, t.options.LeaseWait); isCancelled(err) {
		return info, err
	} else if err != nil {
		return info, t.openElsewhere()
	}
	if t.byStat = info == t.BaseInfo; t.byStat {
		return info, nil
	}
	return info, t.verifyBytes(ctx, file)
}

// verifyBytes verifies that the file has the base content.
func (t *transaction) verifyBytes(ctx context.Context, file *os.File) error {
	same, err := t.base().in(ctx, file)
	if err == nil && !same {
		return t.changed("was changed")
	}
	return err
}

// writeTemp creates the new file next to the target, complete and flushed, under a temporary name.
func (t *transaction) writeTemp(ctx context.Context, target *os.File) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	var temp string
	err := t.place(target, func(f *os.File, part string) error {
		temp = t.tempName()
		if part == "" {
			return placing(t.system.linkUnnamed(f, t.dir, temp))
		}
		return placing(t.system.rename(t.dir, part, temp))
	})
	if err != nil {
		return "", err
	}
	if replacesOpenFiles {
		err = t.openOurs(temp)
	}
	if err == nil {
		err = t.step(StepTempLinked)
	}
	if err != nil {
		t.discard(temp)
		return "", err
	}
	return temp, nil
}

// replace replaces the target with the temporary file by the best available method.
func (t *transaction) replace(ctx context.Context, temp string) (Method, error) {
	w, err := t.recheck(ctx)
	if err == nil {
		err = t.step(StepRechecked)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		w.end()
		t.discard(temp)
		return "", err
	}
	for _, way := range []struct {
		method Method
		swap   swapFunc
	}{
		{MethodExchange, t.swapByExchange},
		{MethodLink, t.swapByLink},
	} {
		displaced, err := way.swap(temp)
		if errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		if err != nil {
			w.end()
			t.discard(temp)
			return "", placing(t.swapFailure(err))
		}
		s := &swapped{transaction: t, swap: way.swap, displaced: displaced}
		return way.method, s.settle(context.WithoutCancel(ctx), w)
	}
	return MethodRename, t.renameOver(ctx, temp, w)
}

// recheck checks the target again: flushing the new bytes took time, and a save in between makes
// the change stale. It waits for another program to close the file as check does. The returned
// watch holds a lease on the target if possible, until after the swap.
func (t *transaction) recheck(ctx context.Context) (*watch, error) {
	found, err := t.system.look(t.dir, t.Name)
	if err != nil {
		return nil, t.swapFailure(err)
	}
	if !found.mode.IsRegular() {
		return nil, t.changed("was replaced by " + describe(found.mode))
	}
	if !found.is(t.checked) {
		closeFile(t.target)
		if t.target, err = t.openTarget(ctx, t.system.openRead); err != nil {
			return nil, err
		}
	}
	w := &watch{system: t.system, file: t.target, want: t.base()}
	t.target = nil
	if err := t.confirm(ctx, w); err != nil {
		w.end()
		return nil, err
	}
	return w, nil
}

// confirm verifies that w's file is the one at the path and has the base content, and that the new
// file has its attributes. Under a lease the file is read here, so that it does not delay the
// verdict while the new bytes are at the path. Without one the later reading decides, and here only
// the file's times are compared, if its bytes were read before.
func (t *transaction) confirm(ctx context.Context, w *watch) error {
	if err := w.takeLease(ctx, t.options.LeaseWait); isCancelled(err) {
		return err
	} else if err != nil {
		return t.openElsewhere()
	}
	var err error
	if w.info, err = workspace.InfoOf(w.file); err != nil {
		return err
	}
	if !w.info.Mode.IsRegular() {
		return t.changed("was replaced by " + describe(w.info.Mode))
	}
	if w.info.Nlink > 1 {
		return t.changed("was given another name")
	}
	touched := w.info != t.checked
	if w.leased || touched || t.byStat {
		if err := t.verifyBytes(ctx, w.file); err != nil {
			return err
		}
	}
	if touched && t.ours != nil {
		err := t.system.copyAttributes(t.ours, w.file)
		if err == nil {
			err = t.system.sync(t.ours)
		}
		if err != nil {
			return err
		}
	}
	t.shield()
	return t.stillThere(w)
}

// stillThere verifies that w's file is the one at the path, and that no program has opened it for
// writing since it was leased.
func (t *transaction) stillThere(w *watch) error {
	found, err := t.system.look(t.dir, t.Name)
	switch {
	case err != nil:
		return t.swapFailure(err)
	case !found.is(w.info):
		return t.changed("was replaced")
	case w.leased && !t.system.leaseHeld(w.file):
		return t.openElsewhere()
	}
	return nil
}

func (t *transaction) swapFailure(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return t.disappeared()
	}
	return err
}

func (t *transaction) swapByExchange(temp string) (string, error) {
	return temp, t.system.exchange(t.dir, temp, t.Name)
}

// swapByLink gives the target a second name and renames temp over it.
func (t *transaction) swapByLink(temp string) (string, error) {
	if found, err := t.system.look(t.dir, t.Name); err != nil {
		return "", err
	} else if !found.mode.IsRegular() {
		return "", t.changed("was replaced by " + describe(found.mode))
	}
	second := t.secondName()
	if err := t.system.link(t.dir, t.Name, second); err != nil {
		return "", err
	}
	if err := t.system.rename(t.dir, temp, t.Name); err != nil {
		t.discard(second)
		return "", err
	}
	return second, nil
}

// renameOver is the last resort: a rename immediately after a last check.
func (t *transaction) renameOver(ctx context.Context, temp string, w *watch) error {
	t.unshield()
	w, refusal := t.lastCheck(ctx, w)
	defer w.end()
	if refusal != nil {
		t.discard(temp)
		return refusal
	}
	if !replacesOpenFiles {
		w.end()
	}
	if err := t.system.rename(t.dir, temp, t.Name); err != nil {
		t.discard(temp)
		return placing(err)
	}
	_ = t.step(StepExchanged) // nothing can be undone from here
	if err := t.system.sync(t.dir); err != nil {
		t.log.Error("directory could not be flushed", "directory", t.dirPath(), "error", err)
	}
	_ = t.step(StepSynced)
	if replacesOpenFiles {
		t.rescue(ctx, w)
	}
	t.describeResult()
	return nil
}

// lastCheck verifies that the target is the file that w watches, unchanged. If files have no
// identity it opens the target again, and returns a new watch.
func (t *transaction) lastCheck(ctx context.Context, w *watch) (*watch, error) {
	if w.info.Identified() {
		if err := t.stillThere(w); err != nil {
			return w, err
		}
		if !w.quiet(ctx) {
			return w, t.changed("was changed")
		}
		return w, ctx.Err()
	}
	w.end()
	w, found := t.examine(ctx, t.Name, t.base(), noWait)
	switch found {
	case gone:
		return w, t.disappeared()
	case busy:
		return w, t.openElsewhere()
	case foreign:
		return w, t.changed("was changed")
	}
	return w, ctx.Err()
}
