package display

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "漢字": 4, "e\u0301": 1, "👩\u200d👧": 2, "🎉": 2, "\x1b[1;31mab\x1b[0m": 2, "ﾊ": 1, "…": 1,
	} {
		require.Equal(t, want, Width(text), "%q", text)
	}
}

func TestUntab(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "ab": "ab", "\ta": "        a", "a\tb": "a       b", "1234567\tb": "1234567 b", "12345678\tb": "12345678        b",
		"漢\tb": "漢      b", "a\tb\tc\n\td\n": "a       b       c\n        d\n",
	} {
		require.Equal(t, want, Untab(in, 0), "%q", in)
	}
	require.Equal(t, "      a", Untab("\ta", 2))
	require.Equal(t, "      a\n        b", Untab("\ta\n\tb", 2), "the next line begins at its begin")
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in, mark string
		columns  int
		want     string
	}{
		{"abcdef", "…", 6, "abcdef"}, {"abcdef", "…", 4, "abc…"}, {"漢字漢字", "…", 4, "漢…"}, {"abc", "…", 1, "…"}, {"abc", "…", 0, ""}, {"abc", "…", -1, ""},
		{"abc", "", 2, "ab"}, {"", "…", 0, ""}, {"abc", "...", 2, ""},
	} {
		require.Equal(t, c.want, Cut(c.in, c.columns, c.mark), "%+v", c)
	}
	require.LessOrEqual(t, Width(Cut("\x1b[1mabcdef\x1b[0m", 3, "…")), 3)
	require.True(t, strings.HasSuffix(Cut("\x1b[1mabcdef\x1b[0m", 3, "…"), "\x1b[0m"), "nothing stays switched on")
}

func TestBreak(t *testing.T) {
	for _, c := range []struct {
		in      string
		columns int
		want    []string
	}{
		{"", 5, []string{""}}, {"abc", 5, []string{"abc"}}, {"abcdef", 3, []string{"abc", "def"}}, {"abcdefg", 3, []string{"abc", "def", "g"}},
		{"漢字漢", 3, []string{"漢", "字", "漢"}}, {"漢字", 1, []string{"漢", "字"}}, {"ab", 0, []string{"a", "b"}}, {"ae\u0301b", 2, []string{"ae\u0301", "b"}},
		{"👩\u200d👧x", 2, []string{"👩\u200d👧", "x"}},
	} {
		require.Equal(t, c.want, Break(c.in, c.columns), "%+v", c)
		require.Equal(t, c.in, strings.Join(Break(c.in, c.columns), ""))
	}
}

// AR-18: all terminal control characters are escaped, and nothing else.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n漢字 👩\u200d👧": "plain\ttext\n漢字 👩\u200d👧", "\x1b[2J": "<U+001B>[2J", "a\rb\x00\x7f": "a<U+000D>b<U+0000><U+007F>",
		"\u202e\u2066\u200f\ufeff": "<U+202E><U+2066><U+200F><U+FEFF>", "\u009b1m": "<U+009B>1m", "\x9b1m\xff": "<9B>1m<FF>",
	} {
		require.Equal(t, want, Printable(in))
	}
	require.Equal(t, "a b <U+001B>c", Line("  a\n\tb \x1bc "))
}
