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

// Schema is the JSON schema of a tool's arguments, or of its results. It is compiled on first
// use, then immutable, and safe for concurrent use: the tools of every
// session share one. Make it with [SchemaOf], [ParseSchema] or [ParseOutputSchema].
type Schema struct {
	name   string
	source json.RawMessage // what is compiled
	raw    json.RawMessage // what a model is shown

	once     sync.Once
	compiled *jsonschema.Schema
	document any // source, read; error messages quote from it
	err      error
}

// ParseSchema returns the schema that raw holds, a JSON object that describes
// an object; empty raw is the schema of an object with any keys. name, a
// tool's, stands in messages. The error is of code invalid_config.
//
// A $ref that leaves the schema is refused when it is compiled: nothing is
// loaded from disk or net.
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

// ParseOutputSchema returns the schema of a tool's results that raw holds, a
// JSON object; what it describes need not be an object. See [Schema.Fits].
// Otherwise it is as [ParseSchema].
func ParseOutputSchema(name string, raw json.RawMessage) (*Schema, error) {
	s, _, err := readSchema(name, raw)
	return s, err
}

// parseSchema is ParseSchema, but that all of raw is shown, byte for byte.
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

// readSchema reads a schema of whatever, and returns its outermost keys too.
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
		fmt.Sprintf("The schema of the tool %q cannot be used: %v.", name, err),
		"Correct the schema of the tool's parameters.")
}

// withoutKeys returns a JSON object, compact and in its order, without some
// of its outermost keys.
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

// Raw returns the schema as a model is shown it: one of [ParseSchema] without
// $schema and $id. It must not be changed.
func (s *Schema) Raw() json.RawMessage { return s.raw }

// Compile compiles the schema now, if that has not been done. The error is of
// code invalid_config and the same at each call.
func (s *Schema) Compile() error {
	s.once.Do(func() {
		if err := s.compile(); err != nil {
			s.err = badSchema(s.name, err)
		}
	})
	return s.err
}

// Probe returns the error that Compile would, and keeps nothing of what it takes to
// tell: of thousands of tools few are called. It is for a schema that nothing else
// uses at the same time.
func (s *Schema) Probe() error {
	if s.compiled != nil || s.err != nil {
		return s.err
	}
	document := s.document
	s.document = nil
	if document != nil && plainSchema(document) {
		return nil
	}
	once := Schema{name: s.name, source: s.source, document: document}
	return once.Compile()
}

// compile keeps to itself what the library does with hostile schemas: it
// panics on some, and would read files that a $ref names.
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
		return nil, fmt.Errorf("a reference to %s leaves the schema, which is not allowed", url)
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

// explainSchema names the place of a mistake in a schema.
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

// Check checks a call's arguments and returns them as canonical JSON:
// compact, keys sorted, integers without fraction or exponent, every other
// number with its digits as sent. Empty args and null stand for {}.
//
// Arguments that do not fit are repaired where one safe reading exists, and
// checked again: a number or boolean sent as text or, for a string, text sent
// as a number; an array or object sent as a string that holds its JSON; one
// string where an array of strings is wanted; null for an optional key, which
// is taken as absent. A value that fits is never touched.
//
// The error is of code invalid_tool_params. It shows, sorted by path, up to
// five places with what was expected, what was sent and that part of the
// schema. A schema that does not compile gives invalid_config.
func (s *Schema) Check(args json.RawMessage) (json.RawMessage, error) {
	return s.check(s.name, args, nil)
}

// Fits says where a JSON document is not what the schema describes; nil says that
// it is. The document is taken as it stands, and nothing is repaired.
func (s *Schema) Fits(document json.RawMessage) error {
	if err := s.Compile(); err != nil {
		return err
	}
	value, err := readJSON(document)
	if err != nil {
		return err
	}
	failures, err := s.validate(value)
	if err == nil && len(failures) > 0 {
		err = errors.New(explain(failures))
	}
	return err
}

// check is Check, with accepted spellings rewritten to declared ones first.
func (s *Schema) check(tool string, args json.RawMessage, rewrite func(map[string]json.RawMessage) error) (json.RawMessage, error) {
	if err := s.Compile(); err != nil {
		return nil, err
	}
	document, err := readArguments(args, rewrite)
	if err != nil {
		return nil, refuse(tool, err)
	}
	var root any = document
	failures, err := s.validate(root)
	for round := 0; err == nil && len(failures) > 0 && round < maxRepairRounds; round++ {
		if !repair(root, failures) {
			break
		}
		failures, err = s.validate(root)
	}
	if err != nil {
		return nil, refuse(tool, err)
	}
	if len(failures) > 0 {
		return nil, refuse(tool, errors.New(explain(failures)))
	}
	return appendJSON(make([]byte, 0, len(args)+16), root), nil
}

// refuse wraps what is wrong with the arguments.
func refuse(tool string, err error) *fault.Error {
	if f := fault.As(err); f != nil {
		return f
	}
	e := fault.New(fault.InvalidToolParams, "tools.check",
		fmt.Sprintf("The arguments of %s were refused: %v", tool, err),
		"Send arguments that fit the schema of the tool.")
	e.Short = "Invalid arguments for " + tool
	return e
}

// refuseValue wraps what a tool's own rule says, in the tool's own words.
func refuseValue(tool string, err error) *fault.Error {
	if f := fault.As(err); f != nil {
		return f
	}
	e := fault.Wrap(fault.InvalidToolParams, "tools.validate", err.Error(),
		"Send arguments that the tool accepts.", err)
	e.Short = "Invalid arguments for " + tool
	return e
}

// readArguments reads args into an object that can be changed.
func readArguments(args json.RawMessage, rewrite func(map[string]json.RawMessage) error) (map[string]any, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	value, members, err := readMembers(args, rewrite != nil)
	if err != nil {
		return nil, err
	}
	if text, ok := value.(string); ok { // encoded twice
		if inner, innerMembers, err := readMembers([]byte(text), rewrite != nil); err == nil {
			value, members = inner, innerMembers
		}
	}
	if value == nil {
		value = map[string]any{}
		members = map[string]json.RawMessage{}
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("they must be one JSON object, not %s", kindOf(value))
	}
	if rewrite == nil {
		return object, nil
	}
	before := maps.Clone(members)
	if err := rewrite(members); err != nil {
		return nil, err
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
			return nil, err
		}
	}
	return object, nil
}

// sameText reports whether two texts are the same bytes in memory.
func sameText(a, b json.RawMessage) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// validate returns the places where document does not fit, sorted by path.
// The error says that it could not be checked.
func (s *Schema) validate(document any) (failures []failure, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("they cannot be checked against the schema: %v", cause)
		}
	}()
	err = s.compiled.Validate(document)
	invalid := new(jsonschema.ValidationError)
	if errors.As(err, &invalid) {
		return s.failures(invalid, document), nil
	}
	return nil, err
}
