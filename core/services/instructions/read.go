package instructions

import (
	"fmt"
	"io"
	"strings"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// maxFile is the limit of the bytes read of one instruction file.
const maxFile = 256 << 10

// read returns one instruction file, truncated at maxFile, with invalid UTF-8 replaced. It reports
// false if skip accepts its key, if the file is empty or unreadable, or if it is a link to a file
// that may not be shown.
func (f *Finder) read(path string, skip func(key string) bool) (Document, bool) {
	p, err := f.files.Resolve(path)
	if err != nil {
		return Document{}, false
	}
	info, err := f.files.Stat(p)
	if err != nil || !info.Mode.IsRegular() || info.Size == 0 || skip(keyOf(path, info)) {
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
	// The opened file may differ from the file of the stat call.
	info, err = workspace.InfoOf(file)
	if err != nil || !info.Mode.IsRegular() || skip(keyOf(path, info)) {
		return Document{}, false
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil || len(text) == 0 {
		return Document{}, false
	}
	return Document{Path: path, Text: strings.ToValidUTF8(string(text), "\uFFFD"), Key: keyOf(path, info)}, true
}

// target returns p with links resolved. It reports false if the target is outside of the workspace
// or may not be shown. A path without links is its own target and needs no permission.
func (f *Finder) target(p workspace.Path) (workspace.Path, bool) {
	real, err := f.files.RealPath(p.String())
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
