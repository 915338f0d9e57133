package escape_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/escape"
)

func TestClip(t *testing.T) {
	for _, c := range []struct {
		in          string
		n           int
		chars, byte string
	}{
		{"", 3, "", ""}, {"abc", 3, "abc", "abc"}, {"abcd", 3, "ab…", "…"}, {"abc", 1, "…", "…"}, {"abc", 0, "", ""}, {"abc", -1, "", ""},
		{"żółć", 4, "żółć", "…"}, {"żółćx", 4, "żół…", "…"}, {"żółćx", 6, "żółćx", "ż…"}, {"ab   cdef", 6, "ab…", "ab…"}, {"a\xff\xffbcde", 4, "a\xff\xff…", "a…"},
	} {
		require.Equal(t, c.chars, escape.Clip(c.in, c.n), "%+v", c)
		require.Equal(t, c.byte, escape.ClipBytes(c.in, c.n), "%+v", c)
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " a\n\t\u00a0b ": "a b", "a\x1b[2Jb\u202e\u200b\x00\u3164c": "a[2Jbc", "a\xffb": "a\ufffdb", "0123456789": "0123456789",
		"0123456789\u200b\n": "0123456789", "0123456789 \u200bx": "012345678…", "012345678 x": "012345678…", "\x1b \n": "",
	} {
		require.Equal(t, want, escape.Plain(in, 10), "%q", in)
	}
}

func TestEnds(t *testing.T) {
	head, tail, omitted := escape.Ends("żółć-żółć", 5, 5)
	require.Equal(t, []any{"żó", "łć", 9}, []any{head, tail, omitted})
	head, tail, omitted = escape.Ends("abc", 2, 1)
	require.Equal(t, []any{"abc", "", 0}, []any{head, tail, omitted})
	require.Len(t, escape.Head(strings.Repeat("\x80", 9), 5), 2, "what is no text is cut near the limit")
}

func TestPaths(t *testing.T) {
	require.Empty(t, escape.Paths(nil))
	require.Equal(t, `/a, "b\nc"`, escape.Paths([]string{"/a", "b\nc"}))
	many := slices.Repeat([]string{strings.Repeat("d", 300)}, 22)
	text := escape.Paths(many)
	require.True(t, strings.HasSuffix(text, "… and 2 more"), text)
	require.Less(t, utf8.RuneCountInString(text), 20*203)
}

// The limit holds, the result has no hidden characters, and no character is split.
func FuzzClip(f *testing.F) {
	f.Add("a\u009b\u202e\x7f\x00\xff\n\t👩\u200d👧\ufe0f\U000e0041\"\\", 5)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n %= 100
		plain := escape.Plain(s, n)
		require.LessOrEqual(t, utf8.RuneCountInString(plain), max(n, 0))
		require.False(t, strings.ContainsFunc(plain, escape.Hidden), "%q", plain)
		require.Equal(t, plain, escape.Plain(plain, n))
		require.LessOrEqual(t, utf8.RuneCountInString(escape.Clip(s, n)), max(n, 0))
		require.LessOrEqual(t, len(escape.ClipBytes(s, n)), max(n, len("…")))
		head, tail, omitted := escape.Ends(s, n, n)
		require.Equal(t, len(s), len(head)+omitted+len(tail))
		if utf8.ValidString(s) {
			require.True(t, utf8.ValidString(head) && utf8.ValidString(tail) && utf8.ValidString(escape.ClipBytes(s, n)))
		}
	})
}
