package files

import (
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// remedies returns the next steps for errors whose own ones are for a model, by code and reason.
func remedies() map[fault.Error]string {
	const name = "Name a regular file, below directories."
	return map[fault.Error]string{
		{Code: fault.FileChangedSinceRead, Reason: fault.Changed}:       "Read the file again, and make the change from its new version.",
		{Code: fault.FileChangedSinceRead, Reason: fault.Disappeared}:   "Create it again with a base without hash, if it is still wanted.",
		{Code: fault.FileChangedSinceRead, Reason: fault.OpenElsewhere}: "Repeat the change when the other program has closed the file.",
		{Code: fault.AttemptToCreateExist}:                              "Read the file, and pass its version as the base.",
		{Code: fault.FileNotFound}:                                      "Check the name; to create the file, use Write with a base without hash.",
		{Code: fault.FileTooLarge}:                                      "Raise Options.MaxBytes.",
		{Code: fault.PermissionDenied}:                                  "Change the permissions, or set Options.Recovery if the directory may not be written.",
		{Code: fault.TargetIsDirectory}:                                 name,
		{Code: fault.PathIsNotADirectory}:                               name,
		{Code: fault.NotARegularFile}:                                   name,
		{Code: fault.NotARegularFile, Reason: fault.SpecialFile}:        name,
		{Code: fault.PathNotInWorkspace}:                                "Name a file in the opened directory.",
		{Code: fault.NotInitialized}:                                    "Call Open again.",
	}
}

// failure returns err as an error of this package, for the operation op; nil for nil. kept are the names of files with
// bytes of other programs.
func failure(op string, err error, kept ...string) error {
	if err == nil {
		return nil
	}
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
	if remedy, ok := remedies()[fault.Error{Code: next.Code, Reason: next.Reason}]; ok {
		next.Remedy, next.Short = remedy, ""
	}
	if len(kept) > 0 {
		next.Message += fmt.Sprintf(" Bytes of another program are in %s.", escape.Paths(kept))
		next.Err = &keptError{kept, next.Err}
	}
	next.Message = escape.Text(next.Message) // names of files are not trusted
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

func (e *keptError) Error() string { return fmt.Sprintf("%d files were kept", len(e.names)) }
