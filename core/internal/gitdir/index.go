package gitdir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// maxIndex is the limit of the bytes read of an index.
const maxIndex = 256 << 20

// errIndex is the error of an index that cannot be parsed although it may contain submodules.
var errIndex = errors.New("its submodules cannot be determined")

// gitlinks returns the paths of the submodules in an index, relative to the work tree, with "/". An
// index without submodules is only searched, not parsed.
func gitlinks(file string) ([]string, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxIndex:
		return nil, errIndex
	}
	data, err := os.ReadFile(file) //nolint:gosec // only names of submodules are used
	if err != nil {
		return nil, err
	}
	if len(data) < 12 || string(data[:4]) != "DIRC" {
		return nil, nil // git rejects it
	}
	var paths []string
	if bytes.Contains(data, []byte{0, 0, 0xe0, 0}) {
		var ok bool
		if paths, ok = parseIndex(data, 20); !ok {
			if paths, ok = parseIndex(data, 32); !ok {
				return nil, errIndex
			}
		}
	}
	if !bytes.Contains(data, []byte("link")) {
		return paths, nil
	}
	shared, err := filepath.Glob(filepath.Join(filepath.Dir(file), "sharedindex.*")) // of a split index
	for _, other := range shared {
		more, err := gitlinks(other)
		if err != nil {
			return nil, err
		}
		paths = append(paths, more...)
	}
	return paths, err
}

// parseIndex returns the paths of submodules in an index whose hashes have a number of bytes; false
// if it is invalid.
func parseIndex(data []byte, hash int) ([]string, bool) {
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return nil, false
	}
	var paths []string
	at, previous := 12, []byte(nil)
	for range count {
		start := at
		if at+40+hash+4 > len(data) {
			return nil, false
		}
		mode := binary.BigEndian.Uint32(data[at+24:])
		flags := binary.BigEndian.Uint16(data[at+40+hash:])
		at += 40 + hash + 2
		if flags&0x4000 != 0 {
			at += 2
		}
		strip := 0
		if version == 4 {
			n, used := offset(data[min(at, len(data)):])
			if used == 0 || n > len(previous) {
				return nil, false
			}
			strip, at = n, at+used
		}
		end := bytes.IndexByte(data[min(at, len(data)):], 0)
		if end < 0 {
			return nil, false
		}
		name := data[at : at+end]
		if version == 4 {
			name = append(bytes.Clone(previous[:len(previous)-strip]), name...)
			previous = name
			at += end + 1
		} else {
			at = start + (at+end-start+8)/8*8
		}
		switch mode >> 12 {
		case 0xe:
			paths = append(paths, string(name))
		case 0x4, 0x8, 0xa:
		default:
			return nil, false
		}
	}
	for len(data)-at > hash+8 { // extensions
		at += 8 + int(binary.BigEndian.Uint32(data[at+4:]))
	}
	return paths, len(data)-at == hash
}

// offset parses a number with a variable number of bytes, as in packs; used is 0 if it is invalid.
func offset(data []byte) (n, used int) {
	for used < len(data) && used < 5 {
		c := data[used]
		if used++; used > 1 {
			n++
		}
		n = n<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return n, used
		}
	}
	return 0, 0
}
