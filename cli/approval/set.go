package approval

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
)

// FileChange is the change of one file of a set.
type FileChange struct {
	Change string // kind and path, such as "update a.txt"; safe for the terminal
	Diff   string // unified; "" if no text changes
}

// Files returns the changes of a request about several files; nil if the request is not
// about a set, or if its text does not have one change a file.
func Files(q bus.ToolConfirmationRequest) []FileChange {
	c := q.Details
	if c.InfoDetails == nil || len(c.Bases) == 0 {
		return nil
	}
	var files []FileChange
	hunk := hunkRest{}
	for line := range strings.Lines(setText(c.Prompt)) {
		n := len(files) - 1
		switch {
		case hunk.takes(line), n >= 0 && ofDiff(line):
			if n < 0 {
				return nil
			}
			files[n].Diff += line
		case strings.TrimSpace(line) != "":
			files = append(files, FileChange{Change: display.Line(strings.TrimSuffix(line, "\n"))})
		}
	}
	if len(files) != len(c.Bases) {
		return nil
	}
	return files
}

// setText returns the text of a set without its Markdown fence.
func setText(prompt string) string {
	_, text, _ := strings.Cut(prompt, "\n")
	return strings.TrimRight(text, "`")
}

// ofDiff reports whether a line outside of a hunk belongs to a diff.
func ofDiff(line string) bool {
	for _, prefix := range []string{"--- ", "+++ ", "@@ ", `\ `} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

// hunkRest counts the lines that are still to come in a hunk, so that no line of a file
// can look like the head of another file.
type hunkRest struct{ before, after int }

// takes reports whether the line belongs to the hunk, or starts one.
func (h *hunkRest) takes(line string) bool {
	if h.before > 0 || h.after > 0 {
		switch line[0] {
		case '+':
			h.after--
		case '-':
			h.before--
		case '\\':
		default:
			h.before--
			h.after--
		}
		return true
	}
	h.before, h.after = display.HunkLines(line)
	return h.before > 0 || h.after > 0
}
