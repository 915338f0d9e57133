package tools

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is taken for plain is compiled without a mistake.
func TestPlainSchemas(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, `{"type":"object"}`: true, `{"type":["string","null"],"description":"x"}`: true,
		`{"type":"object","properties":{"a":{"type":"integer","minimum":0,"maxLength":3},"b":true},"required":["a","b"],"additionalProperties":false}`: true,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"enum":["x",1,null,true]}}}`:                          true,
		`{"anyOf":[{"pattern":"^a+$"},{"items":{"type":"string"},"uniqueItems":true}],"not":{"const":{"a":[]}},"default":1,"examples":[1]}`:            true,
		`{"type":"thing"}`: false, `{"type":[]}`: false, `{"type":["string","string"]}`: false, `{"type":1}`: false, `{"properties":[]}`: false, `{"properties":{"a":1}}`: false,
		`{"required":"a"}`: false, `{"required":["a","a"]}`: false, `{"required":[1]}`: false, `{"enum":[]}`: false, `{"enum":[1,1]}`: false, `{"enum":[1,1.0]}`: false, `{"enum":[0,-0]}`: false, `{"enum":[{}]}`: false, `{"anyOf":[]}`: false, `{"items":[{}]}`: false,
		`{"minLength":-1}`: false, `{"minLength":1.5}`: false, `{"minimum":"1"}`: false, `{"exclusiveMinimum":true}`: false, `{"pattern":"("}`: false, `{"$ref":"#/x"}`: false, `{"$schema":"http://json-schema.org/draft-04/schema#"}`: false,
		`{"description":1}`: false, `{"uniqueItems":"x"}`: false, `{"x-unknown":1}`: false, `{"format":1}`: false, `{"multipleOf":0}`: false,
	} {
		document, err := readJSON([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, plainSchema(document), text)
		s, err := ParseSchema("x", []byte(text))
		if err != nil {
			continue // it is none of an object
		}
		probed := s.Probe()
		compiled := s.Compile()
		require.Equal(t, compiled == nil, probed == nil, "%s: %v %v", text, probed, compiled)
		if want {
			require.NoError(t, compiled, text)
		}
	}
}

// A schema that is taken for plain can be compiled, whatever it is.
func FuzzPlainSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"integer","minimum":0}},"required":["a"],"$schema":"http://json-schema.org/draft-07/schema#"}`)
	f.Add(`{"enum":[1,1.0]}`)
	f.Fuzz(func(t *testing.T, text string) {
		document, err := readJSON([]byte(text))
		if err != nil || !plainSchema(document) {
			return
		}
		if s, err := ParseSchema("x", []byte(text)); err == nil {
			if err := s.Compile(); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}
