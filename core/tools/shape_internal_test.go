package tools

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Valid arguments of common schemas are accepted without the compiled schema, which explains invalid ones.
func TestShapes(t *testing.T) {
	for _, tt := range []struct{ schema, valid, invalid string }{
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`, `{"a":"x"}`, `{"a":"x","b":1}`},
		{`{"type":"object","properties":{"a":{"type":"integer","minimum":0,"maximum":9}}}`, `{"a":9,"b":{}}`, `{"a":10}`},
		{`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]}}}`, `{"a":"y"}`, `{"a":"z"}`},
		{`{"type":"object","properties":{"a":{"type":"string","minLength":1,"maxLength":2}}}`, `{"a":"éé"}`, `{"a":"ééé"}`},
		{`{"type":"object","properties":{"a":{"type":"array","items":{"type":"number"},"minItems":1,"maxItems":2}}}`, `{"a":[1,2.5]}`, `{"a":[true]}`},
		{`{"type":"object","properties":{"a":{"anyOf":[{"type":"boolean"},{"type":["string","null"]}]}}}`, `{"a":true}`, `{"a":[1]}`},
		{`{"type":"object","properties":{"a":{"type":["string","null"],"pattern":"^x$"},"b":{"const":"y"}}}`, `{"a":"x","b":"y"}`, `{"a":"xx"}`},
		{`{"type":"object","oneOf":[{"required":["a"]},{"required":["b","c"]}]}`, `{"a":1,"b":2}`, `{"a":1,"b":2,"c":3}`},
		{`{"type":"object","properties":{"a":{"type":"object","properties":{"b":true},"required":["b"]}}}`, `{"a":{"b":1}}`, `{"a":{}}`},
	} {
		s, err := ParseSchema("x", json.RawMessage(tt.schema))
		require.NoError(t, err)
		_, err = s.Check(json.RawMessage(tt.valid))
		require.NoError(t, err, tt.schema)
		require.Nil(t, s.compiled, tt.schema)
		_, err = s.Check(json.RawMessage(tt.invalid))
		require.Error(t, err, tt.schema)
		require.NotNil(t, s.compiled, tt.schema)
	}
}

// A document that a shape accepts is valid for the library, whatever the schema.
func TestShapesAcceptValidDocuments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	accepted, rejected := 0, 0
	for range 20_000 {
		text, err := json.Marshal(shapedSchema(r, 3))
		require.NoError(t, err)
		s, _, err := readSchema("x", text)
		if err != nil {
			continue // true and false are not schemas of tools
		}
		for range 8 {
			document, err := json.Marshal(randomValue(r, 3))
			require.NoError(t, err)
			value, err := readJSON(document)
			require.NoError(t, err)
			if !s.accepts(value) {
				rejected++
				continue
			}
			accepted++
			require.NoError(t, s.Compile(), "%s", text)
			failures, err := s.validate(value)
			require.NoError(t, err)
			require.Empty(t, failures, "%s accepts %s", text, document)
		}
	}
	require.Greater(t, accepted, 5_000)
	require.Greater(t, rejected, 5_000)
}

var names = []string{"a", "b", "c"}

// shapedSchema returns a schema of the keys that shapes know, with a few others.
func shapedSchema(r *rand.Rand, depth int) any {
	if depth == 0 || r.IntN(12) == 0 {
		return r.IntN(4) > 0
	}
	s := map[string]any{}
	all := []string{"string", "integer", "number", "boolean", "object", "array", "null"}
	for range r.IntN(4) {
		switch r.IntN(12) {
		case 0:
			s["type"] = all[r.IntN(len(all))]
		case 1:
			s["type"] = []string{all[r.IntN(3)], all[3+r.IntN(4)]}
		case 2:
			s["enum"] = []any{[]any{"x", "éa"}, []any{"x", 1}}[r.IntN(2)]
		case 3:
			s["properties"] = map[string]any{names[r.IntN(3)]: shapedSchema(r, depth-1), "c": shapedSchema(r, depth-1)}
		case 4:
			s["required"] = []string{names[r.IntN(3)]}
		case 5:
			s["additionalProperties"] = r.IntN(2) == 0
		case 6:
			s["items"] = shapedSchema(r, depth-1)
		case 7:
			s["anyOf"] = []any{shapedSchema(r, depth-1), shapedSchema(r, depth-1)}
		case 8:
			s["const"] = []any{"x", 1}[r.IntN(2)]
		case 9:
			s["pattern"] = []string{"^x", "a$"}[r.IntN(2)]
		case 10:
			s["oneOf"] = []any{map[string]any{"required": []string{"a"}}, map[string]any{"required": []string{"b", "c"}}}
			if r.IntN(3) == 0 {
				s["oneOf"] = []any{shapedSchema(r, depth-1), map[string]any{"required": []string{"b"}}}
			}
		case 11:
			key := []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "maxProperties", "exclusiveMinimum"}[r.IntN(8)]
			s[key] = r.IntN(3)
		}
	}
	return s
}

func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(12); {
	case n < 2:
		return []string{"x", "éa", "", "xyz"}[r.IntN(4)]
	case n < 5:
		return json.Number([]string{"0", "1", "-0", "2.0", "1e1", "0.5", "-3", "1000000000000000000000", "1e400"}[r.IntN(9)])
	case n == 5:
		return r.IntN(2) == 0
	case n == 6 || depth == 0:
		return nil
	case n < 9:
		list := make([]any, r.IntN(3))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	}
	object := map[string]any{}
	for range r.IntN(4) {
		object[names[r.IntN(3)]] = randomValue(r, depth-1)
	}
	return object
}

func BenchmarkShape(b *testing.B) {
	s, err := ParseSchema("x", json.RawMessage(`{"type":"object","properties":{"file_path":{"type":"string"},"offset":{"type":"integer","minimum":0},"limit":{"type":"integer","minimum":1}},"required":["file_path"],"additionalProperties":false}`))
	require.NoError(b, err)
	value, err := readJSON([]byte(`{"file_path":"core/f.go","offset":0,"limit":2000}`))
	require.NoError(b, err)
	require.NoError(b, s.Compile())
	for name, valid := range map[string]func(any) bool{
		"shape":    s.accepts,
		"compiled": func(v any) bool { failures, err := s.validate(v); return err == nil && len(failures) == 0 },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.True(b, valid(value))
			}
		})
	}
}
