package frontmatter

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// Parse is [ParseYAML] for front matter whose authors do not quote texts. If it
// is not valid YAML, a text with a colon and a blank is read as if it stood in quotes; and
// then each key for itself, where an invalid description or hint is a text. textLine
// is the line of the first such text, 0 for none. It returns the error of ParseYAML if no
// restriction may get lost: for other values that are invalid, a key twice, and a
// line of a text that looks like a restriction.
func Parse(text string, before int) (n position.Node, textLine int, err error) {
	if n, err = ParseYAML(text, before); err == nil {
		return n, 0, nil
	}
	if quoted, line := QuoteYAML(text); line > 0 {
		if n, failed := ParseYAML(quoted, before); failed == nil {
			return n, before + line, nil
		}
	}
	if n, line, ok := sections(text, before); ok {
		return n, line, nil
	}
	return position.Node{}, 0, err
}

// textKey is the folded key of a description, which may contain examples of dialogues.
const textKey = "description"

// Folded keys whose values are texts, and words that begin lines of dialogues.
var (
	textKeys = []string{textKey, "argumenthint", "whentouse"}
	speakers = []string{"Context", "User", "user", "Assistant", "assistant", "Commentary", "Example", "Examples"} // of examples in a description
)

// topKey matches the first line of a key that is not indented.
var topKey = lazyregexp.New(`^["']?([A-Za-z_][A-Za-z0-9_-]*)["']?[ \t]*:(?:[ \t]|$)`)

// section is a key with the lines of its value.
type section struct {
	key   string
	first int // line, 1-based, in the front matter
	lines []string
}

// sections reads each key for itself.
func sections(text string, before int) (position.Node, int, bool) {
	if len(text) > maxFrontMatter || strings.Count(text, "\n") > maxLines || strings.ContainsAny(text, "\r\u0085\u2028\u2029\x00") {
		return position.Node{}, 0, false
	}
	var all []section
	for i, line := range strings.Split(text, "\n") {
		m := topKey().FindStringSubmatch(line)
		empty := strings.TrimSpace(line) == "" || line[0] == '#'
		switch {
		case m != nil:
			all = append(all, section{key: m[1], first: i + 1, lines: []string{line}})
		case strings.HasPrefix(line, "...") || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "%"):
			return position.Node{}, 0, false
		case len(all) > 0:
			all[len(all)-1].lines = append(all[len(all)-1].lines, line)
		case !empty:
			return position.Node{}, 0, false
		}
	}
	out, textLine, seen := &position.Table{Line: before + 1}, 0, map[string]bool{}
	var description *position.Member // while its lines, and those of its dialogues, are read
	for _, s := range all {
		key := Fold(s.key)
		if description != nil && slices.Contains(speakers, s.key) {
			if !harmless(s.lines) {
				return position.Node{}, 0, false
			}
			text, _ := description.Text()
			description.Value = text + "\n" + folded(s.lines)
			if textLine == 0 {
				textLine = before + s.first
			}
			continue
		}
		if seen[key] {
			return position.Node{}, 0, false
		}
		seen[key], description = true, nil
		n, err := ParseYAML(strings.Join(s.lines, "\n"), before+s.first-1)
		if members := n.Members(); err == nil && len(members) == 1 {
			m := out.Add(members[0])
			if _, isText := m.Value.(string); isText && key == textKey {
				description = m
			}
			continue
		}
		value, ok := s.text()
		if !ok {
			return position.Node{}, 0, false
		}
		line := before + s.first
		if textLine == 0 {
			textLine = line
		}
		m := out.Add(&position.Member{Key: s.key, Line: line, Column: 1, Node: position.Node{Value: value, Line: line, Column: 1}})
		if key == textKey {
			description = m
		}
	}
	return position.Node{Value: out, Line: before + 1, Column: 1}, textLine, len(all) > 0
}

// text returns an invalid value as a text: of a key whose value is one, or the star, which
// means all.
func (s section) text() (string, bool) {
	_, first, _ := strings.Cut(s.lines[0], ":")
	lines := append([]string{first}, s.lines[1:]...)
	value := folded(lines)
	if value == "*" {
		return value, true
	}
	if !slices.Contains(textKeys, Fold(s.key)) || !harmless(s.lines[1:]) {
		return "", false
	}
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	return strings.TrimSpace(value), true
}

// harmless reports whether no line looks like a key that restricts.
func harmless(lines []string) bool {
	return !slices.ContainsFunc(lines, func(line string) bool {
		if line = strings.TrimSpace(line); line == "?" || strings.HasPrefix(line, "? ") {
			return true // the key is on this line, its value on another
		}
		key, _, isKey := strings.Cut(line, ":")
		key = strings.Trim(key, " \t?-{[\"'")
		return isKey && len(strings.Fields(key)) <= 3 && (RestrictsKey(key) || strings.Contains(Fold(key), "tool") || strings.Contains(key, `\`))
	})
}

// folded joins lines as YAML does: an empty line becomes a line break.
func folded(lines []string) string {
	var out strings.Builder
	for _, line := range lines {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			out.WriteString("\n")
			continue
		case out.Len() > 0 && !strings.HasSuffix(out.String(), "\n"):
			out.WriteString(" ")
		}
		out.WriteString(line)
	}
	return strings.TrimSpace(out.String())
}
