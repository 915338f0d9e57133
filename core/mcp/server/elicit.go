package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// fill returns the user's input with the schema's defaults, digit by digit, for
// omitted fields, or a description of its mismatches with the schema.
func fill(schema json.RawMessage, entered map[string]any) (json.RawMessage, string) {
	values := map[string]any{}
	for k, v := range entered {
		values[k] = v
	}
	if len(schema) > 0 {
		var s struct {
			Properties map[string]struct {
				Default json.RawMessage `json:"default"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(schema, &s); err != nil {
			return nil, "its schema is not valid JSON"
		}
		for name, p := range s.Properties {
			if len(p.Default) == 0 || string(p.Default) == "null" {
				continue
			}
			if v, ok := values[name]; !ok || rounded(p.Default, v) {
				values[name] = p.Default
			}
		}
	}
	filled, err := json.Marshal(values)
	if err != nil {
		return nil, "it is not valid JSON"
	}
	if len(schema) > 0 {
		if problem := misfit(schema, filled); problem != "" {
			return nil, problem
		}
	}
	return filled, ""
}

// rounded reports whether v is the given number as the SDK decodes it. In the
// older revisions the SDK fills in defaults itself, and rounds them.
func rounded(number json.RawMessage, v any) bool {
	f, ok := v.(float64)
	var d float64
	return ok && json.Unmarshal(number, &d) == nil && d == f
}

// misfit describes how values, an object, do not match a schema; "" if they
// match. It does not repeat the user's input.
func misfit(schema, values json.RawMessage) string {
	c := jsonschema.NewCompiler()
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, errors.New("a reference leaves the schema: " + url)
	}
	if err := c.AddResource("fettle:///elicitation", bytes.NewReader(schema)); err != nil {
		return "its schema is not valid JSON"
	}
	compiled, err := c.Compile("fettle:///elicitation")
	if err != nil {
		return "its schema is invalid"
	}
	d := json.NewDecoder(bytes.NewReader(values))
	d.UseNumber()
	var entered any
	if err := d.Decode(&entered); err != nil {
		return "it is not valid JSON"
	}
	err = compiled.Validate(entered)
	if v := (*jsonschema.ValidationError)(nil); errors.As(err, &v) {
		return "it does not fit the requested schema"
	}
	if err != nil {
		return "it cannot be checked"
	}
	return ""
}
