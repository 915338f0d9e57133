package patch

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// Messages that requirements fix to the letter.
const (
	absentMessage = "Invalid Diff: The provided diff content does not match the file's content. The context or lines to be removed may be incorrect." // FS-32
	applyMessage  = "Internal Error: The corrected patch failed to apply. Please review the diff for subtle errors."                                  // FS-39
)

// invalid returns an invalid_diff error. Its message gets the prefix that
// every refusal of a diff has.
func invalid(op, remedy, format string, args ...any) *fault.Error {
	return fault.New(fault.InvalidDiff, op, "Invalid Diff: "+fmt.Sprintf(format, args...), remedy)
}

// lineList writes 1-based line numbers of 0-based places, the first ten of
// them.
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

// excerpt quotes a line in a message, cut where it is long.
func excerpt(line string) string { return escape.Quote(escape.ClipBytes(content(line), 160)) }

// ambiguous refuses a hunk that fits in several places, or in one while what it
// would produce stands in another. why says what its header or text lacks.
func ambiguous(h *hunk, c *candidates, why string) *fault.Error {
	fits := fmt.Sprintf("it fits at line %s", lineList(c.olds))
	if len(c.olds) > 1 {
		fits = fmt.Sprintf("it fits at %d places, which begin at lines %s", len(c.olds), lineList(c.olds))
	}
	remedy := "Add unchanged lines around the change until they occur only once in the file, or state the right line number in `@@ -line,count +line,count @@`."
	if len(c.news) > 0 {
		fits += fmt.Sprintf(", what it would produce already stands at line %s", lineList(c.news))
		remedy += " If the diff has been applied already, there is nothing left to do."
	}
	e := invalid("patch.correct", remedy, "Hunk %d is ambiguous: %s, and it %s.", h.number, fits, why)
	e.Code = fault.AmbiguousDiff
	return e
}

// tooRepetitive refuses a hunk whose places are too many to compare.
func tooRepetitive(h *hunk) *fault.Error {
	e := invalid("patch.correct", "Send fewer hunks in one diff, each with lines that occur only once in the file.",
		"Hunk %d is ambiguous: its lines occur so often in the file that its place cannot be found.", h.number)
	e.Code = fault.AmbiguousDiff
	return e
}

// applied refuses a hunk whose result stands in the file already.
func applied(h *hunk, places []int32) *fault.Error {
	return fault.New(fault.InvalidDiff, "patch.correct", absentMessage, fmt.Sprintf(
		"The lines that hunk %d would produce already stand in the file, from line %s on: it seems to have been applied already. Compare with the file's current content and send only what is still missing.",
		h.number, lineList(places)))
}
