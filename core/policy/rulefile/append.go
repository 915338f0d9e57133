package rulefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// SavedApprovals is the name of the file of saved approvals. What it allows in
// the user's tier is marked as an approval ([policy.Rule.Approval]).
const SavedApprovals = "auto-saved.toml"

// remembers reports whether a rule of the file at path is a saved approval.
func remembers(path string, rule policy.Rule) bool {
	return filepath.Base(path) == SavedApprovals && rule.Tier == policy.TierUser && rule.Decision == policy.Allow
}

// Append adds rules to the policy file of saved approvals (CF-07). It makes
// the file (mode 0600) and its folder (0700) if need be, and leaves every byte
// that others have written as it is, comments too. A rule that is about the
// same calls as one in the file widens that one's modes and redirections
// instead of standing there twice.
//
// The file is replaced in one step, with what was written flushed, and only if
// it reads back as it was meant. A link is followed. Calls of this and other
// processes wait for each other, until ctx ends; a program that saves the file
// without waiting is noticed, and its version is the one that is added to.
//
// A file that is no TOML is copied to backup, beside it, and begun anew; backup
// is "" otherwise. If that copy cannot be made, nothing is written.
//
// The error has code cancelled, invalid_config for a rule that cannot be
// written to a file, or file_write_failure; then the file is as it was.
func Append(ctx context.Context, path string, rules []policy.Rule) (backup string, err error) {
	for _, rule := range rules {
		if err := rule.Validate(); err != nil {
			return "", err
		}
	}
	target, err := follow(path)
	if err != nil {
		return "", notSaved(path, err)
	}
	folder := filepath.Dir(target)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", notSaved(path, err)
	}
	unlock, err := lock(ctx, folder)
	if err != nil {
		return "", notSaved(path, err)
	}
	defer unlock()

	for range 10 {
		backup, err = appendLocked(ctx, path, target, rules)
		if !errors.Is(err, errMoved) {
			break
		}
	}
	return backup, err
}

// errMoved says that somebody else has saved the file meanwhile.
var errMoved = errors.New("another program saved the file at the same moment")

func appendLocked(ctx context.Context, path, target string, rules []policy.Rule) (backup string, err error) {
	old, err := read(ctx, target)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return "", notSaved(path, err)
	}
	if len(old) > MaxBytes {
		return "", notSaved(path, fmt.Errorf("it has more than %d bytes", MaxBytes))
	}
	data := old
	if _, broken := readTOML(old); broken != nil {
		if backup, err = keep(target, old); err != nil {
			return "", notSaved(path, err)
		}
		data = []byte("# The file that stood here could not be read. It is kept as " + filepath.Base(backup) + ".\n")
	}
	for _, rule := range rules {
		if data, err = merge(path, data, rule); err != nil {
			return backup, err
		}
	}
	if bytes.Equal(data, old) {
		return backup, nil
	}
	if err := replace(target, old, data, missing); err != nil {
		return backup, notSaved(path, err)
	}
	return backup, nil
}

func notSaved(path string, err error) error {
	code, remedy := fault.FileWriteFailure, "Make the file and its folder ones that you may write to, and approve again."
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		code, remedy = fault.Cancelled, "Approve again."
	}
	cause := err
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		cause = e.Err
	}
	return fault.Wrap(code, "rulefile.append", fmt.Sprintf("The approval was not saved in %s (%s).", path, cause), remedy, err)
}

// follow returns where a path leads if it is a symbolic link, even one to
// nothing.
func follow(path string) (string, error) {
	target, err := filepath.Abs(path)
	for range 40 {
		if err != nil {
			return "", err
		}
		info, err := os.Lstat(target)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return target, nil
		}
		if err != nil {
			return "", err
		}
		link, err := os.Readlink(target)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(target), link)
		}
		target = link
	}
	return "", errors.New("its links lead in a circle")
}
