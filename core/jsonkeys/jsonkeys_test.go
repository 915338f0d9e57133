package jsonkeys_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/jsonkeys"
)

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		text   string
		folded int
		want   string
	}{
		{`{"a":"a","b":{"a":["a","a"]},"c":[{"a":1},{"a":2}],"A":{}}`, 0, ""},
		{`{"a":1,"a":2}`, 0, `the key "a" occurs twice in one object`},
		{`{"a":1, "\u0061" : 2}`, 0, `the key "a" occurs twice`},
		{`{"a":{"x":1,"x":1}}`, 1, `the key "x" occurs twice`},
		{`[[{"a":1,"a":1}]]`, 0, `the key "a" occurs twice`},
		{`{"command":1,"Command":2}`, 1, `the keys "command" and "Command" differ only in case`},
		{`{"session":1,"ſession":2}`, 1, "differ only in case"},
		{`{"k":1,"` + "\u212a" + `":2}`, 1, "differ only in case"}, // the sign of Kelvin
		{`{"x":{"a":1,"A":2}}`, 1, ""},
		{`{"x":{"a":1,"A":2}}`, 2, "differ only in case"},
		{`{"a":{},"x":"\"a\":","y":"a"}`, 1, ""},
		{`7`, 1, ""}, {`}"a":{"`, 1, ""}, {`"a":`, 1, ""}, {`{"a`, 1, ""}, {``, 1, ""},
	} {
		err := jsonkeys.Check(json.RawMessage(tt.text), tt.folded)
		if tt.want == "" {
			require.NoError(t, err, tt.text)
			continue
		}
		require.ErrorContains(t, err, tt.want, tt.text)
	}
}

// A text is unclear exactly if the tokens of encoding/json repeat a key, and at least if
// keys of the root are equal under case folding.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{`{"a":1,"a":2}`, `{"a":{"b":[{"c":"d"}]},"A":"\"a\":"}`, `[{"ſ":1,"s":2}]`, `{"\ud800":1,"\ufffd":2}`, `}{"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		exact, folded := jsonkeys.Check(text, 0), jsonkeys.Check(text, 1)
		if !json.Valid(text) {
			return
		}
		d := json.NewDecoder(bytes.NewReader(text))
		twice, alike := false, false
		var visit func(depth int)
		visit = func(depth int) {
			begin, err := d.Token()
			require.NoError(t, err)
			if begin != json.Delim('{') && begin != json.Delim('[') {
				return
			}
			var keys []string
			for d.More() {
				if begin == json.Delim('{') {
					token, err := d.Token()
					require.NoError(t, err)
					key, _ := token.(string)
					twice = twice || slices.Contains(keys, key)
					alike = alike || depth == 1 && slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, key) })
					keys = append(keys, key)
				}
				visit(depth + 1)
			}
			_, err = d.Token()
			require.NoError(t, err)
		}
		visit(1)
		require.Equal(t, twice, exact != nil, "%q", text)
		require.True(t, folded != nil || !twice && !alike, "%q", text)
	})
}
