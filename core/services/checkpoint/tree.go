package checkpoint

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// print is the stat data of a file, which shows that it may have changed.
type print struct {
	size, mtime, ctime int64
	dev, ino           uint64
	mode               fs.FileMode
}

func printOf(i workspace.Info) print {
	return print{i.Size, i.MtimeNS, i.CtimeNS, i.Dev, i.Ino, i.Mode}
}

// seen is the result of inspecting a path.
type seen struct {
	state State
	print print
	at    int64 // in nanoseconds since 1970, just before it was read
	round int   // the last full scan that has seen it
}

// racyWindow is how long before a scan a file must have been unchanged for its times to prove that
// it is the same: clocks of file systems are coarse.
const racyWindow = 20_000_000 // ns

// settled reports whether a file with this print is unchanged.
func (s *seen) settled(now print) bool {
	return s.print == now && s.at-max(now.mtime, now.ctime) >= racyWindow
}

// tree contains the files below the directories of a workspace, by absolute path.
type tree map[string]*seen

// kept returns the number of bytes of stored files.
func (t tree) kept() int64 {
	var total int64
	for _, e := range t {
		total += e.state.keptBytes()
	}
	return total
}

func (s State) keptBytes() int64 {
	if s.Kind == File && s.NotStored == "" {
		return s.Size
	}
	return 0
}

const treeMagic = "fettle tree 1\n"

var kinds = []Kind{Absent, File, Link, Directory, Other} // their indexes are encoded

// encode returns the tree as bytes, deterministically.
func (t tree) encode() []byte {
	b := make([]byte, 0, 128*len(t)+len(treeMagic))
	b = append(b, treeMagic...)
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	for _, path := range slices.Sorted(maps.Keys(t)) {
		e := t[path]
		sum, _ := hex.DecodeString(e.state.SHA256) // "" for contents that are not stored
		text(path)
		b = append(b, byte(slices.Index(kinds, e.state.Kind)))
		text(string(sum))
		text(string(e.state.Target))
		text(e.state.NotStored)
		for _, n := range []int64{e.state.Size, int64(e.state.Mode), e.state.Stamp, e.print.size, e.print.mtime, e.print.ctime, int64(e.print.mode), e.at} {
			b = binary.AppendVarint(b, n)
		}
		b = binary.AppendUvarint(b, e.print.dev)
		b = binary.AppendUvarint(b, e.print.ino)
	}
	return b
}

var errNoTree = errors.New("it is not a tree")

// decodeTree decodes the result of encode.
func decodeTree(b []byte) (tree, error) {
	if len(b) < len(treeMagic) || string(b[:len(treeMagic)]) != treeMagic {
		return nil, errNoTree
	}
	b = b[len(treeMagic):]
	ok := true
	unsigned := func() uint64 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			ok = false
			return 0
		}
		b = b[size:]
		return n
	}
	signed := func() int64 {
		n, size := binary.Varint(b)
		if size <= 0 {
			ok = false
			return 0
		}
		b = b[size:]
		return n
	}
	text := func() string {
		n := unsigned()
		if !ok || n > uint64(len(b)) {
			ok = false
			return ""
		}
		s := string(b[:n])
		b = b[n:]
		return s
	}
	t := tree{}
	for len(b) > 0 {
		path, e := text(), &seen{}
		if !ok || len(b) == 0 || int(b[0]) >= len(kinds) {
			return nil, errNoTree
		}
		e.state.Kind = kinds[b[0]]
		b = b[1:]
		e.state.SHA256 = hex.EncodeToString([]byte(text()))
		e.state.Target, e.state.NotStored = Name(text()), text()
		e.state.Size, e.state.Mode, e.state.Stamp = signed(), fs.FileMode(signed()), signed()
		e.print.size, e.print.mtime, e.print.ctime, e.print.mode, e.at = signed(), signed(), signed(), fs.FileMode(signed()), signed()
		e.print.dev, e.print.ino = unsigned(), unsigned()
		if !ok {
			return nil, errNoTree
		}
		t[path] = e
	}
	return t, nil
}
