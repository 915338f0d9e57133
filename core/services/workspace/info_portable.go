//go:build !linux

package workspace

import "os"

// InfoOf describes an open file.
func InfoOf(f *os.File) (Info, error) {
	fi, err := f.Stat()
	if err != nil {
		return Info{}, pathError("workspace.stat", show(f.Name()), err)
	}
	return infoOfFileInfo(fi), nil
}
