package workspace

import (
	"io/fs"
	"syscall"
)

// infoOfFileInfo converts the result of package os.
func infoOfFileInfo(fi fs.FileInfo) Info {
	info := Info{Mode: fi.Mode(), Size: fi.Size(), Nlink: 1, MtimeNS: fi.ModTime().UnixNano()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		info.Dev, info.Ino, info.Nlink = uint64(st.Dev), st.Ino, uint64(st.Nlink)
		info.CtimeNS = st.Ctimespec.Nano()
	}
	return info
}
