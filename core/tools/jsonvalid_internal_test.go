package tools

import (
	"encoding/json"
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
		require.Equal(t, json.Valid(data), validJSON(data), "%s", text)
	}
}

func FuzzValidJSON(f *testing.F) {
	for _, text := range []string{`{"a":"b"}`, `"\u00e9"`, `{"a":"\"}`, `["",1]`, `"`} {
		f.Add([]byte(text))
	}
	pad := strings.Repeat(" ", longText)
	f.Fuzz(func(t *testing.T, data []byte) {
		long := append([]byte(pad), data...)
		if json.Valid(long) != validJSON(long) {
			t.Errorf("validJSON(%q) = %t", data, validJSON(long))
		}
	})
}

// BE-02: a struct with long texts equals that of encoding/json, with and without fields for them.
func TestDecodeParams(t *testing.T) {
	type named string
	type params struct {
		A string            `json:"a"`
		B string            `json:"b,omitempty"`
		C *string           `json:"c"`
		D named             `json:"d"`
		E map[string]string `json:"e"`
		F string
		N int `json:"n"`
	}
	long := strings.Repeat("é\n\"", longText)
	object := map[string]any{"a": long, "b": "short", "c": long, "d": long, "e": map[string]any{"a": long}, "F": long, "n": json.Number("7"), "unknown": long}
	text := appendJSON(nil, object)
	var want, got params
	require.NoError(t, json.Unmarshal(text, &want))
	require.NoError(t, decodeParams(text, object, &got))
	require.Equal(t, want, got)
	require.Equal(t, long, got.A)
	object["n"] = "no number"
	text = appendJSON(nil, object)
	require.ErrorContains(t, decodeParams(text, object, &got), "cannot unmarshal string")
}
