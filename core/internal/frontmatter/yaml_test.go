package frontmatter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/frontmatter"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/internal/position"
)

func TestSplit(t *testing.T) {
	for name, tt := range map[string]struct {
		text, front, body string
		before            int
		found             bool
	}{
		"whole":          {"---\na: b\n---\nBody\n", "a: b\n", "Body\n", 1, true},
		"lines above":    {"\n \n---\na: b\n---\n", "a: b\n", "", 3, true},
		"no body":        {"---\na: b\n---", "a: b\n", "", 1, true},
		"empty":          {"---\n---\nx", "", "x", 1, true},
		"blanks behind":  {"--- \na: b\n---\t\nx", "a: b\n", "x", 1, true},
		"no end":         {"---\na: b\n", "", "", 0, false},
		"none":           {"# Title\n---\n---\n", "", "", 0, false},
		"nothing":        {"", "", "", 0, false},
		"only the start": {"---", "", "", 0, false},
	} {
		front, before, body, found := frontmatter.Split(tt.text)
		require.Equal(t, tt.found, found, name)
		require.Equal(t, []any{tt.front, tt.before, tt.body}, []any{front, before, body}, name)
	}
}

func TestParseYAML(t *testing.T) {
	n, err := frontmatter.ParseYAML("a: text\nb: [1, x, 2.5, true, null]\nc:\n  d: |\n    two\n    lines\n", 1)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": "text", "b": []any{float64(1), "x", 2.5, true, nil}, "c": map[string]any{"d": "two\nlines\n"}}, n.Plain())
	require.Equal(t, []int{2, 3, 4}, []int{n.Members()[0].Line, n.Members()[1].Line, n.Members()[2].Line})
	text, ok := n.Members()[1].List()[0].Text()
	require.True(t, ok)
	require.Equal(t, "1", text)
	number, ok := n.Members()[1].List()[2].Number()
	require.True(t, ok)
	require.InDelta(t, 2.5, number, 0)
	require.Nil(t, n.Members()[1].List()[4].Value)

	empty, err := frontmatter.ParseYAML("", 1)
	require.NoError(t, err)
	require.IsType(t, &position.Table{}, empty.Value)
}

// Errors have a line of the file; expensive input is refused.
func TestParseYAMLRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		line int
	}{
		"syntax":  {"a: b\nc: 'x\n", 3},
		"anchor":  {"a: &x 1\nb: *x\n", 2},
		"deep":    {"a: " + strings.Repeat("[", 30) + strings.Repeat("]", 30), 2},
		"deeper":  {"a: " + strings.Repeat("[", 100_000), 2},
		"long":    {"a: " + strings.Repeat("b", 40<<10), 2},
		"lines":   {strings.Repeat("a:\n", 3000), 2},
		"map key": {"? [a]\n: b\n", 3},
	} {
		_, err := frontmatter.ParseYAML(tt.text, 1)
		e := position.As(err)
		require.Equal(t, tt.line, e.Line, "%s: %s", name, e.Message)
		require.NotContains(t, e.Message, "\n", name)
	}
}

func TestQuoteYAML(t *testing.T) {
	text, line := frontmatter.QuoteYAML("a: b\ndescription: Use when: it's asked\n")
	require.Equal(t, 2, line)
	require.Equal(t, "a: b\ndescription: 'Use when: it''s asked'\n", text)
	_, line = frontmatter.QuoteYAML("a: b\n")
	require.Zero(t, line)
}

func FuzzParseYAML(f *testing.F) {
	fuzzseed.Add(f)
	for _, seed := range []string{"a: b", "- a\n- b", "a: [1, {b: c}]", "a: |\n  x", "? a\n: b", "!!str a: b", "\x00", "a: &x\n<<: *x", "a: .nan\nb: 1e999", "a:\r\n  - b\r\n", "a: b: c", "argument-hint: [a] [b]\ntools: *", "description: a: b\nContext: c\nuser: d: e\nmodel: f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const before = 3
		last := before + 1 + strings.Count(text, "\n") + strings.Count(text, "\r")
		n, err := frontmatter.ParseYAML(text, before)
		if err != nil {
			e := new(position.Error)
			require.ErrorAs(t, err, &e)
			require.NotEmpty(t, e.Message)
			require.NotContains(t, e.Message, "\n")
			require.True(t, before < e.Line && e.Line <= last, "line %d of %d", e.Line, last)
			lenient, line, failed := frontmatter.Parse(text, before)
			require.True(t, failed == nil && before < line && line <= last || failed != nil && line == 0, "text in line %d of %d", line, last)
			if failed == nil {
				_, again, _ := frontmatter.Parse(text, before)
				require.Equal(t, line, again)
				require.NotEmpty(t, lenient.Members())
			}
			return
		}
		var check func(n position.Node)
		check = func(n position.Node) {
			require.True(t, before < n.Line && n.Line <= last, "line %d of %d", n.Line, last)
			for _, c := range n.List() {
				check(c)
			}
			for _, m := range n.Members() {
				require.True(t, before < m.Line && m.Line <= last, "line %d of %d", m.Line, last)
				check(m.Node)
			}
		}
		check(n)
		again, err := frontmatter.ParseYAML(text, before)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(n.Plain()), fmt.Sprint(again.Plain()))
		once, _ := frontmatter.QuoteYAML(text)
		twice, line := frontmatter.QuoteYAML(once)
		require.Equal(t, once, twice)
		require.Zero(t, line, "what is quoted needs no quotes")
		lenient, line, err := frontmatter.Parse(text, before)
		require.NoError(t, err)
		require.Zero(t, line, "valid front matter has no other reading")
		require.Equal(t, fmt.Sprint(n.Plain()), fmt.Sprint(lenient.Plain()))
	})
}
