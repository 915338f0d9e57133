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

// replyFor returns the reply that a line stands for. Enter alone is a no; the
// end of input is not Enter.
func replyFor(offered []reply, line string) (reply, bool) {
	typed := strings.ToLower(strings.TrimSpace(line))
	for _, c := range offered {
		if typed == c.key || typed == c.word || typed == "" && line != "" && c.outcome == bus.Cancel {
			return c, true
		}
	}
	return reply{}, false
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
