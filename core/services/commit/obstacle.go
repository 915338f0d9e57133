package commit

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// obstacle is a reason why the target cannot be replaced by a new file, and is
// rewritten in place instead.
type obstacle struct {
	code   fault.Code // where it cannot be rewritten either
	what   string     // completes "PATH …"
	remedy string     // completes "Configure a recovery directory, or …"
	cause  error      // nil where it was known before the system refused
}

func (o *obstacle) Error() string { return o.what }

func (o *obstacle) Unwrap() error { return o.cause }

// The reasons that a system's mayReplace answers.
var (
	errDirectory = &obstacle{fault.PermissionDenied, "lies in a directory in which it cannot be replaced by a new file",
		"ask the user to change the permissions of the directory", nil}
	errMounted = &obstacle{fault.FileWriteFailure, "is mounted as a file of its own",
		"write the file that is mounted there", nil}
	errOwner = &obstacle{fault.PermissionDenied, "has an owner or group that a new file cannot be given",
		"ask the user to change the owner of the file", nil}
)

// because returns the obstacle with the system's error.
func (o *obstacle) because(cause error) *obstacle {
	with := *o
	with.cause = cause
	return &with
}

// obstacleOf returns the reason to rewrite the target in place that is known
// before anything is written; nil if there is none.
func (t *transaction) obstacleOf(target workspace.Info) *obstacle {
	if target.Nlink > 1 {
		return &obstacle{fault.FileWriteFailure, fmt.Sprintf("has %d names (hard links)", target.Nlink), "give the file one name only", nil}
	}
	return asObstacle(t.system.mayReplace(t.dir, t.Name))
}

func asObstacle(err error) *obstacle {
	var o *obstacle
	if errors.As(err, &o) {
		return o
	}
	return nil
}

// placing marks a system's refusal to make or name a file in the directory.
func placing(err error) error {
	switch {
	case err == nil || asObstacle(err) != nil:
		return err
	case isMountPoint(err):
		return errMounted.because(err)
	case errors.Is(err, fs.ErrPermission):
		return errDirectory.because(err)
	}
	return err
}

// noRecovery refuses a rewrite in place for which there is no recovery
// directory.
func (t *transaction) noRecovery(o *obstacle) error {
	message := fmt.Sprintf("%s %s and would have to be rewritten in place, for which no recovery directory is configured; nothing was written.", t.Path, o.what)
	return fault.Wrap(o.code, op, message, "Configure a recovery directory, or "+o.remedy+".", o.cause)
}
