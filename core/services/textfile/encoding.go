package textfile

import (
	"bytes"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// Names of the Unicode encodings in [Format].
const (
	UTF8    = "utf-8"
	UTF16LE = "utf-16le"
	UTF16BE = "utf-16be"
	UTF32LE = "utf-32le"
	UTF32BE = "utf-32be"
)

// Byte order marks.
const (
	markUTF8    = "\xef\xbb\xbf"
	markUTF16LE = "\xff\xfe"
	markUTF16BE = "\xfe\xff"
	markUTF32LE = "\xff\xfe\x00\x00"
	markUTF32BE = "\x00\x00\xfe\xff"
)

const replacement = "\uFFFD"

// markOf returns the encoding of a byte order mark and the length of the mark; 0 without one.
func markOf(data []byte) (name string, length int) {
	switch {
	case bytes.HasPrefix(data, []byte(markUTF8)):
		return UTF8, len(markUTF8)
	case bytes.HasPrefix(data, []byte(markUTF32LE)): // before UTF-16, because the mark begins with that of UTF-16
		return UTF32LE, len(markUTF32LE)
	case bytes.HasPrefix(data, []byte(markUTF32BE)):
		return UTF32BE, len(markUTF32BE)
	case bytes.HasPrefix(data, []byte(markUTF16LE)):
		return UTF16LE, len(markUTF16LE)
	case bytes.HasPrefix(data, []byte(markUTF16BE)):
		return UTF16BE, len(markUTF16BE)
	}
	return "", 0
}

func markFor(name string) string {
	switch name {
	case UTF8, "":
		return markUTF8
	case UTF16LE:
		return markUTF16LE
	case UTF16BE:
		return markUTF16BE
	case UTF32LE:
		return markUTF32LE
	case UTF32BE:
		return markUTF32BE
	}
	return ""
}

// codecOf returns the codec of an IANA name, nil for an unknown one. The Unicode codecs neither
// read nor write a byte order mark.
func codecOf(name string) encoding.Encoding {
	switch name {
	case UTF8:
		return unicode.UTF8
	case UTF16LE:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case UTF16BE:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case UTF32LE:
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case UTF32BE:
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	}
	// Package htmlindex would replace iso-8859-1 with windows-1252, so the exact encodings are
	// used.
	codec, err := ianaindex.IANA.Encoding(name)
	if err != nil {
		return nil
	}
	return codec
}
