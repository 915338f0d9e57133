package patch

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// Messages with fixed wording.
const (
	absentMessage = "Invalid Diff: The provided diff content does not match the file's content. The context or lines to be removed may be incorrect." // the message for old lines that do not occur
	applyMessage  = "Internal Error: The corrected patch failed to apply. Please review the diff for subtle errors."                                  // the message for a corrected patch that fails
)

// invalid returns an invalid_diff error. Its message gets the prefix of all refused diffs.
func invalid(op, remedy, format string, args ...any) *fault.Error {
	return fault.New(fault.InvalidDiff, op, "Invalid Diff: "+fmt.Sprintf(format, args...), remedy)
}

// lineList formats 1-based line numbers of 0-based places, the first ten of them.
func lineList(places []int32) string {
	const most = 10
	var b strings.Builder
	for i, p := range places {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(places)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d", p+1)
	}
	return b.String()
}

// excerpt quotes a line in a message, truncated if it is long.
func excerpt(line string) string { return escape.Quote(escape.ClipBytes(content(line), 160)) }

// ambiguous refuses a hunk that fits in several places, or in one while its result occurs in
// another. why describes the deficiency of its header or text.
func ambiguous(h *hunk, c *candidates, why string) *fault.Error {
	fits := fmt.Sprintf("it fits at line %s", lineList(c.olds))
	if len(c.olds) > 1 {
		fits = fmt.Sprintf("it fits at %d places, which begin at lines %s", len(c.olds), lineList(c.olds))
	}
	remedy := "Add unchanged lines around the change until they occur only once in the file, or state the right line number in `@@ -line,count +line,count @@`."
	if h.section {
		remedy = "Add unchanged lines around the change until they occur only once in the file, or above it `@@` and the first line of the block around it, which occurs only once."
	}
	if len(c.news) > 0 {
		fits += fmt.Sprintf(", its result already occurs at line %s", lineList(c.news))
		remedy += " If the diff has been applied already, nothing more is needed."
	}
	e := invalid("patch.correct", remedy, "Hunk %d is ambiguous: %s, and it %s.", h.number, fits, why)
	e.Code = fault.AmbiguousDiff
	return e
}

// tooRepetitive refuses a hunk with too many places to compare.
func tooRepetitive(h *hunk) *fault.Error {
	e := invalid("patch.correct", "Send fewer hunks in one diff, each with lines that occur only once in the file.",
		"Hunk %d is ambiguous: its lines occur so often in the file that its place cannot be found.", h.number)
	e.Code = fault.AmbiguousDiff
	return e
}

// applied refuses a hunk whose result is in the file already.
func applied(h *hunk, places []int32) *fault.Error {
	return fault.New(fault.InvalidDiff, "patch.correct", absentMessage, fmt.Sprintf(
		"The result of hunk %d is already in the file, from line %s on: it seems to have been applied already. Compare with the file's current content and send only the missing changes.",
		h.number, lineList(places)))
}
