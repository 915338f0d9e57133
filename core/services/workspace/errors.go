package workspace

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

var (
	// errOutside: the name leads out of every directory of the workspace.
	errOutside = errors.New("path leads out of the workspace")
	// errReplaced: a link has replaced a workspace directory.
	errReplaced = errors.New("workspace directory replaced by a link")
	// errIndirect: a single call cannot decide; the name must be walked.
	errIndirect = errors.New("path requires a walk")
	// errGit: the name is in the directory of a repository, which a fork does not change.
	errGit = errors.New("path is in a repository's directory")
	// errSpecial: a fork cannot change the file.
	errSpecial = errors.New("not a regular file")
	// errMoved: the file under a name was replaced before it was opened; the walk is repeated.
	errMoved = errors.New("path changed while it was resolved")
)

// failure turns an error about p into a *fault.Error.
func (w *Workspace) failure(op string, p Path, err error) error {
	if f := fault.As(err); f != nil {
		return err
	}
	if p == (Path{}) {
		return fault.New(fault.InvalidToolParams, op, "The file path is empty.", "Give a path inside the workspace.")
	}
	path := show(p.String())
	switch {
	case errors.Is(err, errOutside):
		return w.outside(op, p.String())
	case errors.Is(err, errReadOnly):
		return w.readOnly(op, p)
	case errors.Is(err, errGit):
		return fault.Wrap(fault.PermissionDenied, op, "The repository is read-only in a fork: "+path+".",
			"Change the files of the project only; the user merges the fork and runs git there.", err)
	case errors.Is(err, errSpecial):
		return fault.Wrap(fault.NotARegularFile, op, "Not a regular file: "+path+".", "Name a regular file.", err)
	case errors.Is(err, os.ErrClosed):
		return closedError(op)
	case errors.Is(err, errReplaced):
		return fault.Wrap(fault.PathNotInWorkspace, op,
			"The workspace directory "+show(p.Root())+" has been replaced by a link, or its path contains a link now.",
			"Restore the directory, or start a new session if the link is intended.", err)
	case errors.Is(err, errMoved):
		return fault.Wrap(fault.ReadContentFailure, op, "The file "+path+" was replaced repeatedly while it was opened.",
			"Try again after the other program has finished.", err)
	}
	return pathError(op, path, err)
}

// pathError classifies a system error about a path.
func pathError(op, path string, err error) error {
	const list = "Check the path; list the directory to see its content."
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.Wrap(fault.FileNotFound, op, "File not found: "+path+".", list, err)
	case errors.Is(err, fs.ErrPermission):
		return fault.Wrap(fault.PermissionDenied, op, "Permission denied: "+path+".",
			"Ask the user to change the permissions, or work on another file.", err)
	case errors.Is(err, syscall.EROFS):
		return fault.Wrap(fault.PermissionDenied, op, "The file system is read-only: "+path+".",
			"Work on a file elsewhere, or ask the user to make the file system writable.", err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.Wrap(fault.NoSpaceLeft, op, "There is no space left for "+path+".",
			"Free some space or raise the quota, then call again.", err)
	case errors.Is(err, syscall.ENOTDIR):
		return fault.Wrap(fault.PathIsNotADirectory, op, "Not a directory, or below a file that is not one: "+path+".", list, err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fault.Wrap(fault.InvalidToolParams, op, "The name is longer than the file system allows: "+path+".",
			"Use a shorter name.", err)
	case errors.Is(err, syscall.ELOOP):
		return fault.Wrap(fault.ReadContentFailure, op,
			"Too many symbolic links, or a cycle of links: "+path+".",
			"Use the path of the file itself, or ask the user to repair the link.", err)
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.ENODEV):
		return fault.Wrap(fault.NotARegularFile, op, "Not a regular file, and it cannot be opened: "+path+".",
			"Name a regular file.", err)
	case errors.Is(err, syscall.EAGAIN):
		return fault.Wrap(fault.ReadContentFailure, op, "The file is in use by another program, which holds a lease on it: "+path+".",
			"Try again in a moment; if the error persists, ask the user which program has the file open.", err)
	}
	return fault.Wrap(fault.ReadContentFailure, op, "The file cannot be accessed: "+path+" ("+reason(err)+").",
		"Check the path and the state of the disk, then try again.", err)
}

// reason returns the system's error text without the call and the path.
func reason(err error) string {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

// outside returns the refusal of a path outside of the workspace, with the workspace directories.
func (w *Workspace) outside(op, path string) error {
	dirs := w.Directories()
	for i, dir := range dirs {
		dirs[i] = show(dir)
	}
	return fault.Wrap(fault.PathNotInWorkspace, op,
		"File path must be within workspace: "+show(path)+" is not in "+strings.Join(dirs, ", ")+", or a link in it leads outside.",
		"Use a path inside one of these directories.", errOutside)
}

func closedError(op string) error {
	return fault.Wrap(fault.NotInitialized, op, "The workspace is closed.", "Start a new session.", os.ErrClosed)
}

// show returns a path unchanged, or quoted if it contains bytes that a message should not contain,
// with the middle of a very long one omitted.
func show(path string) string {
	const longest = 512 // bytes
	if head, tail, omitted := escape.Ends(path, longest/2, longest/2); omitted > 0 {
		path = head + "[…]" + tail
	}
	return escape.Quoted(path)
}
