package discovered

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// declaration is a tool as declared by its program.
type declaration struct {
	name        string
	description string
	schema      json.RawMessage // nil: none
}

// read decodes the printed declarations. An invalid declaration is a problem.
func read(printed []byte) (all []declaration, problems []error, err error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(printed, &elements); err != nil {
		return nil, nil, fmt.Errorf("its output is not a JSON array of declarations: %w", err)
	}
	add := func(raw json.RawMessage) {
		d, err := readOne(raw)
		if err != nil {
			problems = append(problems, dropped(d.name, err))
			return
		}
		all = append(all, d)
	}
	for _, raw := range elements {
		list, grouped, err := group(raw)
		switch {
		case err != nil:
			problems = append(problems, dropped("", err))
		case !grouped:
			add(raw)
		}
		for _, one := range list {
			add(one)
		}
	}
	return all, problems, nil
}

// group returns the declarations of an element that contains a list of them, and whether it does.
func group(raw json.RawMessage) (list []json.RawMessage, grouped bool, err error) {
	var element map[string]json.RawMessage
	if err := json.Unmarshal(raw, &element); err != nil || element == nil {
		return nil, false, fmt.Errorf("%.60q is not an object", raw)
	}
	for _, key := range []string{"function_declarations", "functionDeclarations"} {
		value, ok := element[key]
		if !ok {
			continue
		}
		var more []json.RawMessage
		if err := json.Unmarshal(value, &more); err != nil {
			return nil, true, fmt.Errorf("%s is not a list", key)
		}
		list, grouped = append(list, more...), true
	}
	return list, grouped, nil
}

// readOne decodes a declaration. On failure it returns the valid part.
func readOne(raw json.RawMessage) (declaration, error) {
	var fields struct {
		Name        any             `json:"name"`
		Description any             `json:"description"`
		JSONSchema  json.RawMessage `json:"parametersJsonSchema"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return declaration{}, fmt.Errorf("%.60q is not a declaration", raw)
	}
	var d declaration
	var ok bool
	if d.name, ok = fields.Name.(string); !ok || strings.TrimSpace(d.name) == "" {
		return d, errors.New("it has no name")
	}
	if strings.ContainsRune(d.name, 0) {
		return d, errors.New("its name has a NUL byte, which an argument cannot contain")
	}
	if d.description, ok = fields.Description.(string); !ok && fields.Description != nil {
		return d, errors.New("its description is not a string")
	}
	switch {
	case given(fields.JSONSchema):
		d.schema = fields.JSONSchema
	case given(fields.Parameters):
		d.schema = lowerTypes(fields.Parameters)
	default:
		return d, nil
	}
	if !bytes.HasPrefix(bytes.TrimSpace(d.schema), []byte("{")) {
		return d, errors.New("its schema is not an object")
	}
	return d, nil
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// lowerTypes returns a schema with the types in the spelling of JSON Schema: parameters may have them as OBJECT or
// STRING.
func lowerTypes(raw json.RawMessage) json.RawMessage {
	var schema map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&schema); err != nil {
		return raw // rejected later
	}
	lowerIn(schema)
	changed, err := json.Marshal(schema)
	if err != nil {
		return raw
	}
	return changed
}

func lowerIn(node any) {
	schema, ok := node.(map[string]any)
	if !ok {
		return
	}
	types := []string{"object", "array", "string", "number", "integer", "boolean", "null"}
	if t, ok := schema["type"].(string); ok && slices.Contains(types, strings.ToLower(t)) {
		schema["type"] = strings.ToLower(t)
	}
	lowerIn(schema["items"])
	properties, _ := schema["properties"].(map[string]any)
	for _, p := range properties {
		lowerIn(p)
	}
	alternatives, _ := schema["anyOf"].([]any)
	for _, a := range alternatives {
		lowerIn(a)
	}
}
