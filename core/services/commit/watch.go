package commit

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// verdict is the result of judging the file under a name.
type verdict int

const (
	intact  verdict = iota // a regular file with the expected bytes, and no process can write to it
	busy                   // the same, but another process has it open for writing
	foreign                // any other file: other bytes, a different kind, unreadable
	gone                   // no file
)

// watch observes an inode that may be about to lose its name: while quiet returns true, the inode's
// bytes are those that were read.
type watch struct {
	system system
	file   *os.File
	info   workspace.Info // when it was examined
	leased bool           // the kernel reports changes; otherwise the bytes are read again
	want   content
}

// content is the expected content of a file.
type content struct {
	sum  string
	size int64  // bytes; unlimited if unknown
	data []byte // the bytes; nil if unknown
}

// in reports whether a file has the content: by its bytes if they are known, else by their hash.
func (c content) in(ctx context.Context, file *os.File) (bool, error) {
	if c.data == nil {
		sum, err := hashOf(ctx, file, c.size)
		if errors.Is(err, errTooLong) {
			return false, nil
		}
		return sum == c.sum, err
	}
	same, end := true, int64(0)
	err := readBlocks(ctx, file, c.size, func(block []byte, offset int64) error {
		end = offset + int64(len(block))
		if same = bytes.Equal(block, c.data[offset:end]); !same {
			return errTooLong // it need not be read to its end
		}
		return nil
	})
	if errors.Is(err, errTooLong) {
		return false, nil
	}
	return same && end == c.size, err
}

// examine judges the file called name. The caller ends the watch, which is nil unless the verdict
// is intact or busy.
func (t *transaction) examine(ctx context.Context, name string, want content, wait time.Duration) (*watch, verdict) {
	found, err := t.system.look(t.dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, gone
	}
	if err != nil || !found.mode.IsRegular() {
		return nil, foreign
	}
	file, err := t.system.openRead(t.dir, name)
	if err != nil {
		return nil, foreign
	}
	w := &watch{system: t.system, file: file, want: want}
	w.info, err = workspace.InfoOf(file)
	if err != nil || !w.info.Mode.IsRegular() {
		w.end()
		return nil, foreign
	}
	judged := w.judge(ctx, wait)
	if judged == foreign {
		w.end()
		return nil, foreign
	}
	return w, judged
}

// judge takes a lease, for which it waits up to wait, and reads the file.
func (w *watch) judge(ctx context.Context, wait time.Duration) verdict {
	err := w.takeLease(ctx, wait)
	switch {
	case !w.unchanged(ctx):
		return foreign
	case err != nil:
		return busy
	default:
		return intact
	}
}

// takeLease waits until no process has the file open for writing. It fails only with errBusy and an
// ended ctx: on a system without leases the watch reads instead.
func (w *watch) takeLease(ctx context.Context, wait time.Duration) error {
	err := retryBusy(ctx, wait, func() error { return w.system.lease(w.file, false) })
	w.leased = err == nil
	if errors.Is(err, errBusy) || isCancelled(err) {
		return err
	}
	return nil
}

// unchanged reads the file, at most to the length of the expected content.
func (w *watch) unchanged(ctx context.Context) bool {
	same, err := w.want.in(ctx, w.file)
	return err == nil && same
}

// quiet reports whether no process has changed the file, or opened it for writing, since it was
// examined.
func (w *watch) quiet(ctx context.Context) bool {
	if w.leased {
		return w.system.leaseHeld(w.file)
	}
	return w.unchanged(ctx)
}

// release lets a waiting writer continue; the file stays open. A nil watch has no effect.
func (w *watch) release() {
	if w != nil && w.leased {
		w.system.endLease(w.file)
		w.leased = false
	}
}

// end releases the file and closes it. A nil watch has no effect.
func (w *watch) end() {
	if w != nil {
		w.endWith(closeFile)
	}
}

// endWith releases the file and closes it by the function.
func (w *watch) endWith(closing func(*os.File)) {
	w.release()
	closing(w.file)
}
