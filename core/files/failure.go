package files

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// remedies has the next step for the codes whose other remedies are for a model. docs/files.md
// repeats the table.
func remedies(code fault.Code, reason fault.Reason) (remedy string, ok bool) {
	switch code {
	case fault.FileChangedSinceRead:
		switch reason {
		case fault.Disappeared:
			return "Create it again with a base without hash, if it is still wanted.", true
		case fault.OpenElsewhere:
			return "Repeat the change when the other program has closed the file.", true
		}
		return "Read the file again, and make the change from its new version.", true
	case fault.AttemptToCreateExist:
		return "Read the file, and pass its version as the base.", true
	case fault.FileNotFound:
		return "Check the name; to create the file, use Write with a base without hash.", true
	case fault.FileTooLarge:
		return "Raise Options.MaxBytes.", true
	case fault.PermissionDenied:
		return "Change the permissions, or set Options.Recovery if the directory may not be written.", true
	case fault.TargetIsDirectory, fault.PathIsNotADirectory, fault.NotARegularFile:
		return "Name a regular file, below directories.", true
	case fault.PathNotInWorkspace:
		return "Name a file in the opened directory.", true
	case fault.NotInitialized:
		return "Call Open again.", true
	}
	return "", false
}

// failure returns an error of this package, for the operation op. kept are the names of files with
// bytes of other programs.
func failure(op string, err error, kept ...string) error {
	op = "files." + op
	e := fault.As(err)
	if e == nil {
		e = fault.Wrap(fault.ExecutionFailed, op, "The change failed.", "", err)
	}
	next := *e
	next.Op = op
	if e.Code == fault.EditRequiresPriorRead && e.Reason == fault.NeverRead { // created since the read
		next.Code, next.Reason = fault.AttemptToCreateExist, ""
	}
	if remedy, ok := remedies(next.Code, next.Reason); ok {
		next.Remedy, next.Short = remedy, ""
	}
	if len(kept) > 0 {
		next.Message += fmt.Sprintf(" Bytes of another program are in %s.", strings.Join(kept, ", "))
		next.Err = &keptError{kept, next.Err}
	}
	return &next
}

// Kept returns the absolute names of files with bytes that other programs wrote during a failed
// change, as [File.Kept] does for a successful one.
func Kept(err error) []string {
	if k := (*keptError)(nil); errors.As(err, &k) {
		return k.names
	}
	return nil
}

// keptError is the cause of an error with kept files.
type keptError struct {
	names []string
	cause error // may be nil
}

func (e *keptError) Unwrap() error { return e.cause }

func (e *keptError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("%d files were kept", len(e.names))
	}
	return e.cause.Error()
}
