package tools

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ahead is a pattern that Go does not accept, and plain an equivalent one that it does.
const ahead, plain = `^(?=a)`, `^a`

func TestWidenKeepsWhatWasEvaluated(t *testing.T) {
	for name, tt := range map[string]struct{ schema, document string }{
		"oneOf":       {`{"oneOf":[{"properties":{"a":{"pattern":"P"}}},{"properties":{"b":{"type":"string"}},"required":["b"]}],"unevaluatedProperties":false}`, `{"a":"a"}`},
		"if":          {`{"if":{"properties":{"a":{"pattern":"P"}}},"then":{"properties":{"b":true}},"unevaluatedProperties":false}`, `{"a":"a","b":1}`},
		"by a parent": {`{"allOf":[{"if":{"properties":{"a":{"pattern":"P"}}},"then":true}],"unevaluatedProperties":false}`, `{"a":"a"}`},
		"by a reference": {`{"$defs":{"d":{"not":{"properties":{"a":{"pattern":"P"}}}},"e":{"oneOf":[{"properties":{"a":{"pattern":"P"}}}]}},` +
			`"$ref":"#/$defs/e","unevaluatedProperties":false}`, `{"a":"a"}`},
		"items":     {`{"properties":{"l":{"oneOf":[{"prefixItems":[{"pattern":"P"}]}],"unevaluatedItems":false}}}`, `{"l":["a"]}`},
		"under not": {`{"properties":{"x":{"pattern":"P"}},"not":{"properties":{"b":true},"unevaluatedProperties":false}}`, `{"c":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			require.True(t, wider(t, tt.schema)(tt.document), "the schema accepts it")
		})
	}
}

// A widened schema accepts every document that the original accepts.
func TestWidenTakesNoLess(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	schemas := 200
	if os.Getenv("FETTLE_FULL") != "" {
		schemas = 10_000
	}
	taken := 0
	for range schemas {
		b, err := json.Marshal(randomSchema(r, 3))
		require.NoError(t, err)
		takes := wider(t, string(b))
		for range 8 {
			document, err := json.Marshal(randomDocument(r, 2))
			require.NoError(t, err)
			if takes(string(document)) {
				taken++
			}
		}
	}
	require.Greater(t, taken, schemas, "enough documents are accepted")
}

// wider widens a schema, in which P stands for a pattern. The returned function reports whether the original schema
// accepts a document, and requires that the widened one then does too.
func wider(t *testing.T, schema string) (takes func(document string) bool) {
	t.Helper()
	original, err := ParseOutputSchema("x", json.RawMessage(strings.ReplaceAll(schema, `"P"`, `"`+plain+`"`)))
	require.NoError(t, err)
	wide, err := ParseOutputSchema("x", json.RawMessage(strings.ReplaceAll(schema, `"P"`, `"`+ahead+`"`)))
	require.NoError(t, err)
	if widen(wide.document) {
		wide.source = appendJSON(nil, wide.document)
	}
	return func(document string) bool {
		t.Helper()
		if original.Fits(json.RawMessage(document)) != nil { // or the schema is invalid, for example because it refers only to itself
			return false
		}
		require.NoError(t, wide.Fits(json.RawMessage(document)), "%s\nas %s\nrefuses %s", schema, wide.source, document)
		return true
	}
}

// randomSchema returns a schema with two definitions, which all of its parts may refer to.
func randomSchema(r *rand.Rand, depth int) map[string]any {
	s, ok := randomPart(r, depth).(map[string]any)
	if !ok {
		s = map[string]any{}
	}
	s["$defs"] = map[string]any{"d0": randomPart(r, 1), "d1": map[string]any{"pattern": "P"}}
	return s
}

func randomPart(r *rand.Rand, depth int) any {
	if depth == 0 || r.IntN(8) == 0 {
		return []any{
			true, map[string]any{"pattern": "P"}, map[string]any{"type": "string"}, map[string]any{"type": "object"},
			map[string]any{"type": "array"}, map[string]any{"const": "a"}, false, map[string]any{"pattern": "P", "minLength": 2},
		}[r.IntN(8)]
	}
	part := func() any { return randomPart(r, depth-1) }
	list := func() any { return []any{part(), part()}[:1+r.IntN(2)] }
	s := map[string]any{}
	for range 1 + r.IntN(3) {
		switch key := []string{
			"properties", "patternProperties", "additionalProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems", "not", "oneOf",
			"anyOf", "allOf", "if", "contains", "prefixItems", "items", "dependentSchemas", "$ref",
		}[r.IntN(16)]; key {
		case "properties", "dependentSchemas":
			s[key] = map[string]any{"a": part(), "b": part()}
		case "patternProperties":
			s[key] = map[string]any{"P": part(), "b": part()}
		case "unevaluatedProperties", "unevaluatedItems":
			s[key] = r.IntN(4) == 0
		case "oneOf", "anyOf", "allOf", "prefixItems":
			s[key] = list()
		case "if":
			s["if"], s["then"], s["else"] = part(), part(), part()
		case "contains":
			s["contains"], s["maxContains"] = part(), 1
		case "$ref":
			s[key] = fmt.Sprintf("#/$defs/d%d", r.IntN(2))
		default:
			s[key] = part()
		}
	}
	return s
}

func randomDocument(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case depth > 0 && n < 4:
		o := map[string]any{}
		for _, k := range []string{"a", "b", "ab", "c"} {
			if r.IntN(2) == 0 {
				o[k] = randomDocument(r, depth-1)
			}
		}
		return o
	case depth > 0 && n < 6:
		l := []any{}
		for range r.IntN(4) {
			l = append(l, randomDocument(r, depth-1))
		}
		return l
	}
	return []any{"a", "ab", "b", "", 1, true}[r.IntN(6)]
}
