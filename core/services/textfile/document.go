// Package textfile detects the kind of a file from its bytes. It decodes text files and encodes
// them again without changing any other byte.
package textfile

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"

	"github.com/fettle-dev/fettle/core/fault"
)

// Format is the format of a text file: the properties to keep when its text is replaced.
type Format struct {
	Encoding string  // lower-case IANA name: "utf-8", "utf-16le", "windows-1252"; "" means "utf-8"
	BOM      bool    // the file begins with a byte order mark; UTF encodings only
	Newline  Newline // the line endings of the text; Encode ignores it
}

// Document is a decoded text file.
type Document struct {
	Text     string // without the byte order mark, with the line endings of the file
	Format   Format
	Lossless bool // Format.Encode(Text) returns the same bytes; otherwise a rewrite would change other text, so the file must not be changed
}

// Decode decodes the bytes of a file. It chooses, in this order: the encoding of a byte order mark;
// UTF-8; a legacy encoding with sufficient evidence. UTF-16 and UTF-32 without a mark are not
// recognized.
//
// Decode never fails. Bytes that cannot be decoded become U+FFFD, and Lossless is false.
func Decode(data []byte) Document {
	return decoded(data, func(data []byte) string { return string(data) })
}

// decoded is Decode with a function that converts valid UTF-8.
func decoded(data []byte, utf8Text func([]byte) string) Document {
	d := decode(data, utf8Text)
	d.Format.Newline = NewlineOf(d.Text)
	return d
}

func decode(data []byte, utf8Text func([]byte) string) Document {
	if name, mark := markOf(data); mark > 0 {
		return decodeMarked(data, name, mark)
	}
	if utf8.Valid(data) {
		return Document{Text: utf8Text(data), Format: Format{Encoding: UTF8}, Lossless: true}
	}
	if name, text, ok := guess(data); ok {
		return Document{Text: text, Format: Format{Encoding: name}, Lossless: true}
	}
	return Document{Text: string(bytes.ToValidUTF8(data, []byte(replacement))), Format: Format{Encoding: UTF8}}
}

// decodeMarked decodes data after its byte order mark.
func decodeMarked(data []byte, name string, mark int) Document {
	d := Document{Format: Format{Encoding: name, BOM: true}}
	body := data[mark:]
	if name == UTF8 {
		d.Lossless = utf8.Valid(body)
		d.Text = string(bytes.ToValidUTF8(body, []byte(replacement)))
		return d
	}
	text, ok := decodeExactly(body, codecOf(name))
	if !ok && name == UTF32LE {
		// A UTF-16 file whose first character is NUL begins with the same four bytes.
		if as16, ok := decodeExactly(data[len(markUTF16LE):], codecOf(UTF16LE)); ok {
			return Document{Text: as16, Format: Format{Encoding: UTF16LE, BOM: true}, Lossless: true}
		}
	}
	d.Text, d.Lossless = text, ok
	return d
}

// decodeExactly decodes data; ok reports whether encoding the text returns the same data.
func decodeExactly(data []byte, codec encoding.Encoding) (text string, ok bool) {
	decoded, err := codec.NewDecoder().Bytes(data)
	if err != nil {
		return string(bytes.ToValidUTF8(data, []byte(replacement))), false
	}
	encoded, err := codec.NewEncoder().Bytes(decoded)
	return string(decoded), err == nil && bytes.Equal(encoded, data)
}

// Encode encodes text in this format. The error has code file_write_failure if the encoding has no
// code for a character (the message contains the character and its 1-based line), if the text is
// not valid UTF-8, or if the encoding is unknown.
func (f Format) Encode(text string) ([]byte, error) {
	const op = "textfile.encode"
	if !utf8.ValidString(text) {
		line := 1 + strings.Count(text[:firstInvalid(text)], "\n")
		return nil, fault.New(fault.FileWriteFailure, op,
			fmt.Sprintf("The new text is not valid UTF-8 on line %d.", line), "Send valid UTF-8 text.")
	}
	mark := ""
	if f.BOM {
		mark = markFor(f.Encoding)
	}
	if f.Encoding == UTF8 || f.Encoding == "" {
		return append(append(make([]byte, 0, len(mark)+len(text)), mark...), text...), nil
	}
	codec := codecOf(f.Encoding)
	if codec == nil {
		return nil, fault.New(fault.FileWriteFailure, op,
			"The encoding "+f.Encoding+" is unknown.", "Use an encoding of the IANA registry.")
	}
	encoded, err := codec.NewEncoder().Bytes([]byte(text))
	if err != nil {
		return nil, unencodable(op, f.Encoding, codec, text, err)
	}
	return append([]byte(mark), encoded...), nil
}

func firstInvalid(text string) int {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return i
			}
		}
	}
	return len(text)
}

// unencodable returns an error for the first character without a code.
func unencodable(op, name string, codec encoding.Encoding, text string, cause error) error {
	line := 1
	for _, r := range text {
		if r == '\n' {
			line++
		}
		if _, err := codec.NewEncoder().String(string(r)); err != nil {
			return fault.Wrap(fault.FileWriteFailure, op,
				fmt.Sprintf("The file's encoding, %s, has no code for %q (%U) on line %d of the new text.", name, r, r, line),
				"Use characters of that encoding, or ask the user to convert the file to UTF-8.", cause)
		}
	}
	return fault.Wrap(fault.FileWriteFailure, op, "The new text cannot be encoded in the file's encoding, "+name+".",
		"Ask the user to convert the file to UTF-8.", cause)
}
