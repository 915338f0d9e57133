package memory

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const heading = "## Fettle Added Memories"

// TO-13: the position of a fact, and the endings of the lines around it.
func TestInsert(t *testing.T) {
	const h = heading
	for name, tt := range map[string]struct{ text, want string }{
		"new file":                 {"", h + "\n- new\n"},
		"no section":               {"# Mine\nRule.\n", "# Mine\nRule.\n\n" + h + "\n- new\n"},
		"a blank line at the end":  {"Rule.\n\n", "Rule.\n\n" + h + "\n- new\n"},
		"blanks at the end":        {"Rule.\n \t", "Rule.\n \t\n" + h + "\n- new\n"},
		"no final newline":         {"Rule.", "Rule.\n\n" + h + "\n- new\n"},
		"section last":             {h + "\n- old\n", h + "\n- old\n- new\n"},
		"section last, unended":    {h + "\n- old", h + "\n- old\n- new\n"},
		"heading alone":            {h, h + "\n- new\n"},
		"section empty":            {h + "\n\n## Next\n", h + "\n- new\n\n## Next\n"},
		"blanks behind":            {h + "\n- old\n\n\n", h + "\n- old\n- new\n\n\n"},
		"section in the middle":    {"# A\n" + h + " \n\n- old\n\n# B\ntext", "# A\n" + h + " \n\n- old\n- new\n\n# B\ntext"},
		"section before a heading": {h + "\n- old\n## B\n", h + "\n- old\n- new\n## B\n"},
		"headings of its own":      {h + "\n### Sub\n- old\n#hash\n#### x\n## B", h + "\n### Sub\n- old\n#hash\n#### x\n- new\n## B"},
		"indented heading behind":  {h + "\n- old\n   ## B\n", h + "\n- old\n- new\n   ## B\n"},
		"code that is no heading":  {h + "\n- old\n    # code\n", h + "\n- old\n    # code\n- new\n"},
		"fenced headings":          {h + "\n```sh\n# comment\n## x\n```\ntext\n## B\n", h + "\n```sh\n# comment\n## x\n```\ntext\n- new\n## B\n"},
		"longer fence":             {h + "\n~~~~\n~~~\n```\n# c\n~~~~ \n# B\n", h + "\n~~~~\n~~~\n```\n# c\n~~~~ \n- new\n# B\n"},
		"heading in a fence":       {"```\n" + h + "\n- old\n```\n", "```\n" + h + "\n- old\n```\n\n" + h + "\n- new\n"},
		"inline code is no fence":  {"```x``` y\n" + h + "\n- old\n", "```x``` y\n" + h + "\n- old\n- new\n"},
		"two sections":             {h + "\n- a\n" + h + "\n- b\n", h + "\n- a\n- new\n" + h + "\n- b\n"},
		"another heading":          {h + " Too\n- old\n", h + " Too\n- old\n\n" + h + "\n- new\n"},
		"CRLF":                     {"Rule.\r\n\r\n" + h + "\r\n- old\r\n", "Rule.\r\n\r\n" + h + "\r\n- old\r\n- new\r\n"},
		"CRLF, no section":         {"Rule.\r\nMore.", "Rule.\r\nMore.\r\n\r\n" + h + "\r\n- new\r\n"},
		"CRLF, blank line":         {"Rule.\r\n\r\n", "Rule.\r\n\r\n" + h + "\r\n- new\r\n"},
		"mixed, LF before":         {"a\r\n" + h + "\n- old\nx\r\n", "a\r\n" + h + "\n- old\nx\r\n- new\r\n"},
		"mixed, CRLF at the place": {"a\n" + h + "\r\n- old\r\n# B\n", "a\n" + h + "\r\n- old\r\n- new\r\n# B\n"},
		"known":                    {h + "\n- a\n- new  \n- b", h + "\n- a\n- new  \n- b"},
		"known, in CRLF":           {h + "\r\n- new\r\n", h + "\r\n- new\r\n"},
		"known elsewhere":          {"- new\n" + h + "\n- a\n# B\n- new\n", "- new\n" + h + "\n- a\n- new\n# B\n- new\n"},
		"part of another":          {h + "\n- new one\n", h + "\n- new one\n- new\n"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, insert(tt.text, heading, "new"))
			require.Equal(t, tt.want, insert(tt.want, heading, "new"), "a second time changes nothing")
		})
	}
}

// For any file, every byte is kept in order, and the fact is there at most once more. Uniform line
// endings stay uniform.
func FuzzInsert(f *testing.F) {
	for _, text := range []string{
		"", "a", "a\n\n", heading, heading + "\r\n- x\r\n\r\n# B", "```\n" + heading + "\n", "\r\n" + heading + "\n~~~\n", "\n\r", "# x\r",
	} {
		f.Add(text, "fact")
	}
	f.Add(heading+"\n- fact", "fact")
	f.Fuzz(func(t *testing.T, text, fact string) {
		fact, err := Fact(fact)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		after := insert(text, heading, fact)
		item := "- " + fact
		if after == text {
			if !strings.Contains(text, item) {
				t.Fatalf("%q is not in %q, and was not added", item, text)
			}
			return
		}
		added, ok := between(text, after)
		if !ok {
			t.Fatalf("%q became %q: it was changed", text, after)
		}
		if strings.Count(added, item) != 1 || !strings.Contains(text, heading) && !strings.Contains(added, heading+"\n") && !strings.Contains(added, heading+"\r\n") {
			t.Fatalf("%q was added to %q", added, text)
		}
		if again := insert(after, heading, fact); again != after {
			t.Fatalf("the second time %q became %q", after, again)
		}
		lf, crlf := strings.Count(text, "\n")-strings.Count(text, "\r\n"), strings.Count(text, "\r\n")
		if lf == 0 && crlf > 0 && strings.Count(after, "\n") != strings.Count(after, "\r\n") {
			t.Fatalf("%q got a bare line feed: %q", text, after)
		}
		if crlf == 0 && strings.Count(after, "\r\n") > 0 && !strings.HasSuffix(text, "\r") {
			t.Fatalf("%q got a carriage return: %q", text, after)
		}
	})
}

// between returns the text that after has in addition to text, if it is one piece.
func between(text, after string) (added string, ok bool) {
	if len(after) < len(text) {
		return "", false
	}
	head := 0
	for head < len(text) && text[head] == after[head] {
		head++
	}
	for ; head >= 0; head-- { // equal bytes may belong to either side
		if strings.HasSuffix(after, text[head:]) {
			return after[head : len(after)-len(text)+head], true
		}
	}
	return "", false
}
