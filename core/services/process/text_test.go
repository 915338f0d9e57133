package process_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/process"
)

func TestPlain(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"plain":              {"a\tb\nü 漢\n", "a\tb\nü 漢\n"},
		"colour":             {"\x1b[1;31mred\x1b[0m.", "red."},
		"line ends":          {"a\r\nb\r\n", "a\nb\n"},
		"progress":           {" 10%\r 50%\r100%\n", "100%\n"},
		"shorter over long":  {"long line\rab\n", "abng line\n"},
		"erased":             {"long line\r\x1b[Kab\n", "ab\n"},
		"erased whole":       {"long line\x1b[2K\rab", "ab       "},
		"erased before":      {"abc\r\x1b[1Kx", "xbc"},
		"erase other":        {"abc\x1b[7Kx", "abcx"},
		"backspace":          {"ab\b\bc", "cb"},
		"bold by backspaces": {"N\bNA\bA", "NA"},
		"backspace at start": {"\b\ba", "a"},
		"title":              {"\x1b]0;title\aa", "a"},
		"title, other end":   {"\x1b]0;title\x1b\\a", "a"},
		"link":               {"\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\.", "text."},
		"unfinished title":   {"\x1b]0;title\nafter", "\nafter"},
		"unfinished at end":  {"a\x1b]0;t", "a"},
		"private mode":       {"\x1b[?25la\x1b[?25h", "a"},
		"charset":            {"\x1b(Ba", "a"},
		"single":             {"\x1b7a\x1b8", "a"},
		"escape at end":      {"a\x1b", "a"},
		"csi at end":         {"a\x1b[3", "a"},
		"csi broken off":     {"\x1b[3\nb", "\nb"},
		"escape, control":    {"\x1b\nb", "\nb"},
		"escape, character":  {"\x1büb", "üb"},
		"bell and others":    {"a\a\v\f\x7f\u009bb", "ab"},
		"nul":                {"a\x00b", "a␀b"},
		"not UTF-8":          {"a\xff\xc3", "a\ufffd\ufffd"},
		"replacement kept":   {"\ufffd", "\ufffd"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, process.Plain(tt.in)) })
	}
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"a\r\x1b[Kb\n", "\x1b]0;t\a\x1b[2K\b", "\x1b(B\x1bP\x1b\\\xff\x00", "ü\u0085\x1b[1;2H"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := process.Plain(s)
		require.True(t, utf8.ValidString(got))
		require.Equal(t, strings.Count(s, "\n"), strings.Count(got, "\n"))
		require.Equal(t, got, process.Plain(got))
		for _, r := range got {
			require.False(t, r != '\n' && r != '\t' && unicode.IsControl(r), "%q", got)
		}
	})
}
