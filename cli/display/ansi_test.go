package display

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Colours and text are kept; other control sequences are dropped.
func TestANSIFilter(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"text":                  {"plain\ttext\r\nnext\n", "plain\ttext\r\nnext\n"},
		"a bar":                 {"10%\r20%", "10%\r20%"},
		"other scripts":         {"żółć 漢字 👩\u200d👧", "żółć 漢字 👩\u200d👧"},
		"colours":               {"\x1b[1;31mred\x1b[0m\x1b[m", "\x1b[1;31mred\x1b[0m\x1b[m"},
		"many colours":          {"\x1b[38:2::1:2:3ma\x1b[48;5;12mb", "\x1b[38:2::1:2:3ma\x1b[48;5;12mb"},
		"a mode that ends in m": {"a\x1b[>4;2mb\x1b[?4mc", "abc"},
		"an intermediate":       {"a\x1b[1 mb\x1b[1!mc", "abc"},
		"the cursor":            {"a\x1b[2Ab\x1b[Hc\x1b[10;10fd\x1b[sx\x1b[u", "abcdx"},
		"clear":                 {"a\x1b[2Jb\x1b[Kc\x1bcd", "abcd"},
		"scroll and modes":      {"a\x1b[1;2rb\x1b[?1049hc\x1b[?2004hd\x1b[?25l", "abcd"},
		"questions to it":       {"a\x1b[6nb\x1b[cc\x1b[>qd\x1bZ", "abcd"},
		"title":                 {"a\x1b]0;evil\ab\x1b]2;evil\x1b\\c", "abc"},
		"clipboard":             {"a\x1b]52;c;ZXZpbA==\ab", "ab"},
		"link":                  {"\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", "text"},
		"device control":        {"a\x1bP1$r0m\x1b\\b\x1bXx\x1b\\c\x1b^x\x1b\\d\x1b_x\x1b\\e", "abcde"},
		"character sets":        {"a\x1b(0b\x1b)Bc\x1b#8d\x1b%Ge", "abcde"},
		"keypad and others":     {"a\x1b=b\x1b>c\x1b7d\x1b8e\x1bMf", "abcdef"},
		"C1":                    {"a\u009b2Jb\u009d0;evil\u009cc\u0090x\u009cd\u0085e\u008df\u009b1mg", "abcdef\x1b[1mg"},
		"raw C1":                {"a\x9b2Jb", "a\ufffd2Jb"},
		"invalid":               {"a\xff\xc3(b", "a\ufffd\ufffd(b"},
		"control characters":    {"a\x00b\x07c\bd\x0be\x0cf\x0eg\x0fh\x7fi", "abcdefghi"},
		"direction":             {"a\u202eb\u2066c\u200fd\ufeffe\U000e0041f", "abcdef"},
		"an escape alone":       {"a\x1b", "a"},
		"interrupted":           {"a\x1b[31\x1b[32mb\x1b]0;x\x1b[1mc", "a\x1b[32mb\x1b[1mc"},
		"cancelled":             {"a\x1b[3\x18b\x1b]0;\x1ac", "abc"},
		"never ended":           {"a\x1b]0;evil\nb\x1bPevil\nc\x1b[12\nd", "a\nb\nc\nd"},
		"a line feed inside":    {"a\x1b\nb", "a\nb"},
		"too long for a style":  {"a\x1b[" + strings.Repeat("1;", 40) + "mb", "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, (&ANSIFilter{Colour: true}).Filter(c.in))
			plain := regexp.MustCompile("\x1b[^m]*m").ReplaceAllString(c.want, "")
			require.Equal(t, plain, new(ANSIFilter).Filter(c.in), "without colour")
			require.Equal(t, c.want, bytewise(true, c.in), "split anywhere")
		})
	}
}

// bytewise filters a text byte by byte.
func bytewise(colour bool, s string) string {
	f := ANSIFilter{Colour: colour}
	var b strings.Builder
	for i := range len(s) {
		b.WriteString(f.Filter(s[i : i+1]))
	}
	return b.String()
}

// Active styles are reset at the end, and the last line is ended.
func TestANSIFilterEnd(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"a\n":                      "",
		"a":                        "\n",
		"a\r":                      "\n",
		"\x1b[31ma\n":              "\x1b[0m",
		"\x1b[31ma":                "\x1b[0m\n",
		"\x1b[31ma\x1b[m\n":        "",
		"\x1b[31ma\x1b[00m\n":      "",
		"\x1b[0;31ma\x1b[0;0m\n":   "",
		"a\n\x1b]0;evil":           "",
		"a\n\x1b[31":               "",
		"a\n\xe2\x82":              "",
		"a\n\x1b[31m\x1b[0m\u202e": "",
	} {
		f := ANSIFilter{Colour: true}
		f.Filter(in)
		require.Equal(t, want, f.End(), "%q", in)
		require.Equal(t, "b", f.Filter("b"), "after the end of %q", in)
	}
}

// For any program output, the result is text, line endings, tabs and styles; neither
// splitting the input nor filtering twice changes it.
func FuzzANSIFilter(f *testing.F) {
	for _, s := range []string{"", "a\x1b[1;31mb\n", "\x1b]52;c;x\a", "\x1b[31", "\u009b2J", "\xff\xe2\x82", "\x1b[>4;2m", "\x1bP\x1b\\", "\u202ea\r", "\x1b[38:2::1:2:3m"} {
		f.Add(s, uint(len(s)/2))
	}
	style := regexp.MustCompile(`\x1b\[[0-9;:]{0,64}m`)
	f.Fuzz(func(t *testing.T, in string, cut uint) {
		shown := (&ANSIFilter{Colour: true}).Filter(in)
		require.True(t, utf8.ValidString(shown))
		plain := style.ReplaceAllString(shown, "")
		require.False(t, strings.ContainsFunc(plain, func(r rune) bool { return r != '\r' && Obeyed(r) }), "%q", plain)
		require.Equal(t, plain, new(ANSIFilter).Filter(in), "without colour")
		require.Equal(t, shown, (&ANSIFilter{Colour: true}).Filter(shown), "a second time")

		n := int(cut % uint(len(in)+1))
		split := ANSIFilter{Colour: true}
		require.Equal(t, shown, split.Filter(in[:n])+split.Filter(in[n:]), "cut at %d", n)
	})
}
