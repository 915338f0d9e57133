package tools_test

import (
	"encoding/json"
	"testing"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/tools"
)

// FuzzCheck: arguments are accepted in a canonical form, which is then accepted unchanged and fits the Go type, or
// refused with invalid_tool_params.
func FuzzCheck(f *testing.F) {
	fuzzseed.Add(f)
	for _, seed := range []string{
		`{"file_path":"a","limit":5,"ratio":0.5,"deep":true,"mode":"slow","paths":["x"],"sizes":[1],"edits":[{"old":"a"}],"env":{"A":1}}`,
		`{"file_path":7,"limit":"5","deep":"True","paths":"x","sizes":"[1]","only":"{\"old\":\"x\"}","mode":null}`,
		`{"file_path":"a","limit":1e9999999}`, `{"file_path":"a","limit":5.0}`, `{"a":1,"a":2}`, `"{}"`, `[]`, "{\"file_path\":\"\xff\"}",
		`{"file_path":"a","limit":9223372036854775808}`, `{"file_path":"\ud800"}`, `{"file_path":"a","env":{"":"1e2"}}`,
	} {
		f.Add([]byte(seed))
	}
	s := sampleSchema(f)
	f.Fuzz(func(t *testing.T, args []byte) {
		before := string(args)
		got, err := s.Check(args)
		if string(args) != before {
			t.Fatalf("Check changed its argument %q", before)
		}
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidToolParams {
				t.Fatalf("Check(%q) = %v", args, err)
			}
			return
		}
		again, err := s.Check(got)
		if err != nil || string(again) != string(got) {
			t.Fatalf("Check(%q) = %q, which checks to %q, %v", args, got, again, err)
		}
	})
}

// FuzzParseSchema: a schema is refused with invalid_config, or valid. A check with a valid one ends with a code or
// canonical arguments.
func FuzzParseSchema(f *testing.F) {
	fuzzseed.Add(f)
	for _, seed := range []string{
		string(sampleSchema(f).Raw()),
		`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"$ref":"#/properties/a"}}}`,
		`{"type":"object","properties":{"a":{"enum":[1e9999999]}}}`, `{"type":"object","properties":{"a":{"multipleOf":0}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`,
		`{"type":"object","patternProperties":{"[":{}}}`, `{"type":"object","properties":{"a":{"pattern":"("}}}`,
		`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}],"not":{"type":"array"}}`,
		`{"type":"object","properties":{"a":{"minLength":1e300}}}`, `{"$id":"a#b","type":"object"}`, `{"$anchor":"x","$ref":"#x"}`,
	} {
		f.Add([]byte(seed), []byte(`{"a":"1","b":[null,{"c":2}],"file_path":3}`))
	}
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		s, err := tools.ParseSchema("fuzzed", schema)
		if err == nil {
			err = s.Compile()
		}
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidConfig {
				t.Fatalf("ParseSchema(%q): %v", schema, err)
			}
			return
		}
		if !json.Valid(s.Raw()) {
			t.Fatalf("Raw of %q is %q", schema, s.Raw())
		}
		got, err := s.Check(args)
		switch {
		case err == nil && !json.Valid(got):
			t.Fatalf("Check(%q) against %q = %q", args, schema, got)
		case err != nil && fault.CodeOf(err) != fault.InvalidToolParams:
			t.Fatalf("Check(%q) against %q: %v", args, schema, err)
		}
	})
}
