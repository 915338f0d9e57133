package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// fill returns what a person has entered with the schema's defaults for what is
// left out, or says in what it does not fit the schema.
func fill(schema json.RawMessage, entered map[string]any) (json.RawMessage, string) {
	values := map[string]any{}
	for k, v := range entered {
		values[k] = v
	}
	if len(schema) > 0 {
		var s struct {
			Properties map[string]struct {
				Default any `json:"default"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(schema, &s); err != nil {
			return nil, "its schema cannot be read"
		}
		for name, p := range s.Properties {
			if _, ok := values[name]; !ok && p.Default != nil {
				values[name] = p.Default
			}
		}
		if problem := misfit(schema, values); problem != "" {
			return nil, problem
		}
	}
	filled, err := json.Marshal(values)
	if err != nil {
		return nil, "it is no JSON"
	}
	return filled, ""
}

// misfit says in what values do not fit a schema; "" where they do. What a
// person has entered is not repeated.
func misfit(schema json.RawMessage, values map[string]any) string {
	c := jsonschema.NewCompiler()
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, errors.New("a reference leaves the schema: " + url)
	}
	if err := c.AddResource("fettle:///elicitation", bytes.NewReader(schema)); err != nil {
		return "its schema cannot be read"
	}
	compiled, err := c.Compile("fettle:///elicitation")
	if err != nil {
		return "its schema cannot be used"
	}
	err = compiled.Validate(values)
	if v := (*jsonschema.ValidationError)(nil); errors.As(err, &v) {
		return "it does not fit the schema that was asked for"
	}
	if err != nil {
		return "it cannot be checked"
	}
	return ""
}
