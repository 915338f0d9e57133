package files

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/textfile"
)

// File is one version of a file: the result of a read or a change, and the base of the next change.
// A program that has only the hash, such as a web service with a header If-Match, makes a File of
// name and hash.
type File struct {
	Name   string // relative to the directory, with slashes
	SHA256 string // of the bytes, lower-case hex; "": the file does not exist
	Data   []byte // the bytes, not to be changed; optional in a base

	// Carried reports that another program had changed the file since the base, and the change was
	// carried over: Data has both changes.
	Carried bool
	// Kept has the absolute names of files with bytes that other programs wrote during the change, or
	// its set, next to their targets.
	Kept []string
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Text returns the decoded text without its byte order mark. The error has code read_content_failure
// and reason non_text: Data is not text, or would not survive encoding.
func (f File) Text() (string, error) {
	doc, err := f.document()
	return doc.Text, failure("text", err)
}

// Encode returns text in the encoding of Data, with its byte order mark. The error has code
// file_write_failure: the encoding has no code for a character, or Encode's result would be read as
// another text. It has the code of [File.Text] if Data is not text.
func (f File) Encode(text string) ([]byte, error) {
	doc, err := f.document()
	if err != nil {
		return nil, failure("encode", err)
	}
	data, err := f.encode(doc.Format, text)
	return data, failure("encode", err)
}

func (f File) document() (textfile.Document, error) {
	size := int64(len(f.Data))
	class := textfile.Classify(path.Base(f.Name), f.Data[:min(size, textfile.HeadSize)], size)
	doc := textfile.Decode(f.Data)
	if class.Kind != textfile.KindText && class.Kind != textfile.KindSVG || !doc.Lossless {
		return textfile.Document{}, fault.New(fault.ReadContentFailure, "", f.Name+" is not a text file in a known encoding.",
			"Change its bytes with Write.").Because(fault.NonText)
	}
	return doc, nil
}

// encode encodes text, and verifies that a read returns the same text.
func (f File) encode(format textfile.Format, text string) ([]byte, error) {
	data, err := format.Encode(text)
	if err != nil {
		return nil, err
	}
	back, err := File{Name: f.Name, Data: data}.document()
	if err != nil || back.Text != text {
		return nil, fault.Wrap(fault.FileWriteFailure, "",
			fmt.Sprintf("The new text of %s, in %s, would be read as another text or as binary.", f.Name, format.Encoding), "", err)
	}
	return data, nil
}
