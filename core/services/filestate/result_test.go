package filestate

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// encodedBytes is textBytes implemented with the encoder.
func encodedBytes(t testing.TB, text string) int {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(text))
	return b.Len() - len(`""`) - len("\n")
}

func FuzzTextBytes(f *testing.F) {
	f.Add("a\"\\\n\r\t\b\f\x00\x1b\x7f<>&é\u0085\u2028漢😀\xff\xc3", uint8(7))
	f.Fuzz(func(t *testing.T, text string, room uint8) {
		require.Equal(t, encodedBytes(t, text), textBytes(text))
		n := textPrefix(text, int(room))
		require.True(t, n > 0 || text == "")
		if _, first := utf8.DecodeRuneInString(text); n > first {
			require.LessOrEqual(t, encodedBytes(t, text[:n]), int(room))
		}
		if n < len(text) {
			_, size := utf8.DecodeRuneInString(text[n:])
			require.Greater(t, textBytes(text[:n+size]), int(room), "as much as has room")
		}
	})
}

func TestSetResultBytes(t *testing.T) {
	s := New(Options{})
	require.Equal(t, noResultBytes, s.ResultBytes())
	for n, want := range map[int]int{-1: noResultBytes, 0: noResultBytes, 1: 1000, 1000: 1000, 5000: 5000} {
		s.SetResultBytes(n)
		require.Equal(t, want, s.ResultBytes(), "%d", n)
		require.Equal(t, want, s.Limits().ResultBytes)
		require.Equal(t, want, New(Options{Limits: Limits{ResultBytes: n}}).ResultBytes())
	}
}

// A range of a file above the limit FileBytes fits too.
func TestHugePagesFit(t *testing.T) {
	var b strings.Builder
	for range 2000 {
		b.WriteString("\"quoted\"\t\x1b\n")
	}
	f := newFixture(t, func(o *Options) { o.Limits = Limits{FileBytes: 1000, ResultBytes: 1500} })
	p := f.write("huge.txt", b.String())
	shown := ""
	for next := 0; ; {
		r, err := f.Read(t.Context(), ReadRequest{Path: p, Offset: next, Ranged: true})
		require.NoError(t, err)
		require.LessOrEqual(t, jsonBytes(r.State), 1500)
		require.Nil(t, r.State.SHA256)
		shown += *r.State.Content
		if r.State.NextOffset == nil {
			break
		}
		next = *r.State.NextOffset
	}
	require.Equal(t, b.String(), shown)
}

// A path that fills a result leaves no room for content, and nothing counts as shown.
func TestNoRoomBesideThePath(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Limits = Limits{ResultBytes: 1000} })
	name := strings.Repeat(strings.Repeat("d", 200)+"/", 4) + "f"
	require.NoError(t, os.MkdirAll(filepath.Dir(f.name(name)), 0o700))
	p := f.write(name, strings.Repeat("line\n", 300))
	_, err := f.Read(t.Context(), ReadRequest{Path: p})
	require.Equal(t, fault.FileTooLarge, fault.CodeOf(err))
	require.NotEmpty(t, fault.As(err).Remedy)
	require.Zero(t, f.Cache.Len())
}
