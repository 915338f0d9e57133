package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits on one schema, in addition to those of [tools.ParseSchema].
const (
	maxSchemaBytes = 256 << 10
	maxSchemaParts = 10_000 // with references expanded
)

// adaptSchema returns a tool's schema, in its own order, with the type object; a
// missing schema becomes that of an object without properties. It returns a
// clause as the error for a schema that cannot be declared to every model, or
// that would keep a validator busy without bound. Other mistakes are left to
// [tools.ParseSchema].
func adaptSchema(raw []byte) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("its schema has %d bytes, more than %d", len(raw), maxSchemaBytes)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return nil, errors.New("its schema is not a JSON object")
	}
	adapted := json.RawMessage(raw)
	if t, ok := keys["type"]; !ok || isList(t) {
		var err error
		if adapted, err = asObject(raw, t); err != nil {
			return nil, err
		}
	}
	return adapted, checkSchema(adapted)
}

func isList(raw json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) }

// asObject returns a schema with the type object in place of a missing type, or
// of a list of types that includes object.
func asObject(raw []byte, types json.RawMessage) (json.RawMessage, error) {
	if types != nil {
		var list []any
		if err := json.Unmarshal(types, &list); err != nil || !slices.Contains(list, any("object")) {
			return nil, errors.New("its schema does not describe an object")
		}
	}
	out := bytes.NewBufferString(`{"type":"object"`)
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if key == "type" {
			continue
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		out.WriteByte(',')
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// checkSchema finds mistakes that show only when the schema is used: references
// that leave the schema or have no target, and references that expand without
// bound.
func checkSchema(raw json.RawMessage) error {
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		return errors.New("its schema is not valid JSON")
	}
	c := schemaCheck{root: root, parts: map[string]int{}}
	parts, err := c.schema(root, "")
	if err == nil && parts > maxSchemaParts {
		err = fmt.Errorf("its schema has more than %d parts, references included", maxSchemaParts)
	}
	return err
}

// schemaCheck walks a schema.
type schemaCheck struct {
	root  any
	parts map[string]int // by reference: the number of schemas in its target; 1 while that is being counted
	depth int
}

// Keywords whose values are or contain schemas.
var (
	schemaKeys = []string{
		"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then",
		"unevaluatedItems", "unevaluatedProperties",
	}
	schemaListKeys = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	schemaMapKeys  = []string{"dependencies", "dependentSchemas", "patternProperties", "properties"}
)

// schema returns the number of schemas in v, with references expanded. at is the
// position of v, "" for the root.
func (c *schemaCheck) schema(v any, at string) (int, error) {
	s, ok := v.(map[string]any)
	if !ok {
		if _, ok := v.(bool); ok && at != "" {
			return 1, nil
		}
		return 0, fmt.Errorf("its schema has an invalid schema at %s", quoted(at))
	}
	if c.depth++; c.depth > 2000 {
		return 0, errors.New("its schema is nested too deep")
	}
	defer func() { c.depth-- }()
	if err := checkNames(s, at); err != nil {
		return 0, err
	}
	parts := 1
	if ref, ok := s["$ref"]; ok {
		n, err := c.reference(ref)
		if err != nil {
			return 0, err
		}
		parts += n
	}
	for key, value := range s {
		n, err := c.keyword(key, value, at+"/"+key)
		if err != nil {
			return 0, err
		}
		if parts += n; parts > maxSchemaParts {
			return maxSchemaParts + 1, nil // saturates, so that it cannot overflow
		}
	}
	return parts, nil
}

// keyword counts the schemas in the value of a keyword.
func (c *schemaCheck) keyword(key string, value any, at string) (parts int, err error) {
	add := func(v any, at string) {
		if err == nil && parts <= maxSchemaParts {
			var n int
			n, err = c.schema(v, at)
			parts += n
		}
	}
	switch list, isList := value.([]any); {
	case isList && slices.Contains(schemaListKeys, key):
		for i, v := range list {
			add(v, fmt.Sprintf("%s/%d", at, i))
		}
	case slices.Contains(schemaKeys, key):
		add(value, at)
	case slices.Contains(schemaMapKeys, key):
		named, _ := value.(map[string]any)
		for name, v := range named {
			if _, names := v.([]any); names && key == "dependencies" {
				continue
			}
			add(v, at+"/"+name)
		}
	}
	return parts, err
}

// checkNames refuses schemas within the schema that have a name of their own: a
// reference would then depend on its position.
func checkNames(s map[string]any, at string) error {
	for _, key := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := s[key]; ok {
			return fmt.Errorf("its schema uses %s, which some model providers do not accept", key)
		}
	}
	if _, ok := s["$id"]; ok && at != "" {
		return fmt.Errorf("its schema has an $id of its own at %s", quoted(at))
	}
	if id, ok := s["id"].(string); ok && at != "" && strings.HasPrefix(id, "#") {
		return fmt.Errorf("its schema has an id of its own at %s", quoted(at))
	}
	return nil
}

// reference returns the number of schemas in the target of a $ref.
func (c *schemaCheck) reference(ref any) (int, error) {
	pointer, ok := ref.(string)
	if !ok || pointer != "#" && !strings.HasPrefix(pointer, "#/") {
		return 0, fmt.Errorf("its schema refers to %s, which is outside", quoted(fmt.Sprint(ref)))
	}
	if n, ok := c.parts[pointer]; ok {
		return n, nil
	}
	target := c.root
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		object, _ := target.(map[string]any)
		if target, ok = object[step]; !ok {
			return 0, fmt.Errorf("its schema refers to %s, which does not exist", quoted(pointer))
		}
	}
	c.parts[pointer] = 1
	n, err := c.schema(target, pointer)
	c.parts[pointer] = n
	return n, err
}
