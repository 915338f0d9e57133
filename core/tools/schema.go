package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/fettle-dev/fettle/core/fault"
)

// Schema is the JSON schema of a tool's arguments or results. It is compiled on first use, then immutable, and safe for
// concurrent use: all sessions share a tool's schema. Create it with [SchemaOf], [ParseSchema] or [ParseOutputSchema].
type Schema struct {
	name   string
	source json.RawMessage // the schema to compile
	raw    json.RawMessage // the schema for models

	shaping sync.Once
	shape   *shape // of source; nil: only the compiled schema decides

	once     sync.Once
	compiled *jsonschema.Schema
	document any // decoded source; error messages quote it
	err      error
}

// ParseSchema parses a schema, a JSON object that describes an object. Empty raw is the schema of an object with any
// keys. name is the tool's name, for messages. The error has code invalid_config.
//
// A $ref to another document fails when the schema is compiled: nothing is loaded from disk or network.
func ParseSchema(name string, raw json.RawMessage) (*Schema, error) {
	s, err := parseSchema(name, raw)
	if err != nil {
		return nil, err
	}
	if s.raw, err = withoutKeys(s.source, "$schema", "$id"); err != nil {
		return nil, badSchema(name, err)
	}
	return s, nil
}

// ParseOutputSchema parses the schema of a tool's results, a JSON object; the results need not be objects. See
// [Schema.Fits]. Otherwise it is like [ParseSchema].
func ParseOutputSchema(name string, raw json.RawMessage) (*Schema, error) {
	s, _, err := readSchema(name, raw)
	return s, err
}

// parseSchema is ParseSchema, but Raw returns all of raw, byte for byte.
func parseSchema(name string, raw json.RawMessage) (*Schema, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage(`{"type":"object"}`)
	}
	s, root, err := readSchema(name, raw)
	if err != nil {
		return nil, err
	}
	if t, ok := root["type"]; ok && t != "object" {
		return nil, badSchema(name, fmt.Errorf(`its type must be "object"`))
	}
	return s, nil
}

// readSchema parses a schema of any type, and also returns its top-level keys.
func readSchema(name string, raw json.RawMessage) (*Schema, map[string]any, error) {
	document, err := readJSON(raw)
	if err != nil {
		return nil, nil, badSchema(name, err)
	}
	root, ok := document.(map[string]any)
	if !ok {
		return nil, nil, badSchema(name, fmt.Errorf("it must be a JSON object, not %s", kindOf(document)))
	}
	raw = bytes.Clone(raw)
	return &Schema{name: name, source: raw, raw: raw, document: document}, root, nil
}

func badSchema(name string, err error) *fault.Error {
	return fault.New(fault.InvalidConfig, "tools.schema",
		fmt.Sprintf("The schema of the tool %q is invalid: %v.", name, err),
		"Correct the schema of the tool's parameters.")
}

// withoutKeys returns a JSON object, compact and in its order, without some of its top-level keys.
func withoutKeys(object json.RawMessage, drop ...string) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	b := []byte{'{'}
members:
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		for _, k := range drop {
			if key == k {
				continue members
			}
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = appendText(b, key.(string))
		b = append(b, ':')
		b = append(b, value...)
	}
	b = append(b, '}')
	var compact bytes.Buffer
	if err := json.Compact(&compact, b); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

// Raw returns the schema for models: a schema of [ParseSchema] without $schema and $id. It must not be modified.
func (s *Schema) Raw() json.RawMessage { return s.raw }

// Compile compiles the schema unless that has been done. The error has code invalid_config and is the same at each call.
func (s *Schema) Compile() error {
	s.once.Do(func() {
		if err := s.compile(); err != nil {
			s.err = badSchema(s.name, err)
		}
	})
	return s.err
}

// accepts reports whether a document is certain to match the schema. A schema that accepts one is certain to compile.
func (s *Schema) accepts(document any) bool {
	s.shaping.Do(func() {
		if schema, err := readJSON(s.source); err == nil && plainSchema(schema) {
			s.shape = shapeOf(schema)
		}
	})
	return s.shape != nil && s.shape.accepts(document)
}

// Probe returns the error of Compile, but discards the compiled schema, because only a few of many tools are called. It
// must not run concurrently with other uses of the schema.
func (s *Schema) Probe() error {
	if s.compiled != nil || s.err != nil {
		return s.err
	}
	document := s.document
	s.document = nil
	if document == nil {
		var err error
		if document, err = readJSON(s.source); err != nil {
			return badSchema(s.name, err)
		}
	}
	if plainSchema(document) {
		return nil
	}
	once := Schema{name: s.name, source: s.source, document: document}
	return once.Compile()
}

// compile contains the library's reaction to hostile schemas: it panics on some, and would read files that a $ref names.
func (s *Schema) compile() (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the schema compiler failed: %v", cause)
		}
	}()
	if s.document == nil {
		if s.document, err = readJSON(s.source); err != nil {
			return err
		}
	}
	c := jsonschema.NewCompiler()
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("the reference %s leads out of the schema", url)
	}
	const url = "fettle:///schema"
	if err := c.AddResource(url, bytes.NewReader(s.source)); err != nil {
		return err
	}
	compiled, err := c.Compile(url)
	if err != nil {
		return explainSchema(err)
	}
	s.compiled = compiled
	return nil
}

// explainSchema names the position of a mistake in a schema.
func explainSchema(err error) error {
	invalid := new(jsonschema.ValidationError)
	if !errors.As(err, &invalid) {
		return err
	}
	leaf := invalid
	for len(leaf.Causes) > 0 {
		leaf = leaf.Causes[0]
	}
	return fmt.Errorf("at %s: %s", showPath(pointerTokens(leaf.InstanceLocation)), leaf.Message)
}

// Check validates the arguments of a call and returns them as canonical JSON: compact, keys sorted, integers without
// fraction or exponent, other numbers with their digits as passed. Empty args and null mean {}.
//
// Invalid arguments are repaired if exactly one safe conversion exists, and validated again: a number or boolean passed
// as text or, for a string, a number instead of text; an array or object passed as a string of JSON; one string instead
// of an array of strings; null for an optional key, which counts as absent. Valid values are never changed.
//
// The error has code invalid_tool_params. It lists, sorted by path, up to five violations with the expected value, the
// passed value and that part of the schema. A schema that does not compile yields invalid_config.
func (s *Schema) Check(args json.RawMessage) (json.RawMessage, error) {
	params, _, err := s.check(s.name, args, nil)
	return params, err
}

// Fits returns an error with the violations if a JSON document does not match the schema, else nil. It repairs nothing.
func (s *Schema) Fits(document json.RawMessage) error {
	value, err := readJSON(document)
	if err == nil && s.accepts(value) {
		return nil
	}
	if uncompiled := s.Compile(); uncompiled != nil {
		return uncompiled
	}
	if err != nil {
		return err
	}
	failures, err := s.validate(value)
	if err == nil && len(failures) > 0 {
		err = errors.New(explain(failures))
	}
	return err
}

// check is Check, with accepted spellings rewritten to declared ones first. It also returns the arguments as an object.
func (s *Schema) check(tool string, args json.RawMessage, rewrite func(map[string]json.RawMessage) error) (json.RawMessage, map[string]any, error) {
	document, long, err := readArguments(args, rewrite)
	var root any = document
	if err == nil && s.accepts(root) {
		return appendObject(make([]byte, 0, len(args)+16), document, long), document, nil
	}
	if err := s.Compile(); err != nil {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, refuse(tool, err)
	}
	failures, err := s.validate(root)
	for round := 0; err == nil && len(failures) > 0 && round < maxRepairRounds; round++ {
		if !repair(root, failures) {
			break
		}
		failures, err = s.validate(root)
	}
	if err != nil {
		return nil, nil, refuse(tool, err)
	}
	if len(failures) > 0 {
		return nil, nil, refuse(tool, errors.New(explain(failures)))
	}
	return appendObject(make([]byte, 0, len(args)+16), document, long), document, nil
}

// refuse wraps an error about the arguments.
func refuse(tool string, err error) *fault.Error {
	if f := fault.As(err); f != nil {
		return f
	}
	e := fault.New(fault.InvalidToolParams, "tools.check",
		fmt.Sprintf("The arguments of %s are invalid: %v", tool, err),
		"Send arguments that match the schema of the tool.")
	e.Short = "Invalid arguments for " + tool
	return e
}

// refuseValue wraps an error of a tool's own rule, with the tool's message.
func refuseValue(tool string, err error) *fault.Error {
	if f := fault.As(err); f != nil {
		return f
	}
	e := fault.Wrap(fault.InvalidToolParams, "tools.validate", err.Error(),
		"Send arguments that the tool accepts.", err)
	e.Short = "Invalid arguments for " + tool
	return e
}

// readArguments decodes args into an object that may be modified. It also returns the long texts of the object.
func readArguments(args json.RawMessage, rewrite func(map[string]json.RawMessage) error) (map[string]any, longTexts, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	text, err := decodeText(args, rewrite != nil)
	if err != nil {
		return nil, nil, err
	}
	if encoded, ok := text.value.(string); ok { // encoded twice
		if inner, err := decodeText([]byte(encoded), rewrite != nil); err == nil {
			text = inner
		}
	}
	if text.value == nil {
		text.value = map[string]any{}
		text.members = map[string]json.RawMessage{}
	}
	object, ok := text.value.(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("they must be one JSON object, not %s", kindOf(text.value))
	}
	if rewrite == nil {
		return object, text.long, nil
	}
	members := text.members
	before := maps.Clone(members)
	if err := rewrite(members); err != nil {
		return nil, nil, err
	}
	for key := range object {
		if _, kept := members[key]; !kept {
			delete(object, key)
		}
	}
	for key, text := range members {
		if old, ok := before[key]; ok && sameText(old, text) {
			continue
		}
		if object[key], err = readJSON(text); err != nil {
			return nil, nil, err
		}
	}
	return object, text.long, nil
}

// sameText reports whether two texts are the same bytes in memory.
func sameText(a, b json.RawMessage) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// validate returns the violations in document, sorted by path. It returns an error if validation itself fails.
func (s *Schema) validate(document any) (failures []failure, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("validation against the schema failed: %v", cause)
		}
	}()
	err = s.compiled.Validate(document)
	invalid := new(jsonschema.ValidationError)
	if errors.As(err, &invalid) {
		return s.failures(invalid, document), nil
	}
	return nil, err
}
