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

// SavedApprovals is the name of the file of saved approvals. Its allow rules in the user
// tier are marked as approvals ([policy.Rule.Approval]).
const SavedApprovals = "auto-saved.toml"

// isSavedApproval reports whether a rule in the file at path is a saved approval.
func isSavedApproval(path string, rule policy.Rule) bool {
	return filepath.Base(path) == SavedApprovals && rule.Tier == policy.TierUser && rule.Decision == policy.Allow
}

// Append adds rules to the policy file of saved approvals. It creates the file (mode
// 0600) and its directory (0700) if they are missing, and preserves every existing byte,
// including comments. If a rule for the same calls exists, its modes and redirections
// are widened instead of adding a second rule. The tests are added after the rules,
// unless the file has them.
//
// The file is replaced atomically and flushed, and only if the new text parses to the
// intended rules. A link is followed. Concurrent calls, also of other processes, wait
// for each other until ctx ends. If another program saves the file without the lock, the
// change is detected and applied to the new version.
//
// A file with a syntax error is copied to backup, in the same directory, and replaced by
// a new one; backup is "" otherwise. If the copy fails, nothing is written.
//
// The error has code cancelled, invalid_config for a rule that cannot be written to a
// file, or file_write_failure; the file is then unchanged.
func Append(ctx context.Context, path string, rules []policy.Rule, tests ...Test) (backup string, err error) {
	for _, rule := range rules {
		if err := rule.Validate(); err != nil {
			return "", err
		}
	}
	var refused error // in a rule, not in the file
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
			text = []byte("# The previous file could not be read. It is kept as " + filepath.Base(backup) + ".\n")
		}
		for _, rule := range rules {
			if text, refused = merge(path, text, rule); refused != nil {
				return nil, refused
			}
		}
		for _, test := range tests {
			if text, refused = mergeTest(path, text, test); refused != nil {
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
	code, remedy := fault.FileWriteFailure, "Make the file and its directory writable, and approve again."
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		code, remedy = fault.Cancelled, "Approve again."
	}
	cause := err
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		cause = e.Err
	}
	return fault.Wrap(code, "rulefile.append", fmt.Sprintf("The approval was not saved in %s (%s).", path, cause), remedy, err)
}
