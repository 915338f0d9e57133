package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fettle-dev/fettle/core/fault"
)

const op = "commit"

const (
	readAgain = "Read the file again and base the change on its new state."
	nextCall  = "Call again when the cause is removed; the target was not changed."
)

// checkRequest returns an error for requests that only a programming error can produce.
func checkRequest(r Request) error {
	switch {
	case r.Dir == nil:
		return fault.New(fault.FileWriteFailure, op, "The commit names no directory.", "")
	case r.Name == "" || r.Name == "." || r.Name == ".." || filepath.Base(r.Name) != r.Name || strings.ContainsRune(r.Name, 0):
		return fault.New(fault.FileWriteFailure, op, fmt.Sprintf("%q is not the name of a file in a directory.", r.Name), "")
	case r.Base != "" && !isHash(r.Base):
		return fault.New(fault.FileWriteFailure, op, fmt.Sprintf("%q is not a SHA-256 in lower-case hex.", r.Base), "")
	}
	return nil
}

func isHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// failure classifies err by its cause. An error that already has a code is returned unchanged.
func (t *transaction) failure(err error) error {
	return classify(t.Path, err)
}

func lockFailure(path string, err error) error {
	if isCancelled(err) {
		return cancelled(path, err)
	}
	return classify(path, err)
}

func classify(path string, err error) error {
	if fault.As(err) != nil {
		return err
	}
	wrap := func(code fault.Code, message, remedy string) error {
		return fault.Wrap(code, op, message, remedy, err)
	}
	switch {
	case isCancelled(err):
		return cancelled(path, err)
	case isNoSpace(err):
		return wrap(fault.NoSpaceLeft, fmt.Sprintf("There is no space left to write %s.", path),
			"Free some space or raise the quota, then call again; the target was not changed.")
	case errors.Is(err, fs.ErrPermission) || isReadOnly(err):
		return wrap(fault.PermissionDenied, fmt.Sprintf("Writing %s is not permitted.", path),
			"Ask the user to change the permissions of the file or its directory, or write elsewhere; the target was not changed.")
	case isMountPoint(err):
		return wrap(fault.FileWriteFailure, fmt.Sprintf("%s is mounted as a file of its own, which cannot be replaced.", path),
			"Write the file that is mounted there, or mount its directory; the target was not changed.")
	default:
		return wrap(fault.FileWriteFailure, fmt.Sprintf("Writing %s failed: %s.", path, reasonOf(err)), nextCall)
	}
}

// reasonOf returns the system's error text without the operation and the name, which may be that of
// a temporary file.
func reasonOf(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

func isCancelled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func cancelled(path string, cause error) error {
	return fault.Wrap(fault.Cancelled, op, fmt.Sprintf("The write of %s was cancelled; nothing was written.", path), "", cause)
}

func (t *transaction) changed(how string) error {
	return fault.New(fault.FileChangedSinceRead, op,
		fmt.Sprintf("%s %s since the change was based on it; nothing was written.", t.Path, how), readAgain).
		Because(fault.Changed)
}

func (t *transaction) disappeared() error {
	return fault.New(fault.FileChangedSinceRead, op,
		fmt.Sprintf("%s no longer exists; nothing was written.", t.Path),
		"Check whether the file was moved or deleted; to create it again, write it without a base hash.").
		Because(fault.Disappeared)
}

// notRestored reports that the old content could not be moved back to its path. now describes the
// file at the path; older is the name of the file that has the old content, "" if that is gone.
func (t *transaction) notRestored(now, older string, cause error) error {
	message := fmt.Sprintf("Writing %s failed, and the previous state could not be restored: it %s.", t.Path, now)
	if older == "" {
		return fault.Wrap(fault.FileWriteFailure, op,
			message+" Another program has removed its previous content.", readAgain, cause)
	}
	remedy := "Read both files; if the new content is not wanted, restore the previous content."
	if tempPattern().MatchString(older) {
		remedy += " Do so before the next write in this directory, which treats that file as a leftover."
	}
	return fault.Wrap(fault.FileWriteFailure, op,
		fmt.Sprintf("%s Its previous content is in %s.", message, filepath.Join(t.dirPath(), older)), remedy, cause)
}

// noRecord reports a recovery file that could not be written, which a rewrite in place requires.
func (t *transaction) noRecord(cause error) error {
	if isCancelled(cause) {
		return cancelled(t.Path, cause)
	}
	code, remedy := fault.FileWriteFailure, "Ask the user to make that directory writable or to set HOME to another home directory, then call again."
	switch {
	case isNoSpace(cause):
		code, remedy = fault.NoSpaceLeft, "Free some space there or raise the quota, then call again."
	case errors.Is(cause, fs.ErrPermission) || isReadOnly(cause):
		code = fault.PermissionDenied
	}
	return fault.Wrap(code, op,
		fmt.Sprintf("Saving a recovery file in the directory %s failed: %s. %s may be written, but it has to be rewritten in place, which needs that file; it was not changed.",
			t.options.RecoveryDir, reasonOf(cause), t.Path), remedy, cause)
}

// notWithdrawn reports a new file that could not be removed again.
func (t *transaction) notWithdrawn(cause error) error {
	return fault.Wrap(fault.FileWriteFailure, op,
		fmt.Sprintf("Writing %s failed after it was created, and it could not be removed again: it holds the new content.", t.Path),
		"Read the file; remove it if it is not wanted.", cause)
}

func (t *transaction) openElsewhere() error {
	return fault.New(fault.FileChangedSinceRead, op,
		fmt.Sprintf("%s is open for writing in another program; nothing was written.", t.Path),
		"Wait until that program has closed the file, or ask the user to close it; then read the file again.").
		Because(fault.OpenElsewhere)
}

func (t *transaction) nameTaken() error {
	return fault.New(fault.EditRequiresPriorRead, op,
		fmt.Sprintf("%s was created meanwhile and was never read; nothing was written.", t.Path),
		"Read the file, then base the change on its state.").
		Because(fault.NeverRead)
}

func (t *transaction) notRegular(mode fs.FileMode) error {
	return fault.New(fault.NotARegularFile, op,
		fmt.Sprintf("%s is %s, not a regular file; nothing was written.", t.Path, describe(mode)),
		"Choose the path of a regular file.")
}

// describe returns a description of a kind of file, with its article.
func describe(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	default:
		return "a special file"
	}
}

// IsNoSpace reports whether an error of the system means that a disk or quota is full.
func IsNoSpace(err error) bool { return isNoSpace(err) }
