package textfile

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is the kind of a file, for readers and viewers.
type Kind string

// The kinds. Only text and SVG are read as text.
const (
	KindText      Kind = "text"
	KindSVG       Kind = "svg"
	KindImage     Kind = "image"
	KindAudio     Kind = "audio"
	KindVideo     Kind = "video"
	KindPDF       Kind = "pdf"
	KindBinary    Kind = "binary"
	KindSpecial   Kind = "special" // FIFO, socket, device: never read
	KindDirectory Kind = "directory"
)

// HeadSize is the number of bytes of a longer file that [Classify] needs.
const HeadSize = 8 << 10

// Class is a kind with its MIME type, which is never empty.
type Class struct {
	Kind     Kind
	MIMEType string
}

// Classify returns the kind of a regular file from its first [HeadSize] bytes or all of them, its
// base name and its size in bytes.
//
// Content takes precedence: text is classified as text under any name, including an empty file.
// Only a PDF may look like text. A signature takes precedence over a name. The name distinguishes
// text from SVG, and classifies binary content without a known signature. UTF-16 and UTF-32 text
// without a byte order mark has many NUL bytes and is classified as binary.
func Classify(name string, head []byte, size int64) Class {
	cut := int64(len(head)) < size
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(name), "."))
	switch start, text := textStart(head, cut); {
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return Class{KindPDF, "application/pdf"}
	case text && ext == "svg" && bytes.HasPrefix(start, []byte("<")):
		return Class{KindSVG, "image/svg+xml"}
	case text:
		return Class{KindText, "text/plain"}
	}
	if mimeType := signature(head); mimeType != "" {
		return classOf(mimeType)
	}
	if mimeType := mimeOfExtension(ext); mimeType != "" {
		return classOf(mimeType)
	}
	if legacyText(head) {
		return Class{KindText, "text/plain"}
	}
	return Class{KindBinary, "application/octet-stream"}
}

// ClassifyMode classifies directories and special files by their mode. ok is false for a regular
// file, which [Classify] classifies.
func ClassifyMode(mode fs.FileMode) (c Class, ok bool) {
	switch mode.Type() {
	case 0:
		return Class{}, false
	case fs.ModeDir:
		return Class{KindDirectory, "inode/directory"}, true
	case fs.ModeNamedPipe:
		return Class{KindSpecial, "inode/fifo"}, true
	case fs.ModeSocket:
		return Class{KindSpecial, "inode/socket"}, true
	case fs.ModeDevice | fs.ModeCharDevice:
		return Class{KindSpecial, "inode/chardevice"}, true
	case fs.ModeDevice:
		return Class{KindSpecial, "inode/blockdevice"}, true
	case fs.ModeSymlink:
		return Class{KindSpecial, "inode/symlink"}, true
	}
	return Class{KindSpecial, "application/octet-stream"}, true
}

func classOf(mimeType string) Class {
	kind := KindBinary
	switch family, _, _ := strings.Cut(mimeType, "/"); family {
	case "image":
		kind = KindImage
	case "audio":
		kind = KindAudio
	case "video":
		kind = KindVideo
	}
	if mimeType == "application/pdf" {
		kind = KindPDF
	}
	return Class{kind, mimeType}
}

// textStart reports whether head is Unicode text, and returns it without its mark and leading
// blanks. If cut is set, the last character may be incomplete.
func textStart(head []byte, cut bool) (start []byte, text bool) {
	const longest = 4 // bytes of a character
	name, mark := markOf(head)
	body := head[mark:]
	if name != "" && name != UTF8 {
		if cut {
			body = body[:len(body)&^(longest-1)]
		}
		decoded, _ := codecOf(name).NewDecoder().Bytes(body)
		body = decoded
	} else if cut {
		for n := 0; n < longest-1 && len(body) > 0 && !utf8.Valid(body); n++ {
			body = body[:len(body)-1]
		}
	}
	if !utf8.Valid(body) || manyControls(body) {
		return nil, false
	}
	return bytes.TrimLeftFunc(body, unicode.IsSpace), true
}

// legacyText reports whether head may be text in a code page.
func legacyText(head []byte) bool { return !manyControls(head) }

// manyControls reports whether data has a NUL, or more than a tenth of control characters that are
// unusual in text.
func manyControls(data []byte) bool {
	const share = 10
	n := 0
	for _, b := range data {
		switch {
		case b == 0:
			return true
		case b >= ' ' && b != 0x7f, b >= '\b' && b <= '\r', b == 0x1b: // blanks, backspace, escape
		default:
			n++
		}
	}
	return n*share > len(data)
}
