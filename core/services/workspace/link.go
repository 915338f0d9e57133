package workspace

import (
	"io/fs"

	"github.com/fettle-dev/fettle/core/fault"
)

// Readlink returns the target of the link with that name, one element, unchanged. Other files are
// refused with invalid_tool_params. Errors are otherwise those of [Workspace.Stat].
func (f *Dir) Readlink(name string) (string, error) {
	found, err := f.l.in.lookup(name)
	if err == nil && found.dir != nil {
		found.dir.close()
	}
	if err == nil && found.info.Mode&fs.ModeSymlink == 0 {
		err = notALink(f.child(name))
	}
	if err != nil {
		return "", f.w.failure("workspace.readlink", f.child(name), err)
	}
	return found.target, nil
}

func notALink(p Path) error {
	return fault.New(fault.InvalidToolParams, "workspace.readlink", show(p.String())+" is not a symbolic link.", "Read it as a file.")
}
