package workspace

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readNames reads a directory by getdents64, which returns types with the names.
func readNames(file *os.File, in directory, buf []byte, yield func(Name) bool) error {
	const least = 4096 // larger than the longest entry
	if len(buf) < least {
		buf = make([]byte, least)
	}
	for {
		n := 0
		err := control(file, func(fd int) (err error) {
			n, err = uninterrupted(func() (int, error) { return unix.Getdents(fd, buf) })
			return err
		})
		if err != nil {
			return err
		}
		if n <= 0 {
			return nil
		}
		if more, err := entriesOf(in, string(buf[:n]), yield); err != nil || !more {
			return err
		}
	}
}

// entriesOf parses the result of getdents64; more is false after yield has returned false. The
// names share the memory of block.
func entriesOf(in directory, block string, yield func(Name) bool) (more bool, err error) {
	const (
		reclen = unsafe.Offsetof(unix.Dirent{}.Reclen)
		typ    = unsafe.Offsetof(unix.Dirent{}.Type)
		start  = unsafe.Offsetof(unix.Dirent{}.Name)
	)
	for len(block) >= int(start) {
		size := int(binary.NativeEndian.Uint16([]byte(block[reclen : reclen+2])))
		if size <= int(start) || size > len(block) {
			return false, unix.EIO
		}
		entry := block[:size]
		block = block[size:]
		name := entry[start:]
		for i := range len(name) {
			if name[i] == 0 {
				name = name[:i]
				break
			}
		}
		if name == "." || name == ".." || name == "" {
			continue
		}
		mode, known := typeOf(entry[typ])
		if !known {
			info, err := in.lstat(name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return false, err
			}
			mode = info.Mode.Type()
		}
		if !yield(Name{name, mode}) {
			return false, nil
		}
	}
	return true, nil
}

// typeOf converts a d_type to type bits; not all file systems provide it.
func typeOf(d byte) (mode fs.FileMode, known bool) {
	switch d {
	case unix.DT_REG:
		return 0, true
	case unix.DT_DIR:
		return fs.ModeDir, true
	case unix.DT_LNK:
		return fs.ModeSymlink, true
	case unix.DT_FIFO:
		return fs.ModeNamedPipe, true
	case unix.DT_SOCK:
		return fs.ModeSocket, true
	case unix.DT_CHR:
		return fs.ModeDevice | fs.ModeCharDevice, true
	case unix.DT_BLK:
		return fs.ModeDevice, true
	}
	return 0, false
}
