package workspace

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// InfoOf describes an open file.
func InfoOf(f *os.File) (Info, error) {
	var st unix.Stat_t
	err := control(f, func(fd int) error { return unix.Fstat(fd, &st) })
	if err != nil {
		return Info{}, pathError("workspace.stat", show(f.Name()), err)
	}
	return infoOfStat(&st), nil
}

// lstat describes the file at an absolute path, without following it if it is a link.
func lstat(path string) (Info, error) {
	var st unix.Stat_t
	_, err := uninterrupted(func() (int, error) { return 0, unix.Lstat(path, &st) })
	if err != nil {
		return Info{}, err
	}
	return infoOfStat(&st), nil
}

func infoOfStat(st *unix.Stat_t) Info {
	return Info{
		Mode:    modeOf(st.Mode),
		Size:    st.Size,
		Dev:     uint64(st.Dev), //nolint:unconvert // 32 bits on some architectures
		Ino:     st.Ino,
		Nlink:   uint64(st.Nlink), //nolint:unconvert // 32 bits on some architectures
		MtimeNS: st.Mtim.Nano(),
		CtimeNS: st.Ctim.Nano(),
	}
}

func modeOf(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	switch bits & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	}
	if bits&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if bits&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if bits&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

// infoOfFileInfo converts the result of package os.
func infoOfFileInfo(fi fs.FileInfo) Info {
	info := Info{Mode: fi.Mode(), Size: fi.Size(), Nlink: 1, MtimeNS: fi.ModTime().UnixNano()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		info.Dev, info.Ino, info.Nlink = uint64(st.Dev), st.Ino, uint64(st.Nlink) //nolint:unconvert // 32 bits on some architectures
		info.CtimeNS = st.Ctim.Nano()
	}
	return info
}
