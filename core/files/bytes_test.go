package files_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/files"
)

func sumOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func utf16le(text string) string {
	out := []byte("\xff\xfe")
	for _, r := range text {
		out = append(out, byte(r), byte(r>>8))
	}
	return string(out)
}

// FD-01: Patch and Edit keep encoding, byte order mark, line endings and the last line's ending.
func TestFidelity(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"LF":                {"a\nb\nc\n", "a\nB\nc\n"},
		"no final newline":  {"a\nb", "a\nB"},
		"CRLF":              {"a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n"},
		"mixed":             {"a\r\nb\nc\r\n", "a\r\nB\nc\r\n"},
		"lone CR":           {"a\rx\nb\nc", "a\rx\nB\nc"},
		"UTF-8 mark":        {"\ufeffa\nb\n", "\ufeffa\nB\n"},
		"UTF-16":            {utf16le("a\r\nb\r\nü\r\n"), utf16le("a\r\nB\r\nü\r\n")},
		"Latin":             {"a\nb\ngr\xfc\xdfe aus M\xfcnchen, sch\xf6ne Stra\xdfe\n", "a\nB\ngr\xfc\xdfe aus M\xfcnchen, sch\xf6ne Stra\xdfe\n"},
		"trailing blanks":   {"a  \nb\n\t\n", "a  \nB\n\t\n"},
		"unusual separator": {"a\u2028x\x0cy\nb\n", "a\u2028x\x0cy\nB\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, files.Options{}, map[string]string{"f": c.before})
			f := p.read("f")
			require.Equal(t, c.before, string(f.Data))
			text, err := f.Text()
			require.NoError(t, err)
			same, err := f.Encode(text)
			require.NoError(t, err)
			require.Equal(t, c.before, string(same))

			edited, err := p.Edit(t.Context(), f, "b", "B")
			require.NoError(t, err)
			require.Equal(t, c.after, string(edited.Data))
			require.Equal(t, c.after, p.tree()["f"])
			back, err := p.Patch(t.Context(), edited, "@@ -2 +2 @@\n-B\n+b\n")
			require.NoError(t, err)
			require.Equal(t, c.before, string(back.Data))
			require.Equal(t, c.before, p.tree()["f"])
			require.Equal(t, sumOf(c.before), back.SHA256)
		})
	}
}

// FD-01: a text change of bytes that are no text, or that would become others, is refused.
func TestNoText(t *testing.T) {
	const latin = "gr\xfc\xdfe aus M\xfcnchen, sch\xf6ne Stra\xdfe\n"
	p := open(t, files.Options{}, map[string]string{"binary": "\x00\x01\x02a", "latin": latin, "plain": "a\n", "broken": "\ufeff\xff a\n"})
	for _, name := range []string{"binary", "broken"} {
		_, err := p.Edit(t.Context(), p.read(name), "a", "b")
		requireFault(t, err, fault.ReadContentFailure, fault.NonText)
		_, err = p.Patch(t.Context(), p.read(name), "@@ @@\n-a\n+b\n")
		requireFault(t, err, fault.ReadContentFailure, fault.NonText)
		_, err = p.read(name).Text()
		requireFault(t, err, fault.ReadContentFailure, fault.NonText)
	}
	for name, text := range map[string]string{"latin": "日本", "plain": "\x00\x00\x00"} {
		f := p.read(name)
		_, err := p.Edit(t.Context(), f, string([]rune(must(f.Text()))[:1]), text)
		requireFault(t, err, fault.FileWriteFailure, "")
		_, err = f.Encode(text)
		requireFault(t, err, fault.FileWriteFailure, "")
	}
	_, err := p.Edit(t.Context(), p.read("plain"), "", "b")
	requireFault(t, err, fault.InvalidToolParams, "")
	_, err = p.Edit(t.Context(), p.read("plain"), "b", "c")
	requireFault(t, err, fault.EditNoOccurrenceFound, "")
	_, err = p.Patch(t.Context(), p.read("plain"), "@@ @@\n-b\n+c\n")
	requireFault(t, err, fault.InvalidDiff, "")
	require.Equal(t, map[string]string{"binary": "\x00\x01\x02a", "latin": latin, "plain": "a\n", "broken": "\ufeff\xff a\n"}, p.tree())
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// FD-01: the limit of bytes holds for reads and writes.
func TestMaxBytes(t *testing.T) {
	p := open(t, files.Options{MaxBytes: 4}, map[string]string{"large": "12345", "small": "1234"})
	_, err := p.Read(t.Context(), "large")
	require.Contains(t, requireFault(t, err, fault.FileTooLarge, "").Remedy, "Options.MaxBytes")
	_, err = p.Write(t.Context(), files.File{Name: "large", SHA256: sumOf("12345")}, nil)
	requireFault(t, err, fault.FileTooLarge, "")
	_, err = p.Edit(t.Context(), p.read("small"), "1", "12")
	requireFault(t, err, fault.FileTooLarge, "")
}

// FD-01: an empty file is a version like any other.
func TestEmpty(t *testing.T) {
	o := complete(t)
	o.Rebase = true
	p := open(t, o, map[string]string{"a": ""})
	a := p.read("a")
	require.Equal(t, sumOf(""), a.SHA256)
	a, err := p.Write(t.Context(), a, []byte("x\n"))
	require.NoError(t, err)
	a, err = p.Restore(t.Context(), a, sumOf(""))
	require.NoError(t, err)
	a, err = p.Patch(t.Context(), a, "@@ -0,0 +1 @@\n+first\n")
	require.NoError(t, err)
	a, err = p.Write(t.Context(), a, nil)
	require.NoError(t, err)
	require.Equal(t, p.read("a").SHA256, a.SHA256)
}
