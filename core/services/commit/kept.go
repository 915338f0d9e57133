package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// longestCompared limits the size of a file that is hashed to find out whether its bytes are kept
// already.
const longestCompared = 64 << 20

// keptNames returns the visible names for bytes with this hash next to the target, in the order in
// which they are tried: if a name exists with other bytes, the next one is tried. Without a hash
// they are random.
func (t *transaction) keptNames(sum string) []string {
	const longest = 255 - len(keptInfix) - hashChars - 1 - 2*8 // bytes in a name on every common file system
	name := t.Name
	if len(name) > longest {
		name = strings.ToValidUTF8(name[:longest], "")
	}
	name += keptInfix
	if sum == "" {
		return []string{name + randomName()}
	}
	name += sum[:hashChars]
	names := []string{name}
	for n := 2; n <= 9; n++ {
		names = append(names, fmt.Sprintf("%s-%d", name, n))
	}
	return append(names, name+"-"+randomName())
}

// keep gives a file with bytes of another program a visible name next to the target, reports it,
// and returns the name; "" if the file is gone. Bytes that are kept there already are not kept
// twice.
func (t *transaction) keep(ctx context.Context, name string) string {
	w, sum := t.settled(ctx, name)
	defer w.end()
	for _, visible := range t.keptNames(sum) {
		err := t.renameNew(name, visible)
		switch {
		case err == nil:
			t.reportKept(visible)
			return visible
		case errors.Is(err, fs.ErrNotExist):
			return ""
		case errors.Is(err, fs.ErrExist):
			if w != nil && t.dropDuplicate(ctx, name, w, visible) {
				return visible
			}
			continue
		}
		t.log.Error("kept file could not be renamed", "name", name, "error", err)
		break
	}
	t.reportKept(name)
	return name
}

// settled returns a watch on a file that no program has open for writing, and the hash of its
// bytes. It returns nil and "" for any other file, and for one that is too long.
func (t *transaction) settled(ctx context.Context, name string) (*watch, string) {
	found, err := t.system.look(t.dir, name)
	if err != nil || !found.mode.IsRegular() || found.size > longestCompared {
		return nil, ""
	}
	file, err := t.system.openRead(t.dir, name)
	if err != nil {
		return nil, ""
	}
	sum, err := hashOf(ctx, file, longestCompared)
	closeFile(file)
	if err != nil {
		return nil, ""
	}
	w, judged := t.examine(ctx, name, content{sum: sum, size: longestCompared}, noWait)
	if judged != intact {
		w.end()
		return nil, ""
	}
	return w, sum
}

// dropDuplicate removes the file called name, which w watches, if the file called existing has the
// same bytes and no program has either file open for writing. It reports existing, and returns false
// if both files stay.
func (t *transaction) dropDuplicate(ctx context.Context, name string, w *watch, existing string) bool {
	twin, judged := t.examine(ctx, existing, w.want, noWait)
	defer twin.end()
	if judged != intact || !w.quiet(ctx) {
		return false
	}
	found, err := t.system.look(t.dir, name)
	if err != nil || !found.is(w.info) || found.is(twin.info) && twin.info.Identified() {
		return false
	}
	if err := t.system.remove(t.dir, name); err != nil {
		return false
	}
	_ = t.step(StepDuplicateDropped) // nothing can be undone from here
	found, err = t.system.look(t.dir, existing)
	if err != nil || !found.is(twin.info) || !twin.quiet(ctx) {
		t.keepCopy(ctx, w)
		return true
	}
	t.rescue(ctx, w)
	t.reportKept(existing)
	return true
}

// rescue is the last check of a file that has lost its name: bytes written after the verdict are
// copied next to the target and reported. It hashes even under a lease, because on a shared file
// system the local kernel does not know of writers on other machines.
func (t *transaction) rescue(ctx context.Context, w *watch) {
	if w.quiet(ctx) && w.unchanged(ctx) {
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
	t.keepCopy(ctx, w)
}

// keepCopy writes the bytes of a file that has lost its name next to the target and reports them,
// unless they are kept there already.
func (t *transaction) keepCopy(ctx context.Context, w *watch) {
	sum, err := hashOf(ctx, w.file, longestCompared)
	if err != nil {
		sum = ""
	}
	for _, name := range t.keptNames(sum) {
		err = t.copyTo(ctx, name, w)
		if err == nil {
			t.reportKept(name)
			return
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
		twin, judged := t.examine(ctx, name, content{sum: sum, size: longestCompared}, noWait)
		twin.end()
		if judged == intact {
			t.reportKept(name)
			return
		}
	}
	t.log.Error("late bytes of another program could not be kept", "target", t.Path, "error", err)
}

// copyTo copies the file's bytes to a new file. Once they are written it does not fail: if
// attributes cannot be copied, the copy stays private.
func (t *transaction) copyTo(ctx context.Context, name string, w *watch) error {
	f, err := t.system.createNamed(t.dir, name, privateMode)
	if err != nil {
		return err
	}
	defer closeFile(f)
	err = readBlocks(ctx, w.file, unlimited, func(block []byte, offset int64) error {
		return t.system.writeAt(f, block, offset)
	})
	if err != nil {
		t.discard(name)
		return err
	}
	err = t.system.copyAttributes(f, w.file)
	if asObstacle(err) != nil {
		err = nil // the copy belongs to this process, and grants no more than the file did
	}
	if err := errors.Join(err, t.system.sync(f)); err != nil {
		t.log.Error("kept bytes may lack attributes or not be on disk yet", "path", filepath.Join(t.dirPath(), name), "error", err)
	}
	return nil
}

func (t *transaction) reportKept(name string) {
	path := filepath.Join(t.dirPath(), name)
	if slices.Contains(t.kept, path) {
		return
	}
	t.kept = append(t.kept, path)
	t.log.Warn("kept bytes of another program next to the target", "target", t.Path, "kept", path)
}
