package cli

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
)

// reply is one way to answer a confirmation.
type reply struct {
	outcome bus.Outcome
	key     string // what is typed
	word    string // may be typed instead
	label   string // of the key line; the key stands in brackets
}

// replies returns every way to answer.
func replies() []reply {
	return []reply{
		{bus.ProceedOnce, "y", "yes", "[y]es once"},
		{bus.ProceedAlways, "a", "always", "[a]lways this session"},
		{bus.ProceedAlwaysAndSave, "s", "save", "[s]ave always"},
		{bus.ProceedAlwaysTool, "t", "tool", "[t]ool always"},
		{bus.ProceedAlwaysServer, "v", "server", "ser[v]er always"},
		{bus.ModifyWithEditor, "e", "edit", "[e]dit"},
		{bus.Cancel, "n", "no", "[n]o"},
	}
}

// repliesOf returns the replies for the outcomes that are offered, in their
// order; no is always the last of them. Outcomes without a key are left out.
func repliesOf(offered []bus.Outcome) []reply {
	all := replies()
	var cs []reply
	for _, o := range offered {
		i := slices.IndexFunc(all, func(c reply) bool { return c.outcome == o })
		if i >= 0 && o != bus.Cancel {
			cs = append(cs, all[i])
		}
	}
	return append(cs, all[len(all)-1])
}

// replyFor returns the reply that a line stands for, and what is said behind a
// no of what to do instead. Enter alone is a no; the end of input is not Enter.
func replyFor(offered []reply, line string) (c reply, feedback string, known bool) {
	typed := strings.TrimSpace(line)
	for _, c := range offered {
		switch {
		case strings.EqualFold(typed, c.key), strings.EqualFold(typed, c.word):
			return c, "", true
		case c.outcome != bus.Cancel:
		case typed == "" && line != "":
			return c, "", true
		default:
			first, rest, more := strings.Cut(typed, " ")
			first = strings.TrimRight(first, ",.;:")
			if more && (strings.EqualFold(first, c.key) || strings.EqualFold(first, c.word)) {
				return c, strings.ToValidUTF8(strings.TrimSpace(rest), "\ufffd"), true
			}
		}
	}
	return reply{}, "", false
}

// whichKeys tells who has typed something else what is taken.
func whichKeys(offered []reply) string {
	keys := make([]string, len(offered))
	for i, c := range offered {
		keys[i] = c.key
	}
	no := keys[len(keys)-1]
	text := "Type " + no
	if others := keys[:len(keys)-1]; len(others) > 0 {
		text = "Type " + strings.Join(others, ", ") + " or " + no
	}
	return text + ", or " + no + " and what should be done instead."
}

// renderKeys is the line that ends a question.
func renderKeys(offered []reply, colour bool) string {
	labels := make([]string, len(offered))
	for i, c := range offered {
		bracketed := "[" + c.key + "]"
		labels[i] = strings.Replace(c.label, bracketed, paint(styleBold, bracketed, colour), 1)
	}
	return strings.Join(labels, "  ") + " > "
}
