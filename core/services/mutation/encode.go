package mutation

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/textfile"
)

// byteOrderMark is the character that marks the encoding at the beginning of a file.
const byteOrderMark = "\ufeff"

// encode encodes the new text. It refuses bytes that would decode to a different text, so that the
// reported state equals the result of the next read.
func (s *Service) encode(p *Plan) *fault.Error {
	p.dropCopiedMark()
	format, text := p.format(), p.change.Text
	data, err := format.EncodeShared(text)
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

// dropCopiedBOM removes a byte order mark from the beginning of a text whose file has one anyway:
// the mark was copied from the file.
func (p *Plan) dropCopiedMark() {
	if !p.format().BOM || strings.HasPrefix(p.base.Text, byteOrderMark) {
		return
	}
	if text, had := strings.CutPrefix(p.change.Text, byteOrderMark); had {
		p.change.Text, p.change.Diff = text, nil
	}
}

// format returns the format of the base, or plain UTF-8 for a new file, with the byte order mark
// that the change requests.
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

// readsBack reports whether data, the encoded text, decodes to the same text without knowledge of
// the format.
func readsBack(format textfile.Format, text string, data []byte) bool {
	if format.Encoding == textfile.UTF8 && !format.BOM && !strings.HasPrefix(text, byteOrderMark) {
		return true // valid UTF-8 without a mark always decodes as UTF-8
	}
	doc := textfile.DecodeShared(data)
	return doc.Lossless && doc.Text == text
}

func (s *Service) refuseAsNonText(p *Plan, format textfile.Format) *fault.Error {
	return fault.New(fault.FileWriteFailure, "mutation.encode",
		fmt.Sprintf("With the new text, in %s, %s would be detected as binary, and these tools could no longer read or change it.",
			format.Encoding, p.request.Path.String()),
		"Leave out NUL, other control characters and signatures of binary formats; or write the file with a shell command if it is meant to be binary.")
}

func refuseGarbled(p *Plan, format textfile.Format) *fault.Error {
	if !p.base.Exists || !format.BOM && format.Encoding == textfile.UTF8 {
		return fault.New(fault.FileWriteFailure, "mutation.encode",
			fmt.Sprintf("The new text begins with U+FEFF, which is a byte order mark at the beginning of a file in %s: %s would decode to a different text.",
				format.Encoding, p.request.Path.String()),
			"Leave the character out; if the file needs a byte order mark, add it with a shell command.")
	}
	return fault.New(fault.FileWriteFailure, "mutation.encode",
		fmt.Sprintf("%s is in %s without a byte order mark: with the new text another encoding would be detected, and the file would decode to a different text.",
			p.request.Path.String(), format.Encoding),
		"Convert the file to UTF-8 with a shell command, read it again and then change it; or use other characters.")
}
