package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Dialect is a provider's rules for the schemas of tools; its value is the provider's name.
type Dialect string

// The dialects, and the standard features that each of them does not support.
const (
	// DialectGemini accepts only the keywords that Google documents for JSON schemas. Combinations
	// are only anyOf; enum has only non-empty texts and numbers; required has only names that are
	// in properties.
	DialectGemini Dialect = "gemini"
	// DialectOpenAI accepts no combination of schemas at the top and no array without items.
	// Servers that build a grammar from the schema do not support references.
	DialectOpenAI Dialect = "openai"
	// DialectAnthropic accepts no combination of schemas at the top.
	DialectAnthropic Dialect = "anthropic"
)

// maxSchemaNodes is the limit of subschemas after references are replaced; further ones accept any
// value.
const maxSchemaNodes = 10_000

// AdaptTools returns tools with their schemas converted to a dialect. The error is an [*Error] of
// kind invalid_request that names the tool. It fails if a name is duplicated, if
// [SafeToolName] would change it, or if a schema does not describe an object.
func AdaptTools(tools []Tool, d Dialect) ([]Tool, error) {
	adapted := make([]Tool, 0, len(tools))
	seen := make(map[string]bool, len(tools))
	refuse := func(name, why string) error {
		return &Error{Provider: string(d), Kind: InvalidRequest, Message: fmt.Sprintf("the tool %s cannot be declared: %s", quoted(name), why)}
	}
	for _, t := range tools {
		if !validToolName(t.Name) {
			return nil, refuse(t.Name, "a name has 1 to 64 letters, digits, _ and -")
		}
		if seen[t.Name] {
			return nil, refuse(t.Name, "two tools have this name")
		}
		seen[t.Name] = true
		schema, err := AdaptSchema(t.Parameters, d)
		if err != nil {
			return nil, refuse(t.Name, err.Error())
		}
		t.Parameters = schema
		adapted = append(adapted, t)
	}
	return adapted, nil
}

// AdaptSchema converts raw, the JSON schema of a tool's parameters, to a dialect. Internal
// references are replaced by their targets; at its second occurrence, a recursive reference
// restricts only the type. Identifiers, comments and unknown keywords are dropped. Unsupported
// features are expressed in another way if possible, else dropped. The result is never narrower
// than raw; the tool still checks its arguments against its own schema.
//
// An empty raw is the schema of no parameters. The keys of the result are in alphabetical order.
// Numbers keep all their digits.
func AdaptSchema(raw json.RawMessage, d Dialect) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return json.RawMessage(`{"properties":{},"type":"object"}`), nil
	}
	var root any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&root); err != nil || dec.InputOffset() != int64(len(bytes.TrimRight(raw, " \t\r\n"))) {
		return nil, errors.New("its schema is not valid JSON")
	}
	a := adapter{root: root, dialect: d, open: map[string]bool{}}
	schema, err := a.schema(root)
	if err != nil {
		return nil, err
	}
	if schema, err = asObject(schema); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(schema); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// adapter converts one schema to a dialect.
type adapter struct {
	root    any
	dialect Dialect
	open    map[string]bool // references that are being replaced
	nodes   int
}

// valueKind is the type of value of a keyword.
type valueKind int

const (
	plain       valueKind = iota // not a schema
	oneSchema                    // a schema, or a boolean that is kept
	manySchemas                  // a list of schemas
	namedSchema                  // an object of schemas
)

// keywords are the ones that dialects other than Gemini's keep.
var keywords = map[string]valueKind{
	"type": plain, "title": plain, "description": plain, "default": plain, "examples": plain, "enum": plain, "const": plain, "format": plain, "nullable": plain,
	"minimum": plain, "maximum": plain, "exclusiveMinimum": plain, "exclusiveMaximum": plain, "multipleOf": plain,
	"minLength": plain, "maxLength": plain, "pattern": plain,
	"minItems": plain, "maxItems": plain, "uniqueItems": plain, "minContains": plain, "maxContains": plain,
	"required": plain, "minProperties": plain, "maxProperties": plain, "dependentRequired": plain,
	"items": oneSchema, "additionalProperties": oneSchema, "propertyNames": oneSchema, "contains": oneSchema,
	"not": oneSchema, "if": oneSchema, "then": oneSchema, "else": oneSchema,
	"prefixItems": manySchemas, "anyOf": manySchemas, "oneOf": manySchemas, "allOf": manySchemas,
	"properties": namedSchema, "patternProperties": namedSchema, "dependentSchemas": namedSchema,
}

// geminiKeywords are the ones that Google documents.
var geminiKeywords = []string{
	"type", "title", "description", "enum", "format", "minimum", "maximum", "minItems", "maxItems", "required",
	"items", "prefixItems", "anyOf", "properties", "additionalProperties",
}

// schema returns v converted. A boolean, and any subschema beyond the limit, becomes the schema
// that accepts any value.
func (a *adapter) schema(v any) (map[string]any, error) {
	in, ok := v.(map[string]any)
	if !ok {
		if _, ok := v.(bool); ok {
			return map[string]any{}, nil
		}
		return nil, errors.New("a part of its schema is neither an object nor a boolean")
	}
	if a.nodes++; a.nodes > maxSchemaNodes {
		return map[string]any{}, nil
	}
	out := map[string]any{}
	if ref, ok := in["$ref"]; ok {
		target, err := a.reference(ref)
		if err != nil {
			return nil, err
		}
		out = target
	}
	for key, value := range in {
		kind, known := keywords[key]
		if !known {
			continue
		}
		adapted, err := a.value(kind, value)
		if err != nil {
			return nil, err
		}
		out[key] = adapted
	}
	if err := checkRequired(out); err != nil {
		return nil, err
	}
	if list, ok := in["items"].([]any); ok { // of drafts before 2020-12
		prefix, err := a.value(manySchemas, list)
		if err != nil {
			return nil, err
		}
		delete(out, "items")
		out["prefixItems"] = prefix
	}
	if _, ok := out["items"]; !ok && out["type"] == "array" && a.dialect != DialectAnthropic {
		out["items"] = map[string]any{}
	}
	if a.dialect == DialectGemini {
		gemini(out)
	}
	return out, nil
}

// checkRequired fails if required is not a list of texts.
func checkRequired(s map[string]any) error {
	value, ok := s["required"]
	if !ok {
		return nil
	}
	list, ok := value.([]any)
	for _, name := range list {
		_, text := name.(string)
		ok = ok && text
	}
	if !ok {
		return errors.New("required in its schema is not a list of names")
	}
	return nil
}

func (a *adapter) value(kind valueKind, value any) (any, error) {
	switch kind {
	case oneSchema:
		if _, ok := value.(map[string]any); ok {
			return a.schema(value)
		}
		return value, nil
	case manySchemas:
		list, ok := value.([]any)
		if !ok {
			return nil, errors.New("a part of its schema must be a list of schemas")
		}
		adapted := make([]any, 0, len(list))
		for _, v := range list {
			s, err := a.schema(v)
			if err != nil {
				return nil, err
			}
			adapted = append(adapted, s)
		}
		return adapted, nil
	case namedSchema:
		named, ok := value.(map[string]any)
		if !ok {
			return nil, errors.New("a part of its schema must be an object of schemas")
		}
		adapted := make(map[string]any, len(named))
		for _, name := range slices.Sorted(maps.Keys(named)) { // sorted, so that the limit always applies to the same ones
			s, err := a.schema(named[name])
			if err != nil {
				return nil, err
			}
			adapted[name] = s
		}
		return adapted, nil
	}
	return value, nil
}

// reference returns the target of a $ref, converted.
func (a *adapter) reference(ref any) (map[string]any, error) {
	pointer, ok := ref.(string)
	if !ok || !strings.HasPrefix(pointer, "#") || (pointer != "#" && !strings.HasPrefix(pointer, "#/")) {
		return nil, fmt.Errorf("its schema refers to %s, which is outside of it", quoted(fmt.Sprint(ref)))
	}
	target := a.root
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		object, _ := target.(map[string]any)
		if target, ok = object[step]; !ok {
			return nil, fmt.Errorf("its schema refers to %s, which does not exist", quoted(pointer))
		}
	}
	if a.open[pointer] {
		object, _ := target.(map[string]any)
		if t, ok := object["type"].(string); ok {
			return map[string]any{"type": t}, nil
		}
		return map[string]any{"type": "object"}, nil
	}
	a.open[pointer] = true
	defer delete(a.open, pointer)
	return a.schema(target)
}

// gemini reduces a converted schema to the features that Google documents.
func gemini(s map[string]any) {
	if value, ok := s["const"]; ok {
		s["enum"] = []any{value}
	}
	if list, ok := s["oneOf"].([]any); ok && s["anyOf"] == nil {
		s["anyOf"] = list
	}
	if list, ok := s["allOf"].([]any); ok {
		for _, member := range list {
			merge(s, member.(map[string]any))
			require(s, member.(map[string]any))
		}
	}
	if list, ok := s["enum"].([]any); ok {
		list = slices.DeleteFunc(slices.Clone(list), func(v any) bool {
			_, number := v.(json.Number)
			text, _ := v.(string)
			return !number && text == ""
		})
		if s["enum"] = list; len(list) == 0 {
			delete(s, "enum")
		}
	}
	if !slices.Contains([]any{"date-time", "date", "time", "int32", "int64", "float", "double", nil}, s["format"]) {
		delete(s, "format")
	}
	if list, ok := s["required"].([]any); ok {
		properties, _ := s["properties"].(map[string]any)
		list = slices.DeleteFunc(slices.Clone(list), func(v any) bool {
			name, _ := v.(string)
			return properties[name] == nil
		})
		if s["required"] = list; len(list) == 0 {
			delete(s, "required")
		}
	}
	maps.DeleteFunc(s, func(key string, _ any) bool { return !slices.Contains(geminiKeywords, key) })
}

// asObject returns the schema of a tool's parameters: that of an object. A combination at the top
// is replaced by the properties of its schemas.
func asObject(s map[string]any) (map[string]any, error) {
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		for i, member := range list {
			m := member.(map[string]any)
			merge(s, m)
			if key == "allOf" {
				require(s, m)
			} else if i == 0 {
				require(s, common(list))
			}
		}
		delete(s, key)
	}
	for _, key := range []string{"not", "if", "then", "else", "enum", "const"} {
		delete(s, key)
	}
	switch t := s["type"].(type) {
	case nil:
	case string:
		if t != "object" {
			return nil, fmt.Errorf("its schema describes a value of type %s; parameters must be an object", quoted(t))
		}
	case []any:
		if !slices.Contains(t, any("object")) {
			return nil, errors.New("its schema does not describe an object; parameters must be one")
		}
	default:
		return nil, errors.New("the type in its schema is not a text")
	}
	s["type"] = "object"
	if s["properties"] == nil {
		s["properties"] = map[string]any{}
	}
	return s, nil
}

// merge adds the keywords and properties of m that s lacks.
func merge(s, m map[string]any) {
	for key, value := range m {
		mine, both := s[key].(map[string]any)
		theirs, named := value.(map[string]any)
		switch {
		case key == "required", key == "additionalProperties":
		case key == "properties" && both && named:
			for name, property := range theirs {
				if mine[name] == nil {
					mine[name] = property
				}
			}
		case s[key] == nil:
			if key == "properties" && named {
				value = maps.Clone(theirs)
			}
			s[key] = value
		}
	}
}

// require adds the required names of m to those of s.
func require(s, m map[string]any) {
	list, _ := s["required"].([]any)
	more, _ := m["required"].([]any)
	list = slices.Clone(list)
	for _, name := range more {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	if len(list) > 0 {
		s["required"] = list
	}
}

// common returns a schema that requires the names that every schema of a list requires.
func common(list []any) map[string]any {
	var names []any
	for i, member := range list {
		required, _ := member.(map[string]any)["required"].([]any)
		if i == 0 {
			names = slices.Clone(required)
		}
		names = slices.DeleteFunc(names, func(name any) bool { return !slices.Contains(required, name) })
	}
	return map[string]any{"required": names}
}
