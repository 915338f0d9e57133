package escape_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/escape"
)

// hidden are characters that are invisible or control a terminal.
var hidden = []rune{
	0, 0x07, 0x08, 0x0d, 0x1b, 0x7f, 0x80, 0x85, 0x90, 0x9b, 0x9c, 0x9d, 0x9f, 0xad, 0x34f, 0x61c, 0x115f, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f,
	0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060, 0x2066, 0x2067, 0x2068, 0x2069, 0x2800, 0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xfff9, 0xe0001, 0xe0041, 0xe0100,
}

func TestHidden(t *testing.T) {
	for _, r := range hidden {
		require.True(t, escape.Hidden(r), "%U", r)
		s := "a" + string(r) + "b"
		for name, got := range map[string]string{
			"text": escape.Text(s), "line": escape.Line(s), "json": escape.JSON(`"` + s + `"`), "quote": escape.Quote(s), "quoted": escape.Quoted(s),
		} {
			require.False(t, strings.ContainsFunc(got, escape.Hidden), "%U in %s: %q", r, name, got)
		}
	}
	for _, r := range []rune{' ', 'a', '~', 0xa0, 'é', '漢', '😀', 0xe000, 0xfffd} {
		require.False(t, escape.Hidden(r), "%U", r)
		require.Equal(t, string(r), escape.Text(string(r)))
		require.Equal(t, string(r), escape.Quoted(string(r)))
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain\ttext\n漢字": "plain\ttext\n漢字", "a\u009b1m\x9b\xff": "a<U+009B>1m<9B><FF>",
		"a\u202eb\u2028": "a<U+202E>b<U+2028>", "\u200e": "<U+200E>",
		"👩\u200d👧 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3 🏳\ufe0f": "👩\u200d👧 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3 🏳\ufe0f",
		"a\u200db": "a<U+200D>b", "a\ufe0f": "a<U+FE0F>", "\u200drm": "<U+200D>rm", "1\ufe0f": "1<U+FE0F>",
		"👩\u200d": "👩\u200d", "\u200d👧": "\u200d👧", // chunks of a stream
	} {
		require.Equal(t, want, escape.Text(in), "%q", in)
	}
	require.Equal(t, "a b <U+001B>c", escape.Line(" a\n\tb \x1bc "))
}

func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a b": "a b", "a\nb": `"a\nb"`, "a\tb": `"a\tb"`, "a\xff": `"a\xff"`, "a\u009b": `"a\u009b"`, "a\u3164": `"a\u3164"`,
		"a\U000e0100": `"a\U000e0100"`, "👩\u200d👧": "👩\u200d👧",
	} {
		require.Equal(t, want, escape.Quoted(in), "%q", in)
	}
}

// Quotes can be decoded, JSON keeps its value, and no hidden character remains.
func FuzzEscape(f *testing.F) {
	f.Add("a\u009b\u202e\x7f\x00\xff\n\t👩\u200d👧\ufe0f\U000e0041\"\\")
	f.Fuzz(func(t *testing.T, s string) {
		back, err := strconv.Unquote(escape.Quote(s))
		require.NoError(t, err)
		require.Equal(t, s, back)
		for _, text := range []string{escape.Text(s), escape.JSON(s), escape.Quote(s), escape.Quoted(s), escape.Line(s)} {
			require.False(t, strings.ContainsFunc(text, escape.Obeyed), "%q", text)
			require.True(t, utf8.ValidString(text))
		}
		valid := strings.ToValidUTF8(s, "\ufffd")
		raw, err := json.Marshal(valid)
		require.NoError(t, err)
		var got string
		require.NoError(t, json.Unmarshal([]byte(escape.JSON(string(raw))), &got))
		require.Equal(t, valid, got)
	})
}
