package textfile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNewlineOfAndLines(t *testing.T) {
	for text, want := range map[string]struct {
		newline Newline
		lines   int
	}{
		"":           {NewlineNone, 0},
		"a":          {NewlineNone, 1},
		"a\r":        {NewlineNone, 1},
		"\n":         {NewlineLF, 1},
		"a\nb":       {NewlineLF, 2},
		"a\nb\n":     {NewlineLF, 2},
		"a\nb\r":     {NewlineLF, 2},
		"a\r\nb":     {NewlineCRLF, 2},
		"a\r\nb\n":   {NewlineMixed, 2},
		"\r\n\r\n":   {NewlineCRLF, 2},
		"a\n\nb\n\n": {NewlineLF, 4},
	} {
		require.Equal(t, want.newline, NewlineOf(text), "%q", text)
		require.Equal(t, want.lines, Lines(text), "%q", text)
	}
}

// FS-55, FS-37
func TestRestyle(t *testing.T) {
	for name, tt := range map[string]struct{ text, like, want string }{
		"to lf":                     {"a\r\nb\nc", "x\n", "a\nb\nc"},
		"to crlf":                   {"a\r\nb\nc\n", "x\r\n", "a\r\nb\r\nc\r\n"},
		"no doubling":               {"a\r\r\nb\n", "x\r\n", "a\r\nb\r\n"},
		"nothing to go by":          {"a\r\nb\n", "x", "a\r\nb\n"},
		"empty":                     {"a\r\nb\n", "", "a\r\nb\n"},
		"lone cr stays":             {"a\rb\n", "x\r\n", "a\rb\r\n"},
		"final newline kept absent": {"a\nb", "x\r\ny\r\n", "a\r\nb"},
		"final newline kept":        {"a\nb\n", "x\r\ny", "a\r\nb\r\n"},
		"final cr is no ending":     {"a\nb\r", "x\r\n", "a\r\nb\r"},
		"mixed, unchanged":          {"a\nb\nc\n", "a\r\nb\nc\r\n", "a\r\nb\nc\r\n"},
		"mixed, new lines":          {"a\nnew\nb\nc\n", "a\r\nb\nc\r\n", "a\r\nnew\r\nb\nc\r\n"},
		"mixed, lf commoner":        {"new\na\nb\n", "a\r\nb\nc\n", "new\na\r\nb\n"},
		"mixed, even":               {"new\n", "a\r\nb\n", "new\n"},
		"mixed, moved":              {"c\nx\na\n", "a\r\nb\nc\nd\n", "c\nx\na\r\n"},
		"mixed, equal lines":        {"x\n}\ny\n}\nz\n", "x\n}\ny\n}\r\nz\r\n", "x\n}\ny\n}\r\nz\r\n"},
		"mixed, one more above":     {"}\nx\n}\ny\n}\r\n", "x\n}\ny\n}\r\n", "}\nx\n}\ny\n}\r\n"},
		"mixed, deleted":            {"a\nc\n", "a\r\nb\nc\r\n", "a\r\nc\r\n"},
		"mixed, all gone":           {"", "a\r\nb\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, Restyle(tt.text, tt.like))
		})
	}
}

// contents returns the lines without their endings, and whether the last has
// one.
func contents(text string) (lines []string, ended bool) {
	for line := range strings.Lines(text) {
		var content string
		content, ended = cutEnding(line)
		lines = append(lines, content)
	}
	return lines, ended
}

func FuzzRestyle(f *testing.F) {
	for _, text := range []string{"", "a", "a\n", "a\r\nb\n", "\r\r\n", "a\r", "}\n}\r\n}\n", "\n\n\r\n"} {
		for _, like := range []string{"", "x\n", "x\r\n", "a\r\nb\n", "}\r\n}\n}\r\n", "\r\r\n"} {
			f.Add(text, like)
		}
	}
	f.Fuzz(func(t *testing.T, text, like string) {
		got := Restyle(text, like)
		style := NewlineOf(like)
		if style == NewlineNone {
			require.Equal(t, text, got)
			return
		}
		require.NotContains(t, got, "\r\r\n")
		require.Equal(t, got, Restyle(got, like), "idempotent")
		wantLines, wantEnded := contents(text)
		lines, ended := contents(got)
		require.Equal(t, wantLines, lines)
		require.Equal(t, wantEnded, ended)
		if n := NewlineOf(got); style != NewlineMixed && n != NewlineNone {
			require.Equal(t, style, n)
		}
		if !strings.Contains(like, "\r\r\n") {
			require.Equal(t, like, Restyle(like, like))
			require.Equal(t, like, Restyle(strings.ReplaceAll(like, "\r\n", "\n"), like))
		}
	})
}

func BenchmarkRestyle(b *testing.B) {
	text := strings.Repeat("the quick brown fox jumps over the lazy dog\n", 1<<20/44)
	for name, like := range map[string]string{
		"lf": "x\n", "crlf": "x\r\n", "mixed": strings.Replace(text, "\n", "\r\n", 100),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				sink = Restyle(text, like)
			}
		})
	}
}

func BenchmarkLines(b *testing.B) {
	text := strings.Repeat("the quick brown fox jumps over the lazy dog\n", 1<<20/44)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if Lines(text) == 0 {
			b.Fatal("no lines")
		}
	}
}
