package instructions

import (
	"fmt"
	"io"
	"strings"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// maxFile bounds the bytes taken of one instruction file.
const maxFile = 256 << 10

// read returns one instruction file, cut at maxFile, bytes that are not UTF-8
// replaced; not ok if pass says so of its key, if it is empty or cannot be read,
// or if it is a link to what may not be shown.
func (f *Finder) read(path string, pass func(key string) bool) (Document, bool) {
	p, err := f.files.Resolve(path)
	if err != nil {
		return Document{}, false
	}
	info, err := f.files.Stat(p)
	if err != nil || !info.Mode.IsRegular() || info.Size == 0 || pass(keyOf(path, info)) {
		return Document{}, false
	}
	target, ok := f.target(p)
	if !ok {
		return Document{}, false
	}
	file, err := f.files.OpenRead(target)
	if err != nil {
		return Document{}, false
	}
	defer file.Close()
	// What was opened need not be what was looked at.
	info, err = workspace.InfoOf(file)
	if err != nil || !info.Mode.IsRegular() || pass(keyOf(path, info)) {
		return Document{}, false
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil || len(text) == 0 {
		return Document{}, false
	}
	return Document{Path: path, Text: strings.ToValidUTF8(string(text), "\uFFFD"), Key: keyOf(path, info)}, true
}

// target returns where links lead that p's name may hold; not ok if it lies
// outside the workspace or may not be shown. A name that holds none is its own
// target, which is not asked about.
func (f *Finder) target(p workspace.Path) (workspace.Path, bool) {
	real, err := workspace.RealPath(p.String())
	if err != nil {
		return p, false
	}
	target, err := f.files.Resolve(real)
	if err != nil {
		return p, false
	}
	return target, target == p || f.o.MayShow == nil || f.o.MayShow(target)
}

func keyOf(path string, info workspace.Info) string {
	if info.Identified() {
		return fmt.Sprintf("%d:%d", info.Dev, info.Ino)
	}
	return strings.ToLower(path)
}
