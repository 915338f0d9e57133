package markdown

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/highlight"
	"github.com/fettle-dev/fettle/cli/theme"
)

// streamed renders a source in pieces, cut at the positions that cut returns.
func streamed(t *testing.T, source string, columns int, cut func(rest string) int) string {
	s := NewStream(columns, dark, colours)
	var b strings.Builder
	for rest := source; rest != ""; {
		n := min(max(cut(rest), 1), len(rest))
		b.WriteString(s.Add(rest[:n]))
		rest = rest[n:]
		before := s.Open()
		require.Equal(t, before, s.Open(), "looking changes nothing")
		if len(source) < 3000 {
			require.Equal(t, Highlighted(validPrefix(source[:len(source)-len(rest)]), columns, dark, colours), b.String()+before, "what is shown meanwhile is what there is")
		}
	}
	return b.String() + s.End()
}

// dark is a theme with all colours.
var dark = theme.New(theme.Options{Name: theme.OnDark, Profile: colorprofile.TrueColor})

// colours is shared by the tests, which do not run at the same time.
var colours = highlight.New()

// validPrefix returns text without an incomplete character at its end.
func validPrefix(text string) string { return text[:wholeCharacters([]byte(text))] }

// The rendering does not depend on how a source is split into pieces.
func TestStream(t *testing.T) {
	sources, err := filepath.Glob("testdata/*.md")
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for _, file := range sources {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, columns := range []int{80, 20} {
			want := Highlighted(string(data), columns, dark, colours)
			for name, cut := range map[string]func(string) int{
				"bytes":  func(string) int { return 1 },
				"lines":  func(rest string) int { return strings.Index(rest, "\n") + 1 },
				"chance": func(string) int { return random.IntN(40) },
			} {
				if name == "bytes" && columns == 20 && os.Getenv("FETTLE_FULL") == "" {
					continue
				}
				require.Equal(t, want, streamed(t, string(data), columns, cut), "%s by %s", file, name)
			}
		}
	}
}

// A complete block is final before the next one ends; code is final line by line.
func TestStreamIsEarly(t *testing.T) {
	s := NewStream(40, theme.Theme{}, nil)
	require.Equal(t, "", s.Add("one\ntwo\n\n"))
	require.Equal(t, "one two\n", s.Open())
	require.Equal(t, "one two\n", s.Add("next\n"))
	require.Equal(t, "\nnext\n", s.Open())
	require.Equal(t, "\nnext\n\n  go\n", s.Add("```go\n"))
	require.Equal(t, "  func\n", s.Add("func\n"))
	require.Equal(t, "", s.Add("main"))
	require.Equal(t, "  main\n", s.Open())
	require.Equal(t, "  main\n\n", s.Add("\n\n"), "a blank line of code")
	require.Equal(t, "", s.Add("```"))
	require.Equal(t, "", s.Add("\n"))
	require.Equal(t, "", s.Open())
	require.Equal(t, "\n# Title\n", s.Add("# Title\n"))
	require.Equal(t, "", s.Add("- a\n\n  b\n\n- c\n"), "a list goes on")
	require.Equal(t, "\n• a\n\n  b\n\n• c\n", s.Add("\n[r]: http://r\n"))
	require.Equal(t, "", s.Add("\n[r]"))
	require.Equal(t, "\nr (http://r)\n", s.Open())
	require.Equal(t, "\nr (http://r)\n", s.End())
	require.Equal(t, "[r]\n", s.Add("[r]")+s.End(), "nothing is left of the last source")
	require.Equal(t, "", s.Add("\xe6\xbc")+s.Open(), "half a character")
	require.Equal(t, "漢\n", s.Add("\xa2")+s.End())
}

var styles = regexp.MustCompile("\x1b\\[[0-9;]*m")

// safe checks that a rendering is safe for a terminal and within its width.
func safe(t *testing.T, rendered string, columns int) {
	t.Helper()
	require.True(t, utf8.ValidString(rendered))
	require.False(t, strings.ContainsFunc(styles.ReplaceAllString(rendered, ""), display.Obeyed), "%q", rendered)
	require.NotContains(t, rendered, "\t")
	for line := range strings.Lines(rendered) {
		require.LessOrEqual(t, display.Width(strings.TrimSuffix(line, "\n")), columns, "%q", line)
	}
}

// For any source: text and styles only, within the width, and the same for any
// pieces.
func FuzzStream(f *testing.F) {
	sources, _ := filepath.Glob("testdata/*.md")
	for _, file := range sources {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(data), uint(17), uint(30))
	}
	for _, s := range []string{
		"", "\n", "\r\n\r\n", "```", "~~~\n```\n~~~", "- \n\n  ```\n\n", "1. a\n\n2) b", "> - > a", "|a|\n|-|\n|b|c|d|", "<!--\n\na", "<pre>\n\n# x", "***\n* * *",
		"a\n===\n", "[a]: b\n[a]", "![", "&#27;", "a\\\nb", strings.Repeat("> ", 60) + "a", strings.Repeat("- ", 60) + "a", "\t- a\n\t\tb", "|" + strings.Repeat("a|", 40) + "\n|" + strings.Repeat("-|", 40),
		"\x1b[2J", "\xff\xfe", "\u202e", "漢字|字\n-|-\n漢|字", "  ```x\n   a\n ```", "1986\\. x\n1986. y\n   ```\n\n", "# \n#a\n####### b",
	} {
		f.Add(s, uint(3), uint(10))
	}
	f.Fuzz(func(t *testing.T, source string, step, columns uint) {
		if len(source) > 5000 {
			return
		}
		width := int(columns % 120)
		rendered := Highlighted(source, width, dark, colours)
		safe(t, rendered, max(width, minColumns))
		safe(t, Render(source, width, theme.Theme{}), max(width, minColumns))
		require.NotContains(t, Render(source, width, theme.Theme{}), "\x1b")
		s := NewStream(width, dark, colours)
		var b strings.Builder
		for rest := source; rest != ""; {
			n := min(int(step%50)+1, len(rest))
			b.WriteString(s.Add(rest[:n]))
			rest = rest[n:]
			s.Open()
		}
		require.Equal(t, rendered, b.String()+s.End())
	})
}
