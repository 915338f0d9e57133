package tools

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
)

func TestReadJSONRefuses(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"nothing":             {"", "not valid JSON"},
		"blanks":              {" \n", "not valid JSON"},
		"cut off":             {`{"a":`, "unexpected end of JSON input"},
		"trailing data":       {`{"a":1} {}`, "after top-level value (at byte 9 of 10)"},
		"single quotes":       {`{'a':1}`, "not valid JSON"},
		"duplicate key":       {`{"a":1,"b":2,"a":3}`, `the key "a" occurs twice`},
		"escaped duplicate":   {`{"a":1,"\u0061":3}`, `the key "a" occurs twice`},
		"nested duplicate":    {`{"o":[{"a":1,"a":1}]}`, `the key "a" occurs twice`},
		"invalid UTF-8":       {"{\"a\":\"xy\xff\"}", "not valid UTF-8 at byte 8"},
		"lone surrogate":      {`{"a":"\ud800"}`, `\ud800 is an unpaired surrogate`},
		"surrogate and other": {`{"a":"\ud800\u0041"}`, `\ud800 is an unpaired surrogate`},
		"low surrogate first": {`{"a":"\udc00\ud800"}`, `\udc00 is an unpaired surrogate`},
		"deep arrays":         {strings.Repeat("[", 201) + strings.Repeat("]", 201), "deeper than 200 levels"},
		"deep objects":        {strings.Repeat(`{"a":`, 201) + "1" + strings.Repeat("}", 201), "deeper than 200 levels"},
		"very deep":           {strings.Repeat("[", 1e6), "not valid JSON"},
		"huge exponent":       {`1e9999999`, "exponent beyond 400"},
		"tiny exponent":       {`1E-401`, "exponent beyond 400"},
		"padded exponent":     {`1e+0000000401`, "exponent beyond 400"},
		"long number":         {strings.Repeat("1", 401), "more than 400 digits"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := readJSON([]byte(tt.text))
			require.ErrorContains(t, err, tt.want)
			require.Less(t, len(err.Error()), 300)
		})
	}
}

func TestReadJSONRefusesTooMuch(t *testing.T) {
	_, err := readJSON(bytes.Repeat([]byte(" "), MaxJSONBytes+1))
	require.ErrorContains(t, err, "more than the limit")
}

func TestReadJSONLimitsAreReached(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", 200) + strings.Repeat("]", 200),
		`[[],[[]],{"a":{}},{"a":[]}]`, // the depth decreases again
		`1e400`, `1e-400`, `1e0000000400`,
		strings.Repeat("1", 400),
	} {
		_, err := readJSON([]byte(text))
		require.NoError(t, err, text)
	}
}

// Canonical JSON: compact, sorted keys, no needless escapes, digits preserved, integral numbers as integers.
func TestCanonicalJSON(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"sorted and compact":       {" { \"b\" : [ 1 , { } ] ,\n\"a\" : [ ] } ", `{"a":[],"b":[1,{}]}`},
		"no HTML escapes":          {`"<a href='x'>\u0026\u003c/a>"`, `"<a href='x'>&</a>"`},
		"line separators":          {"\"\u2028\\u2029\"", "\"\u2028\u2029\""},
		"needed escapes":           {`"\"\\\/\b\f\n\r\t\u0000\u001f\u007f"`, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\u007f\""},
		"surrogate pair":           {`"\ud83d\ude00 \uD83D\uDE00"`, `"😀 😀"`},
		"big integer":              {`9007199254740993`, `9007199254740993`},
		"bigger integer":           {`123456789012345678901234567890`, `123456789012345678901234567890`},
		"fraction":                 {`1.50`, `1.50`},
		"integral float":           {`5.0`, `5`},
		"exponent":                 {`1e3`, `1000`},
		"negative":                 {`-1.20e2`, `-120`},
		"shrinking exponent":       {`1200e-2`, `12`},
		"zero":                     {`-0.0e5`, `0`},
		"leading zeros":            {`0.0012e4`, `12`},
		"not integral":             {`1.5e-3`, `1.5e-3`},
		"exact big":                {`9007199254740993.0`, `9007199254740993`},
		"largest number converted": {`1e19`, `10000000000000000000`},
		"too large":                {`1e20`, `1e20`},
		"others":                   {`[true,false,null,""]`, `[true,false,null,""]`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := readJSON([]byte(tt.text))
			require.NoError(t, err)
			require.Equal(t, tt.want, string(appendJSON(nil, v)))
		})
	}
}

// FuzzReadJSON: the reader accepts only what encoding/json accepts, and canonical JSON is read back unchanged.
func FuzzReadJSON(f *testing.F) {
	fuzzseed.Add(f)
	for _, seed := range []string{
		`{"a":[1,2.50,-3e2,{"b":"x\ty"}],"c":null,"d":true}`, `"\ud83d\ude00\u00e9\/"`, `[[[]],{},""]`, `1e400`, `-0`,
		`{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`, "\"\u2028<>&\"", ` [ 1 , 2 ] `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := readJSON(data)
		if err != nil {
			return
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var plain any
		if err := d.Decode(&plain); err != nil {
			t.Fatalf("accepted %q, which encoding/json refuses: %v", data, err)
		}
		require.Equal(t, plain, v)

		canonical := appendJSON(nil, v)
		if !json.Valid(canonical) {
			t.Fatalf("canonical form of %q is not JSON: %q", data, canonical)
		}
		again, err := readJSON(canonical)
		if err != nil {
			t.Fatalf("canonical form %q of %q is refused: %v", canonical, data, err)
		}
		require.Equal(t, string(canonical), string(appendJSON(nil, again)))
	})
}

// A quotation has at most 60 bytes, and no character is cut.
func TestQuoteClipped(t *testing.T) {
	x := strings.Repeat("x", 56)
	for in, want := range map[string]string{
		"":                 `""`,
		"abc":              `"abc"`,
		x + "abcd":         `"` + x + `abcd"`, // 60 bytes
		x + "abcde":        `"` + x + `a…"`,   // 61
		x + "éab":          `"` + x + `éab"`,
		x + "éabc":         `"` + x + `…"`, // not within a character
		x + " éa":          `"` + x + ` éa"`,
		x + " éab":         `"` + x + `…"`, // no blank in front of the ellipsis
		"a\n\"b\u200b\xff": `"a\n\"b\u200b\xff"`,
	} {
		require.Equal(t, want, quoteClipped(in), "%q", in)
	}
}
