//go:build !linux && !darwin

package workspace

import "io/fs"

// infoOfFileInfo converts the result of package os. The identity stays zero: on Windows file
// numbers are not unique on every file system.
func infoOfFileInfo(fi fs.FileInfo) Info {
	return Info{Mode: fi.Mode(), Size: fi.Size(), Nlink: 1, MtimeNS: fi.ModTime().UnixNano()}
}
