//go:build !linux

package workspace

import "os"

// lstat describes the file at an absolute path, without following it if it is a link.
func lstat(path string) (Info, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return Info{}, err
	}
	return infoOfFileInfo(fi), nil
}

// InfoOf describes an open file.
func InfoOf(f *os.File) (Info, error) {
	fi, err := f.Stat()
	if err != nil {
		return Info{}, pathError("workspace.stat", show(f.Name()), err)
	}
	return infoOfFileInfo(fi), nil
}
