package commit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// readersWait is the time that an in-place rewrite waits for programs that read the file, so that
// none of them sees a mixture.
const readersWait = 10 * time.Millisecond

// rewrite writes the new bytes into the target itself, for the reason why. All names of the file
// change together; mounts, owners and the entries of an unwritable directory are not affected.
func (t *transaction) rewrite(ctx context.Context, why *obstacle) error {
	if t.options.RecoveryDir == "" {
		return t.noRecovery(why)
	}
	file, err := t.openTarget(ctx, t.system.openWrite)
	if err != nil {
		return err
	}
	defer closeFile(file)
	info, err := workspace.InfoOf(file)
	if err != nil {
		return err
	}
	if info.Dev != t.checked.Dev || info.Ino != t.checked.Ino {
		return t.changed("was replaced")
	}
	// The directory's lock does not cover the file's names in other directories.
	if err := t.lockFile(ctx, file); err != nil {
		return err
	}
	old, err := readAll(ctx, file, t.base().size)
	if err != nil && !errors.Is(err, errTooLong) {
		return err
	}
	if err != nil || sumOf(old) != t.Base {
		return t.changed("was changed")
	}
	saved, err := t.saveRecord(record{
		Dir: t.dirPath(), Name: t.Name, Dev: info.Dev, Ino: info.Ino,
		Base: t.Base, New: t.sum(), old: old, new: t.Data,
	})
	if err != nil {
		return t.noRecord(err)
	}
	torn, err := t.rewriteSaved(ctx, file, info, old)
	if torn {
		return t.torn(saved, err)
	}
	if removing := os.Remove(saved); removing != nil {
		t.log.Error("recovery file could not be removed", "path", saved, "error", removing)
	}
	if err != nil {
		return err
	}
	t.info, err = workspace.InfoOf(file)
	return err
}

func (t *transaction) lockFile(ctx context.Context, file *os.File) error {
	err := retryBusy(ctx, t.options.LeaseWait, func() error { return t.system.tryLock(file) })
	switch {
	case errors.Is(err, errBusy):
		return t.openElsewhere()
	case errors.Is(err, errors.ErrUnsupported):
		return nil
	}
	return err
}

// rewriteSaved writes while the recovery file holds both versions. torn reports that the file holds
// neither version.
func (t *transaction) rewriteSaved(ctx context.Context, file *os.File, info workspace.Info, old []byte) (torn bool, err error) {
	if err := t.step(StepRecoverySaved); err != nil {
		return false, err
	}
	err = retryBusy(ctx, readersWait, func() error { return t.system.lease(file, true) })
	if isCancelled(err) {
		return false, err
	}
	if err == nil { // until the lease ends, no other process can open the file
		defer t.system.endLease(file)
	}
	if err := t.verifyBytes(ctx, file); err != nil {
		return false, err
	}
	if found, err := t.system.look(t.dir, t.Name); err != nil || !found.is(info) {
		return false, t.changed("was replaced")
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	err = t.overwrite(file, t.Data)
	if err == nil {
		err = t.step(StepInPlaceWritten)
	}
	if err == nil {
		var sum string
		sum, err = hashOf(context.WithoutCancel(ctx), file, int64(len(t.Data)))
		if errors.Is(err, errTooLong) || err == nil && sum != t.sum() {
			return true, errMixed
		}
	}
	if err == nil {
		err = t.system.sync(file)
	}
	if err == nil {
		err = t.step(StepSynced)
	}
	if err == nil {
		return false, nil
	}
	if restoring := t.restore(context.WithoutCancel(ctx), file, old); restoring != nil {
		return true, errors.Join(err, restoring)
	}
	return false, err
}

// errMixed is returned if another process could write to the file too, and did.
var errMixed = errors.New("another program wrote to the file while it was rewritten")

// torn reports a file that holds neither version, and leaves the recovery file, which counts as
// kept.
func (t *transaction) torn(record string, cause error) error {
	t.kept = append(t.kept, record)
	failed := fault.As(t.failure(cause))
	code, reason := failed.Code, failed.Reason
	if errors.Is(cause, errMixed) {
		code, reason = fault.FileChangedSinceRead, fault.Changed
	}
	return fault.Wrap(code, op,
		fmt.Sprintf("%s was being rewritten in place; it now holds neither version whole. Both are in %s.", t.Path, record),
		"Compare the file with the versions in the recovery file. The next start completes the write unless another program has changed the file.", cause).
		Because(reason)
}

// overwrite makes data the content of file, from beginning to end.
func (t *transaction) overwrite(file *os.File, data []byte) error {
	if err := t.system.reserve(file, int64(len(data))); err != nil && isNoSpace(err) {
		return err
	}
	half := len(data) / 2
	if err := t.system.writeAt(file, data[:half], 0); err != nil {
		return err
	}
	if err := t.step(StepInPlaceHalf); err != nil {
		return err
	}
	if err := t.system.writeAt(file, data[half:], int64(half)); err != nil {
		return err
	}
	return t.system.truncate(file, int64(len(data)))
}

// restore writes the old bytes back after a failure, unless another process has written to the
// file: without a lease, or after the system has broken it.
func (t *transaction) restore(ctx context.Context, file *os.File, old []byte) error {
	now, err := readAll(ctx, file, int64(max(len(old), len(t.Data))))
	if err != nil && !errors.Is(err, errTooLong) {
		return err
	}
	if err != nil || !isMixture(now, old, t.Data) {
		return errMixed
	}
	if err := t.system.writeAt(file, old, 0); err != nil {
		return err
	}
	if err := t.system.truncate(file, int64(len(old))); err != nil {
		return err
	}
	return t.system.sync(file)
}
