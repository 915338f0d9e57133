package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/jsonscan"
)

// BE-02: a string ends where encoding/json ends it, whatever is next to what.
func TestString(t *testing.T) {
	pieces := []string{`\n`, `\"`, `\\`, `\/`, `\u00e9`, `\ud83d\ude00`, `\u00g0`, `\x`, `\`, `"`, "\n", "\x00", "\x1f", " ", "!", "#", "[", "]", "\x7f",
		"é", "世界", "\xff", "x", "plain text of some length", strings.Repeat("y", 61)}
	r := rand.New(rand.NewPCG(1, 2))
	valid := 0
	for range 50_000 {
		var b strings.Builder
		before := r.IntN(9)
		b.WriteString(strings.Repeat(" ", before) + `"`)
		for range r.IntN(12) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		if r.IntN(4) > 0 {
			b.WriteString(`"` + pieces[r.IntN(len(pieces))])
		}
		if check(t, []byte(b.String()), before+1) {
			valid++
		}
	}
	require.Greater(t, valid, 1_000)
}

func FuzzString(f *testing.F) {
	for _, text := range []string{`"`, `a\nb"c`, `\u00e9"`, "é\xff\"", `\`, "12345678\x1f\"", `123456\u00` + `e9"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { check(t, append([]byte(`"`), text...), 1) })
}

// check compares the string of data that begins at i with that of encoding/json, and reports whether it is valid.
func check(t *testing.T, data []byte, i int) bool {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	var value json.RawMessage
	valid := d.Decode(&value) == nil
	got, ok := jsonscan.String(data, i)
	require.Equal(t, valid, ok, "%q", data)
	if !ok {
		return false
	}
	text := string(value[1 : len(value)-1])
	require.Equal(t, int(d.InputOffset()), got.End, "%q", data)
	pairs := strings.Count(strings.NewReplacer(`\\`, "", `\"`, "", `\b`, "", `\f`, "", `\n`, "", `\r`, "", `\t`, "").Replace(text), `\`)
	require.Equal(t, pairs == 0, got.Short, "%q", data)
	escapes := strings.Count(strings.ReplaceAll(text, `\\`, `\`), `\`)
	require.Equal(t, escapes, got.Escapes, "%q", data)
	if got.ASCII {
		require.NotRegexp(t, `[^\x00-\x7f]`, text)
	}
	return true
}
