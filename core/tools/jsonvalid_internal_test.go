package tools

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BE-02: the faster check of long arguments accepts exactly the texts that encoding/json accepts.
func TestValidJSON(t *testing.T) {
	long := strings.Repeat("x", longText)
	for _, text := range []string{
		`{"a":"LONG"}`, `{"a":"LONG\n\"\\\u00e9"}`, `"LONG"`, `["LONG","",{"b":"c"}]`,
		`{"a":"LONG}`, `{"a":"LONG\"}`, `{"a":"LONG\`, `{"a":"LONG\x"}`, `{"a":"LONG\u00g0"}`, `{"a":"LONG\u00"}`, `{"a":"LONG\u`,
		"{\"a\":\"LONG\n\"}", `{"a":"LONG""b"}`, `{"a":"LONG"`, `{LONG}`, `{"a":LONG}`, `{"a":1}LONG"`, `LONG`, `{"a":"LONG"}"x"`, `\"LONG"`, "{\"a\":\"LONG\xff\"}", "{\"a\":\"LONG\x00\"}",
	} {
		data := []byte(strings.ReplaceAll(text, "LONG", long))
		_, _, valid := validJSON(data)
		require.Equal(t, json.Valid(data), valid, "%s", text)
	}
}

func FuzzValidJSON(f *testing.F) {
	for _, text := range []string{`{"a":"b"}`, `"\u00e9"`, `{"a":"\"}`, `["",1]`, `"`} {
		f.Add([]byte(text))
	}
	pad := strings.Repeat(" ", longText)
	f.Fuzz(func(t *testing.T, data []byte) {
		long := append([]byte(pad), data...)
		if _, _, valid := validJSON(long); json.Valid(long) != valid {
			t.Errorf("validJSON(%q) = %t", data, valid)
		}
	})
}

// BE-02: long texts are those of encoding/json, and their canonical form is that of short ones, whatever their escapes.
func TestLongTexts(t *testing.T) {
	pieces := []string{`\n`, `\t`, `\"`, `\\`, `\/`, `\b\f\r`, `\u001b`, `\u003c`, `\ud83d\ude00`, "é", "\x7f", " ", "some plain text", "世界"}
	r := rand.New(rand.NewPCG(5, 6))
	copied := 0
	for range 300 {
		some := slices.Clone(pieces)
		r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		some = some[:1+r.IntN(len(some))]
		long := func() string {
			var b strings.Builder
			for b.Len() <= longText {
				b.WriteString(some[r.IntN(len(some))])
			}
			return `"` + b.String() + `"`
		}
		args := json.RawMessage(`{ "z":` + long() + `,"a":"short\n",` + long() + `:1, "l":[` + long() + `],"o":{"z":` + long() + `}, "b" : ` + long() + `}`)
		var want map[string]any
		require.NoError(t, json.Unmarshal(args, &want))
		object, written, err := readArguments(args, nil)
		require.NoError(t, err)
		text := appendObject(nil, object, written)
		require.True(t, bytes.Equal(appendJSON(nil, object), text))
		copied += len(written)
		var got map[string]any
		require.NoError(t, json.Unmarshal(text, &got))
		require.Equal(t, want, got)
		require.Equal(t, want["z"], object["z"])

		object["z"] = object["b"].(string) + "!" // as a repair or a rewrite may do
		require.True(t, bytes.Equal(appendJSON(nil, object), appendObject(nil, object, written)))
	}
	require.Positive(t, copied)
}
