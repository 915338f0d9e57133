package mutation

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/textfile"
)

// byteOrderMark is the character that a file's first bytes are where they tell
// its encoding.
const byteOrderMark = "\ufeff"

// encode turns the new text into bytes that read back as that very text: what
// is reported of the file is what the next read of it shows.
func (s *Service) encode(p *Plan) *fault.Error {
	p.dropCopiedMark()
	format, text := p.format(), p.change.Text
	data, err := format.Encode(text)
	if err != nil {
		return asFault(err, "mutation.encode")
	}
	if !s.state.ShowsAsText(p.request.Path, data) {
		return s.refuseAsNonText(p, format)
	}
	if !readsBack(format, text, data) {
		return refuseGarbled(p, format)
	}
	p.data = data
	return nil
}

// dropCopiedMark removes the byte order mark from the head of a text whose
// file has one anyway: whoever gave the text has copied it.
func (p *Plan) dropCopiedMark() {
	if !p.format().BOM || strings.HasPrefix(p.base.Text, byteOrderMark) {
		return
	}
	if text, had := strings.CutPrefix(p.change.Text, byteOrderMark); had {
		p.change.Text, p.change.Diff = text, nil
	}
}

// format is the base's, or plain UTF-8 for a new file, with the byte-order mark that
// the change wants.
func (p *Plan) format() textfile.Format {
	format := textfile.Format{Encoding: textfile.UTF8}
	if p.base.Exists {
		format = p.base.Format
	}
	if p.change.BOM != nil {
		format.BOM = *p.change.BOM
	}
	return format
}

// readsBack reports whether data, which is text in format, is taken for the
// same text by whoever reads it without knowing the format.
func readsBack(format textfile.Format, text string, data []byte) bool {
	if format.Encoding == textfile.UTF8 && !format.BOM && !strings.HasPrefix(text, byteOrderMark) {
		return true // valid UTF-8 without a mark is always read as such
	}
	doc := textfile.Decode(data)
	return doc.Lossless && doc.Text == text
}

func (s *Service) refuseAsNonText(p *Plan, format textfile.Format) *fault.Error {
	return fault.New(fault.FileWriteFailure, "mutation.encode",
		fmt.Sprintf("With the new text, in %s, %s would no longer be taken for a text file, and could not be read or changed with these tools again.",
			format.Encoding, p.request.Path.String()),
		"Leave out NUL and other control characters, and what only a file of another kind begins with; or write the file by a shell command if it is meant to be binary.")
}

func refuseGarbled(p *Plan, format textfile.Format) *fault.Error {
	if !p.base.Exists || !format.BOM && format.Encoding == textfile.UTF8 {
		return fault.New(fault.FileWriteFailure, "mutation.encode",
			fmt.Sprintf("The new text begins with U+FEFF, which at the head of a file in %s is a byte order mark and not text: %s would read differently from what was given.",
				format.Encoding, p.request.Path.String()),
			"Leave the character out; if the file should have a byte order mark, add it by a shell command.")
	}
	return fault.New(fault.FileWriteFailure, "mutation.encode",
		fmt.Sprintf("%s is in %s, and nothing in it says so: with the new text its encoding would be taken for another, and it would read differently from what was given.",
			p.request.Path.String(), format.Encoding),
		"Convert the file to UTF-8 by a shell command, read it again and then change it; or use other characters.")
}
