package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// layered is the system in an upper directory of a fork. Whiteouts are no files there: operations report them
// as missing, and replace them in one step, so that the file below never shows. If the target of the
// transaction exists below, it leaves a whiteout when it is renamed.
type layered struct {
	system
	t *transaction
}

// errWhiteout is returned for a whiteout.
var errWhiteout = fmt.Errorf("removed in the fork: %w", fs.ErrNotExist)

// removed reports whether the name is a whiteout.
func (l layered) removed(dir *os.File, name string) bool {
	found, err := l.system.look(dir, name)
	return err == nil && found.whiteout
}

func (l layered) look(dir *os.File, name string) (entry, error) {
	found, err := l.system.look(dir, name)
	if err == nil && found.whiteout {
		return entry{}, errWhiteout
	}
	return found, err
}

func (l layered) openRead(dir *os.File, name string) (*os.File, error) {
	f, err := l.system.openRead(dir, name)
	return f, l.opened(dir, name, err)
}

func (l layered) openWrite(dir *os.File, name string) (*os.File, error) {
	f, err := l.system.openWrite(dir, name)
	return f, l.opened(dir, name, err)
}

func (l layered) opened(dir *os.File, name string, err error) error {
	if err != nil && l.removed(dir, name) {
		return errWhiteout
	}
	return err
}

func (l layered) linkUnnamed(f *os.File, dir *os.File, name string) error {
	err := l.system.linkUnnamed(f, dir, name)
	if !errors.Is(err, fs.ErrExist) || !l.removed(dir, name) {
		return err
	}
	temp := l.t.tempName()
	if err := l.system.linkUnnamed(f, dir, temp); err != nil {
		return err
	}
	if err := l.renameNoReplace(dir, temp, name); err != nil {
		l.t.discard(temp)
		return err
	}
	return nil
}

// exchange returns an error for a whiteout, as for a missing file.
func (l layered) exchange(dir *os.File, a, b string) error {
	if err := l.system.exchange(dir, a, b); err != nil {
		return err
	}
	if l.removed(dir, a) || l.removed(dir, b) {
		return errors.Join(errWhiteout, l.system.exchange(dir, a, b))
	}
	return nil
}

func (l layered) renameNoReplace(dir *os.File, from, to string) error {
	leaves := from == l.t.Name && l.t.Layer == workspace.Covering
	var err error
	if leaves {
		err = l.renameLeaving(dir, from, to)
	} else {
		err = l.system.renameNoReplace(dir, from, to)
	}
	if errors.Is(err, fs.ErrExist) && l.removed(dir, to) {
		err = l.renameOver(dir, from, to, leaves)
	}
	if errors.Is(err, errors.ErrUnsupported) { // other ways show the file below for a moment
		return &fs.PathError{Op: "rename", Path: from, Err: errNoExchange}
	}
	return err
}

var errNoExchange = errors.New("the file system cannot exchange names")

// renameLeaving renames a file and leaves a whiteout.
func (l layered) renameLeaving(dir *os.File, from, to string) error {
	if err := l.system.makeWhiteout(dir, to); err != nil {
		return err
	}
	err := l.swapWhiteout(dir, to, from)
	if err == nil && l.removed(dir, to) {
		err = errWhiteout // there was no file
	}
	if err != nil {
		l.t.discard(to)
	}
	return err
}

// renameOver renames a file to the name of a whiteout.
func (l layered) renameOver(dir *os.File, from, to string, leaves bool) error {
	if err := l.swapWhiteout(dir, to, from); err != nil || leaves {
		return err
	}
	l.t.discard(from)
	return nil
}

// swapWhiteout exchanges a whiteout with a file. If it is none any more, the name exists.
func (l layered) swapWhiteout(dir *os.File, whiteout, name string) error {
	if err := l.system.exchange(dir, whiteout, name); err != nil {
		return err
	}
	if !l.removed(dir, name) {
		return errors.Join(fs.ErrExist, l.system.exchange(dir, whiteout, name))
	}
	return nil
}
