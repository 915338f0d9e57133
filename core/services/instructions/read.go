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
// replaced; not ok if pass says so of its key, or if it is empty or cannot be
// read.
func (f *Finder) read(path string, pass func(key string) bool) (Document, bool) {
	p, err := f.files.Resolve(path)
	if err != nil {
		return Document{}, false
	}
	info, err := f.files.Stat(p)
	if err != nil || !info.Mode.IsRegular() || info.Size == 0 || pass(keyOf(path, info)) {
		return Document{}, false
	}
	file, err := f.files.OpenRead(p)
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

func keyOf(path string, info workspace.Info) string {
	if info.Identified() {
		return fmt.Sprintf("%d:%d", info.Dev, info.Ino)
	}
	return strings.ToLower(path)
}
