package commit

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// Names of temporary files that a commit leaves next to the target for a moment. A named temporary
// file is always complete: it has the new bytes before the exchange and the displaced ones after
// it. Its name contains the hashes of both versions, so that the next run can distinguish garbage
// from the work of other programs.
const (
	tempPrefix = ".fettle-"
	partPrefix = ".fettle-part-"
	keptInfix  = ".fettle-kept-"
	hashChars  = 16 // characters of a hash in a name
)

var (
	tempPattern = lazyregexp.New(`^\.fettle-([0-9a-f]{16})-([0-9a-f]{16})-[0-9a-f]{16}$`)
	partPattern = lazyregexp.New(`^\.fettle-part-(?:([0-9a-f]{1,16})-([0-9a-f]{16})-)?[0-9a-f]{16}$`)
)

func (t *transaction) tempName() string {
	if t.temp != "" {
		return t.temp
	}
	base := t.Base
	if base == "" {
		base = t.sum()
	}
	return tempPrefix + base[:hashChars] + "-" + t.sum()[:hashChars] + "-" + randomName()
}

// partName returns the name of a file that is being filled. It contains the final size and hash, so
// that the next run can judge it too.
func (t *transaction) partName() string {
	if t.temp != "" {
		return t.temp + stagedPart
	}
	return fmt.Sprintf("%s%x-%s-%s", partPrefix, len(t.Data), t.sum()[:hashChars], randomName())
}

func randomName() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// dirPath returns the absolute name of the directory that contains the target, from the system if
// possible, because the target's own path may contain links.
func (t *transaction) dirPath() string {
	if t.directory == "" {
		t.directory = filepath.Dir(t.Path)
		if name := t.system.pathOf(t.dir, t.Dir.Name()); filepath.IsAbs(name) {
			t.directory = filepath.Clean(name)
		}
	}
	return t.directory
}

// discard removes a temporary file that a failure leaves.
func (t *transaction) discard(name string) {
	if err := t.system.remove(t.dir, name); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.log.Error("temporary file could not be removed", "path", filepath.Join(t.dirPath(), name), "error", err)
	}
}

// fill writes the new bytes to f, gives it the attributes of like (unless nil) and flushes it.
func (t *transaction) fill(f, like *os.File) error {
	if err := t.system.writeAt(f, t.Data, 0); err != nil {
		return err
	}
	if like != nil {
		if err := t.system.copyAttributes(f, like); err != nil {
			return err
		}
	}
	if err := t.system.sync(f); err != nil {
		return err
	}
	return t.step(StepTempWritten)
}

// Modes of new files. A file that gets the attributes of another is private until then, because its
// content may be read only by users who may read the other.
const (
	newMode     fs.FileMode = 0o666
	privateMode fs.FileMode = 0o600
)

// place creates a file with the new bytes and calls link to give it its name. With part "" the file
// has no name yet, otherwise it has that one, and place removes it if link leaves it. f is nil if
// an open file cannot be renamed.
func (t *transaction) place(like *os.File, link func(f *os.File, part string) error) error {
	perm := newMode
	if like != nil {
		perm = privateMode
	}
	placing := placing
	if like == nil {
		placing = func(err error) error { return err } // no file to be rewritten in place
	}
	f, err := t.system.createUnnamed(t.dir, perm)
	if err != nil {
		err = placing(err)
	} else {
		err = t.fill(f, like)
		if err == nil {
			err = link(f, "")
		}
		closeFile(f)
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	part := t.partName()
	f, err = t.system.createNamed(t.dir, part, perm)
	if err != nil {
		return placing(err)
	}
	defer t.discard(part) // missing after a rename
	err = t.fill(f, like)
	if err == nil && replacesOpenFiles {
		err = link(f, part)
	}
	closeFile(f)
	if err == nil && !replacesOpenFiles {
		err = link(nil, part)
	}
	return err
}
