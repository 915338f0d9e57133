package textfile

import (
	"unicode/utf8"
	"unsafe"
)

// DecodeShared is [Decode] without a copy where that is possible: the text may share the memory of data, which must not
// be changed any more.
func DecodeShared(data []byte) Document {
	return decoded(data, func(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) })
}

// EncodeShared is [Format.Encode] without a copy where that is possible: the bytes may be those of text, and must not be
// changed.
func (f Format) EncodeShared(text string) ([]byte, error) {
	if text == "" || f.BOM || f.Encoding != UTF8 && f.Encoding != "" || !utf8.ValidString(text) {
		return f.Encode(text)
	}
	return unsafe.Slice(unsafe.StringData(text), len(text)), nil
}
