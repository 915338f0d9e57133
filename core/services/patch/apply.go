package patch

import (
	"errors"
	"io"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/fettle-dev/fettle/core/fault"
)

// ApplyStrict applies c with go-gitdiff's strict applier, which accepts neither offset nor fuzz:
// base must contain every context and removed line at its place, byte for byte. It fails with code
// patch_apply_failed.
//
// The applier receives only the lines of a fragment, because it would copy the whole text.
func ApplyStrict(base string, c *Change) (string, error) {
	if c.empty() {
		return base, nil
	}
	var out strings.Builder
	out.Grow(len(base) + c.growth())
	rest, number := base, int64(1) // the text after the last fragment, and the number of its first line
	for i, f := range c.fragments {
		if err := checkEnds(f, i == len(c.fragments)-1); err != nil {
			return "", ApplyFailed(err)
		}
		shown := *f
		if f.OldPosition > 0 {
			before, ok := lengthOf(rest, f.OldPosition-number)
			if !ok {
				return "", ApplyFailed(errors.New("a fragment overlaps with the previous one, or lies beyond the end"))
			}
			out.WriteString(rest[:before])
			rest, shown.OldPosition = rest[before:], 1
		}
		window, _ := lengthOf(rest, f.OldLines)
		source := newLineSource(rest[:window])
		if f.OldPosition == 0 || f.NewPosition == 0 {
			source = newLineSource(rest) // nothing else may follow
		}
		if err := gitdiff.NewTextApplier(&out, source).ApplyFragment(&shown); err != nil {
			return "", ApplyFailed(err)
		}
		rest, number = rest[window:], f.OldPosition+f.OldLines
	}
	out.WriteString(rest)
	return out.String(), nil
}

// lengthOf returns the length in bytes of the first n lines of text, and false if it has fewer or n
// is negative.
func lengthOf(text string, n int64) (bytes int, ok bool) {
	for ; n > 0 && bytes < len(text); n-- {
		i := strings.IndexByte(text[bytes:], '\n') + 1
		if i == 0 {
			i = len(text) - bytes
		}
		bytes += i
	}
	return bytes, n == 0
}

// ApplyFailed returns the error for a corrected diff that could not be applied: cause itself if it
// has the code already, or a new error of code patch_apply_failed.
func ApplyFailed(cause error) *fault.Error {
	if e := fault.As(cause); e != nil && e.Code == fault.PatchApplyFailed {
		return e
	}
	return fault.Wrap(fault.PatchApplyFailed, "patch.apply", applyMessage,
		"Read the file again and create a new diff; or use write_file with the whole new content.", cause)
}

// growth returns the number of bytes that c adds to a text, 0 if it makes it shorter.
func (c *Change) growth() int {
	n := 0
	for _, f := range c.fragments {
		for _, l := range f.Lines {
			switch l.Op {
			case gitdiff.OpAdd:
				n += len(l.Line)
			case gitdiff.OpDelete:
				n -= len(l.Line)
			}
		}
	}
	return max(n, 0)
}

// checkEnds refuses a fragment with a line without its line feed before the end of the text,
// because the applier would join it with the next line.
func checkEnds(f *gitdiff.TextFragment, last bool) error {
	olds, news := f.OldLines, f.NewLines
	for _, l := range f.Lines {
		if l.Old() {
			olds--
		}
		if l.New() {
			news--
		}
		if l.NoEOL() && (!last || l.Old() && olds > 0 || l.New() && news > 0) {
			return errors.New("a line before the last one has no line feed")
		}
	}
	return nil
}

// lineSource provides the lines of a text by number to the applier.
type lineSource struct {
	*strings.Reader
	text   string
	starts []int // byte offset of each line, and the length of the text
}

func newLineSource(text string) *lineSource {
	starts := make([]int, 0, strings.Count(text, "\n")+2)
	for at := 0; at < len(text); {
		starts = append(starts, at)
		n := strings.IndexByte(text[at:], '\n') + 1
		if n == 0 {
			n = len(text) - at
		}
		at += n
	}
	return &lineSource{strings.NewReader(text), text, append(starts, len(text))}
}

// ReadLinesAt implements [gitdiff.LineReaderAt].
func (s *lineSource) ReadLinesAt(lines [][]byte, offset int64) (int, error) {
	if len(lines) == 0 { // requested if a fragment has no old lines
		return 0, nil
	}
	count := int64(len(s.starts) - 1)
	if offset < 0 || offset >= count {
		return 0, io.EOF
	}
	n := int(min(int64(len(lines)), count-offset))
	first := s.starts[offset]
	block := []byte(s.text[first:s.starts[int(offset)+n]])
	for i := range n {
		from, to := s.starts[int(offset)+i]-first, s.starts[int(offset)+i+1]-first
		lines[i] = block[from:to:to]
	}
	if n < len(lines) {
		return n, io.EOF
	}
	return n, nil
}
