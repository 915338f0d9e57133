package commit

import (
	"context"
	"errors"
)

// Between the swap and the verdict on the displaced file, the new file is at the path but may have
// to be withdrawn. A program that reads it then would continue from a refused text, and overwrite
// the restored text with it. The new file is therefore leased exclusively from just before the swap
// to the verdict: another program's open waits some microseconds, or with O_NONBLOCK fails with
// EAGAIN. If the verdict is to undo, the waiting program still receives this file, because it has
// resolved the name already; so the file gets the bytes of the target first.

// longestRewind limits the bytes of a target that are copied for waiting programs.
const longestRewind = 64 << 20

// openOurs opens the temporary file to describe it later, and to shield it if possible.
func (t *transaction) openOurs(temp string) (err error) {
	if shields {
		if t.ours, err = t.system.openWrite(t.dir, temp); err == nil {
			t.oursWritable = true
			return nil
		}
	}
	t.ours, err = t.system.openRead(t.dir, temp)
	return err
}

// shield makes programs that open the new file wait.
func (t *transaction) shield() {
	if !t.oursWritable {
		return
	}
	if t.system.lease(t.ours, true) == nil {
		t.shielded = true
		return
	}
	t.reopenOurs()
}

// unshield lets waiting programs continue.
func (t *transaction) unshield() {
	if t.shielded {
		t.shielded = false
		t.system.endLease(t.ours)
		t.reopenOurs()
	}
}

// reopenOurs reopens the new file for reading only: otherwise no other descriptor could lease it,
// and it could not be executed.
func (t *transaction) reopenOurs() {
	reading, err := t.system.reopen(t.ours)
	if err != nil {
		t.log.Debug("new file could not be reopened", "target", t.Path, "error", err)
		reading = nil
	}
	closeFile(t.ours)
	t.ours, t.oursWritable = reading, false
}

// rewind gives the shielded new file, which is no longer at the path, the bytes of the target for
// the programs that wait to open it. It returns the new file's content.
func (t *transaction) rewind(ctx context.Context) content {
	target, err := t.system.openRead(t.dir, t.Name)
	if err != nil {
		return t.written()
	}
	defer closeFile(target)
	data, err := readAll(ctx, target, longestRewind)
	if err != nil {
		return t.written()
	}
	err = errors.Join(t.system.writeAt(t.ours, data, 0), t.system.truncate(t.ours, int64(len(data))))
	if err == nil {
		return content{sum: sumOf(data), size: int64(len(data))}
	}
	t.log.Warn("refused bytes could not be overwritten", "target", t.Path, "error", err)
	sum, err := hashOf(ctx, t.ours, unlimited)
	if err != nil {
		return t.written()
	}
	return content{sum: sum, size: unlimited}
}
