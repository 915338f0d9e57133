package plaintext_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/plaintext"
)

func TestOf(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"plain":              {"a\tb\nü 漢\n", "a\tb\nü 漢\n"},
		"colour":             {"\x1b[1;31mred\x1b[0m.", "red."},
		"line ends":          {"a\r\nb\r\n", "a\nb\n"},
		"progress":           {" 10%\r 50%\r100%\n", "100%\n"},
		"shorter over long":  {"long line\rab\n", "abng line\n"},
		"erased":             {"long line\r\x1b[Kab\n", "ab\n"},
		"erased whole":       {"long line\x1b[2K\rab", "ab"},
		"erased, went on":    {"abc\x1b[2Kd", "   d"},
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
		"up and over":        {"a 1%\nb 1%\n\x1b[2A\ra 9%\nb 9%\ndone\n", "a 9%\nb 9%\ndone\n"},
		"up to line starts":  {"one\ntwo\n\x1b[2F1\x1b[E2", "1ne\n2wo\n"},
		"up too far":         {"one\x1b[99A\rO", "One"},
		"down too far":       {"one\n\x1b[A\x1b[99Bx", "one\nx"},
		"right":              {"a\x1b[3Cb\x1b[2Dc", "a  cb"},
		"right and no more":  {"a\x1b[999C", "a"},
		"column":             {"abc\x1b[1GX\x1b[3GZ", "XbZ"},
		"line and column":    {"\x1b[2;3Hx\x1b[1;1Hy\x1b[2dz", "y\n zx"},
		"home":               {"abc\x1b[HX", "Xbc"},
		"erased below":       {"a\nb\nc\x1b[H\x1b[Jx\n", "x\n"},
		"cleared":            {"a\nb\n\x1b[H\x1b[2J\x1b[3Jc\n", "a\nb\nc\n"},
		"other screen":       {"a\n\x1b[?1049h\x1b[Hb\x1b[2;1Hc\x1b[?1049ld\n", "a\nb\nc\nd\n"},
		"reset":              {"a\x1bcb", "a\nb"},
		"place kept":         {"ab\x1b7\x1b[9;9Hx\x1b8c", "abc\n\n\n\n\n\n\n\n        x"},
		"place kept, other":  {"ab\x1b[s\rx\x1b[uc", "xbc"},
		"far up":             {strings.Repeat("x\n", 60) + "\x1b[99A!\x1b[99BX", strings.Repeat("x\n", 21) + "!\n" + strings.Repeat("x\n", 38) + " X"},
		"not a number":       {"a\x1b[1:2Ab\x1b[-1Cc", "ab c"},
		"scrolls":            {strings.Repeat("\r\n", 100), strings.Repeat("\n", 100)},
		"nul":                {"a\x00b", "a␀b"},
		"not UTF-8":          {"a\xff\xc3", "a\ufffd\ufffd"},
		"replacement kept":   {"\ufffd", "\ufffd"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, plaintext.Of(tt.in)) })
	}
}

func FuzzOf(f *testing.F) {
	for _, s := range []string{
		"a\r\x1b[Kb\n", "\x1b]0;t\a\x1b[2K\b", "\x1b(B\x1bP\x1b\\\xff\x00", "ü\u0085\x1b[1;2H", "\x1b[40;9999Hx\x1b[2J", "\x1b7\n\x1b8\x1b[J\x1b[s\x1b[9A\x1b[u",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := plaintext.Of(s)
		require.True(t, utf8.ValidString(got))
		if !strings.ContainsRune(s, 0x1b) {
			require.Equal(t, strings.Count(s, "\n"), strings.Count(got, "\n"))
		}
		require.Equal(t, got, plaintext.Of(got))
		require.LessOrEqual(t, len(got), 30*len(s))
		require.False(t, strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }), "%q", got)
	})
}
