package display

import (
	"fmt"
	"slices"
	"strings"
)

// FileChange is the change of one file of a set.
type FileChange struct {
	Change string // kind and path, such as "update a.txt"; safe to print
	Diff   string // unified; "" if no text changes
}

// FileChanges returns the changes in the text of a set: for each file a line with its
// kind and path, then its diff. It is nil for a text that begins with a diff.
func FileChanges(text string) []FileChange {
	var files []FileChange
	hunk := hunkRest{}
	for line := range strings.Lines(text) {
		n := len(files) - 1
		switch {
		case hunk.takes(line), n >= 0 && ofDiff(line):
			if n < 0 {
				return nil
			}
			files[n].Diff += line
		case strings.TrimSpace(line) != "":
			files = append(files, FileChange{Change: Line(strings.TrimSuffix(line, "\n"))})
		}
	}
	return files
}

// ResultChanges returns the changes in the text of a result, nil if it is no result of
// a set of changes.
func ResultChanges(text string) []FileChange {
	first, _, _ := strings.Cut(text, "\n")
	if !isChange(first) { // most results
		return nil
	}
	files := FileChanges(text)
	if slices.ContainsFunc(files, func(f FileChange) bool { return !isChange(f.Change) }) {
		return nil
	}
	return files
}

// isChange reports whether a line has the kind and the path of a change.
func isChange(line string) bool {
	kind, path, _ := strings.Cut(line, " ")
	return path != "" && slices.Contains([]string{"create", "update", "delete", "move"}, kind)
}

// renderSet formats the changes of a set, with the numbers of their lines.
func renderSet(b *strings.Builder, files []FileChange, colour bool) {
	for _, f := range files {
		diff, added, removed := TerminalNumberedDiff(f.Diff, colour)
		fmt.Fprintf(b, "%s  %s\n%s", f.Change, RenderStat(added, removed, colour), diff)
	}
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
	h.before, h.after = HunkLines(line)
	return h.before > 0 || h.after > 0
}
