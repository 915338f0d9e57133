package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// obstacle is a reason why a new file cannot replace the target, which is rewritten in place
// instead.
type obstacle struct {
	code   fault.Code // used if it cannot be rewritten either
	what   string     // completes "PATH …"
	remedy string     // completes "Configure a recovery directory, or …"
	cause  error      // nil if it was known before the system returned an error
}

func (o *obstacle) Error() string { return o.what }

func (o *obstacle) Unwrap() error { return o.cause }

// The reasons that mayReplace returns.
var (
	errDirectory = &obstacle{fault.PermissionDenied, "lies in a directory in which it cannot be replaced by a new file",
		"ask the user to change the permissions of the directory", nil}
	errMounted = &obstacle{fault.FileWriteFailure, "is mounted as a file of its own",
		"write the file that is mounted there", nil}
	errOwner = &obstacle{fault.PermissionDenied, "has an owner or group that a new file cannot be given",
		"ask the user to change the owner of the file", nil}
)

// withCause returns the obstacle with the system's error.
func (o *obstacle) withCause(cause error) *obstacle {
	with := *o
	with.cause = cause
	return &with
}

// obstacleOf returns the reason to rewrite the target in place that is known before anything is
// written; nil if there is none.
func (t *transaction) obstacleOf(target workspace.Info) *obstacle {
	if target.Nlink > 1 {
		return &obstacle{fault.FileWriteFailure, fmt.Sprintf("has %d names (hard links)", target.Nlink), "remove the other names of the file", nil}
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

// Obstacle returns the reason why the file at a path cannot be changed together with other files, as words
// that complete "It …"; "" if none is known before the change. It concerns creation, and with
// remove removal, too. The directories of the path that exist must not be links.
func Obstacle(path string, remove bool) string {
	dir, err := os.Open(filepath.Dir(path))
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		path = filepath.Dir(path)
		dir, err = os.Open(filepath.Dir(path))
	}
	if err != nil {
		return "" // the change reports it
	}
	defer closeFile(dir)
	t := &transaction{system: kernel{}, Request: Request{Name: filepath.Base(path)}, dir: dir}
	var target workspace.Info
	if file, err := t.system.openRead(dir, t.Name); err == nil {
		if !remove {
			target, _ = workspace.InfoOf(file)
		}
		closeFile(file)
	}
	if o := t.obstacleOf(target); o != nil {
		return o.what
	}
	return ""
}

// ObstacleOf returns the reason of [Obstacle] for which a set was refused, "" for other errors.
func ObstacleOf(err error) string {
	if o := asObstacle(err); o != nil {
		return o.what
	}
	return ""
}

// placing marks a system error of creating or naming a file in the directory.
func placing(err error) error {
	switch {
	case err == nil || asObstacle(err) != nil:
		return err
	case isMountPoint(err):
		return errMounted.withCause(err)
	case errors.Is(err, fs.ErrPermission):
		return errDirectory.withCause(err)
	}
	return err
}

// noRecovery refuses a rewrite in place without a recovery directory.
func (t *transaction) noRecovery(o *obstacle) error {
	message := fmt.Sprintf("%s %s and would have to be rewritten in place, for which no recovery directory is configured; nothing was written.", t.Path, o.what)
	return fault.Wrap(o.code, op, message, "Configure a recovery directory, or "+o.remedy+".", o.cause)
}
