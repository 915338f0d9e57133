package redact_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/redact"
)

func TestMasker(t *testing.T) {
	var m redact.Masker
	require.Equal(t, "a [masked]", m.Text("a "+"ghp_"+strings.Repeat("aB3d", 9)))
	m.Add("", "short", "my \"own\" value")
	require.Equal(t, []string{"my \"own\" value"}, m.Values())
	require.Equal(t, `[masked] \[masked]\ {"x":"[masked]"} short`, m.Text(`my "own" value \my \"own\" value\ {"x":"my \"own\" value"} short`))
	m.Add("another one")
	require.Equal(t, "[masked]", m.Text("another one"))
}

// A secret is masked wherever it is split between writes.
func TestWriter(t *testing.T) {
	line64 := strings.Repeat("MIIEvQ+/", 8)
	for _, secret := range []string{
		"sk_live_" + strings.Repeat("aB3d", 6), "Authorization: Bearer " + strings.Repeat("aB3d", 6),
		"-----BEGIN PRIVATE " + "KEY-----\n" + line64 + "\n" + line64 + "\n-----END PRIVATE " + "KEY-----",
	} {
		text := "before\n" + secret + "\nafter"
		want := redact.Text(text)
		require.NotContains(t, want, secret)
		for i := range len(text) {
			var b bytes.Buffer
			w := redact.NewWriter(&b, nil)
			for _, p := range []string{text[:i], text[i:]} {
				n, err := w.Write([]byte(p))
				require.NoError(t, err)
				require.Equal(t, len(p), n)
			}
			require.NoError(t, w.Close())
			require.Equal(t, want, b.String())
		}
		var b bytes.Buffer
		w := redact.NewWriter(&b, nil)
		for i := range len(text) {
			_, err := w.Write([]byte(text[i : i+1]))
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		require.NoError(t, w.Close())
		require.Equal(t, want, b.String())
	}
	// A key that ends on its line buffers nothing; a key that begins after it does.
	key := "-----BEGIN PRIVATE " + "KEY-----\\n" + line64 + "\\n" + line64 + "\\n-----END PRIVATE " + "KEY-----"
	var log bytes.Buffer
	lines := redact.NewWriter(&log, nil)
	for _, part := range []struct{ line, shown string }{
		{"key=\"" + key + "\"\n", "key=\"[masked]\"\n"}, {"next\n", "next\n"}, {key + " -----BEGIN PRIVATE " + "KEY-----\n", ""}, {line64 + "\n", ""},
	} {
		log.Reset()
		_, err := lines.Write([]byte(part.line))
		require.NoError(t, err)
		require.Equal(t, part.shown, log.String())
	}
	require.NoError(t, lines.Close())
	require.NotContains(t, log.String(), line64)

	// A line is not buffered without limit, and a complete one not at all.
	var b bytes.Buffer
	w := redact.NewWriter(&b, nil)
	_, err := w.Write([]byte("a whole line\nand a part"))
	require.NoError(t, err)
	require.Equal(t, "a whole line\n", b.String())
	_, err = w.Write(bytes.Repeat([]byte("x"), 1<<20))
	require.NoError(t, err)
	require.Greater(t, b.Len(), 1<<20)
}

// A value is masked as encoded in a URL, too; the Masker sets the minimum length.
func TestMaskerForms(t *testing.T) {
	m := redact.Masker{Shortest: 4}
	m.Add("a b/", "abc")
	require.Equal(t, "[masked] [masked] [masked] abc", m.Text("a b/ a+b%2F a%20b%2F abc"))
}
