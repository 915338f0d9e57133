package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStructuredSchemas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema string
		want   string // "": the subset has no such schema
	}{
		"closed":                {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`},
		"no properties":         {`{"type":"object"}`, `{"type":"object","properties":{},"additionalProperties":false}`},
		"ranges":                {`{"type":"integer","minimum":3,"maximum":5}`, `{"type":"integer","description":"{maximum: 5, minimum: 3}"}`},
		"range and description": {`{"type":"string","description":"A name.","pattern":"^a"}`, `{"type":"string","description":"A name.\n\n{pattern: \"^a\"}"}`},
		"identifiers":           {`{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"x","type":"null"}`, `{"type":"null"}`},
		"format":                {`{"type":"string","format":"date"}`, `{"type":"string","format":"date"}`},
		"another format":        {`{"type":"string","format":"regex"}`, `{"type":"string","description":"{format: \"regex\"}"}`},
		"items":                 {`{"type":"array","minItems":1,"items":{"type":"object"}}`, `{"type":"array","minItems":1,"items":{"type":"object","properties":{},"additionalProperties":false}}`},
		"many items":            {`{"type":"array","minItems":2,"items":{"type":"string"}}`, `{"type":"array","description":"{minItems: 2}","items":{"type":"string"}}`},
		"one of":                {`{"oneOf":[{"type":"string"},{"const":1}]}`, `{"anyOf":[{"type":"string"},{"const":1}]}`},
		"reference":             {`{"$ref":"#/$defs/a","description":"x","$defs":{"a":{"type":"number","multipleOf":2}}}`, `{"$ref":"#/$defs/a","$defs":{"a":{"type":"number","description":"{multipleOf: 2}"}}}`},
		"old definitions":       {`{"allOf":[{"$ref":"#/definitions/a"}],"definitions":{"a":{"enum":["b"]}}}`, `{"allOf":[{"$ref":"#/definitions/a"}],"definitions":{"a":{"enum":["b"]}}}`},
		"any value":             {`{}`, ""},
		"property of any value": {`{"type":"object","properties":{"a":true}}`, ""},
		"list of types":         {`{"type":["string","null"]}`, ""},
		"dictionary":            {`{"type":"object","additionalProperties":{"type":"string"}}`, ""},
		"patterns of keys":      {`{"type":"object","patternProperties":{"^a":{"type":"string"}}}`, ""},
		"tuple":                 {`{"type":"array","items":[{"type":"string"}]}`, ""},
		"no alternative":        {`{"anyOf":[]}`, ""},
		"both alternatives":     {`{"anyOf":[{"type":"string"}],"oneOf":[{"type":"null"}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var schema map[string]any
			require.NoError(t, json.Unmarshal([]byte(c.schema), &schema))
			got, ok := structured(schema)
			require.Equal(t, c.want != "", ok)
			if ok {
				require.JSONEq(t, c.want, compact(t, got))
			}
			require.JSONEq(t, c.schema, compact(t, schema), "the schema of the caller is not changed")
		})
	}
}
