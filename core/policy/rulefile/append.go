package rulefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy"
)

// SavedApprovals is the name of the file of saved approvals. What it allows in
// the user's tier is marked as an approval ([policy.Rule.Approval]).
const SavedApprovals = "auto-saved.toml"

// remembers reports whether a rule of the file at path is a saved approval.
func remembers(path string, rule policy.Rule) bool {
	return filepath.Base(path) == SavedApprovals && rule.Tier == policy.TierUser && rule.Decision == policy.Allow
}

// Append adds rules to the policy file of saved approvals. It makes
// the file (mode 0600) and its directory (0700) if need be, and leaves every byte
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
	var refused error // of a rule, not of the file
	err = lockedfile.Update(ctx, path, MaxBytes, func(old []byte) ([]byte, error) {
		text := old
		if _, err := position.ParseTOML(old); err != nil {
			target, err := lockedfile.Follow(path)
			if err == nil {
				backup, err = keep(target, old)
			}
			if err != nil {
				return nil, err
			}
			text = []byte("# The file that stood here could not be read. It is kept as " + filepath.Base(backup) + ".\n")
		}
		for _, rule := range rules {
			if text, refused = merge(path, text, rule); refused != nil {
				return nil, refused
			}
		}
		return text, nil
	})
	if err != nil && refused == nil {
		err = notSaved(path, err)
	}
	return backup, err
}

func notSaved(path string, err error) error {
	code, remedy := fault.FileWriteFailure, "Make the file and its directory ones that you may write to, and approve again."
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		code, remedy = fault.Cancelled, "Approve again."
	}
	cause := err
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		cause = e.Err
	}
	return fault.Wrap(code, "rulefile.append", fmt.Sprintf("The approval was not saved in %s (%s).", path, cause), remedy, err)
}
