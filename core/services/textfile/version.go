package textfile

import (
	"path"
	"strings"
)

const markText = "\ufeff"

// Version is a version of a text file, for comparisons and merges. The zero value is an absent or
// empty file.
type Version struct {
	Text     string // begins with U+FEFF if the file begins with a byte order mark
	Encoding string // as in [Format]
}

// VersionOf decodes a version of the file with a name. ok is false if it is not text, or encoding it
// again would not return the same bytes. Text may share the memory of data, which must not be
// changed any more.
func VersionOf(name string, data []byte) (v Version, ok bool) {
	size := int64(len(data))
	class := Classify(path.Base(name), data[:min(size, HeadSize)], size)
	d := DecodeShared(data)
	if class.Kind != KindText && class.Kind != KindSVG || !d.Lossless || strings.IndexByte(d.Text, 0) >= 0 {
		return Version{}, false
	}
	if d.Format.BOM {
		d.Text = markText + d.Text
	}
	return Version{d.Text, d.Format.Encoding}, true
}

// Encode encodes the text. ok is false if its encoding has no code for a character, or the bytes
// would be read as another text.
func (v Version) Encode(name string) (data []byte, ok bool) {
	text, marked := strings.CutPrefix(v.Text, markText)
	data, err := Format{Encoding: v.Encoding, BOM: marked}.Encode(text)
	if err != nil {
		return nil, false
	}
	again, ok := VersionOf(name, data)
	return data, ok && again.Text == v.Text
}

// Recoding returns a line about the change of the encoding to that of next; "" if there is none.
func (v Version) Recoding(next Version) string {
	if v.Text == "" || next.Text == "" || v.Encoding == next.Encoding {
		return ""
	}
	return "encoding " + v.Encoding + " becomes " + next.Encoding + "\n"
}
