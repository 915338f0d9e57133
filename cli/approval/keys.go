package approval

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
)

// replyFor returns the reply for a line, and the comment after a no. Enter alone is a
// no; the end of input is not.
func replyFor(offered []bus.OutcomeInfo, line string) (c bus.OutcomeInfo, feedback string, known bool) {
	typed := strings.TrimSpace(line)
	for _, c := range offered {
		switch {
		case strings.EqualFold(typed, c.Key), strings.EqualFold(typed, c.Word):
			return c, "", true
		case c.Outcome != bus.Cancel:
		case typed == "" && line != "":
			return c, "", true
		default:
			first, rest, more := strings.Cut(typed, " ")
			first = strings.TrimRight(first, ",.;:")
			if more && (strings.EqualFold(first, c.Key) || strings.EqualFold(first, c.Word)) {
				return c, strings.ToValidUTF8(strings.TrimSpace(rest), "\ufffd"), true
			}
		}
	}
	return bus.OutcomeInfo{}, "", false
}

// whichKeys lists the valid answers after an invalid one.
func whichKeys(offered []bus.OutcomeInfo) string {
	keys := make([]string, len(offered))
	for i, c := range offered {
		keys[i] = c.Key
	}
	no := keys[len(keys)-1]
	text := "Type " + no
	if others := keys[:len(keys)-1]; len(others) > 0 {
		text = "Type " + strings.Join(others, ", ") + " or " + no
	}
	return text + ", or " + no + " and a comment."
}

// renderKeys returns the line with the possible answers.
func renderKeys(offered []bus.OutcomeInfo, colour bool) string {
	labels := make([]string, len(offered))
	for i, c := range offered {
		bracketed := "[" + c.Key + "]"
		labels[i] = strings.Replace(c.Label, bracketed, display.Paint(display.StyleBold, bracketed, colour), 1)
	}
	return strings.Join(labels, "  ") + " > "
}
