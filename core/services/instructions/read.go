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
// replaced; not ok if it is empty or cannot be read.
func (f *Finder) read(path string) (Document, bool) {
	p, err := f.files.Resolve(path)
	if err != nil {
		return Document{}, false
	}
	file, err := f.files.OpenRead(p)
	if err != nil {
		return Document{}, false
	}
	defer file.Close()
	info, err := workspace.InfoOf(file)
	if err != nil || !info.Mode.IsRegular() {
		return Document{}, false
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil || len(text) == 0 {
		return Document{}, false
	}
	key := strings.ToLower(path)
	if info.Identified() {
		key = fmt.Sprintf("%d:%d", info.Dev, info.Ino)
	}
	return Document{Path: path, Text: strings.ToValidUTF8(string(text), "\uFFFD"), Key: key}, true
}
