package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
)

// Definition describes a tool and how to build a call from validated parameters. S is the type of the session services;
// P is the parameters.
type Definition[S, P any] struct {
	Spec Spec // Name, Description and Kind are required; Schema is derived from P

	// Rewrite converts accepted spellings of keys to declared ones before validation. It may add, replace and delete
	// members but not change the bytes of one. Optional.
	Rewrite func(args map[string]json.RawMessage) error
	// Validate checks rules that a schema cannot express. An error that is not a *fault.Error becomes one with code
	// invalid_tool_params. Optional.
	Validate func(s S, p P) error
	// Build returns the invocation; params is its canonical JSON, which Params must return. Required.
	Build func(s S, p P, params json.RawMessage) (ToolInvocation, error)
}

// Factory holds a tool's Spec and schema, shared by all sessions, and binds the tool to a session's services of type S.
// It is immutable.
type Factory[S any] struct {
	spec   Spec
	schema *Schema
	build  func(s S, tool string, args json.RawMessage) (ToolInvocation, error) // tool is the name in error messages
}

// NewFactory returns the factory of a tool. It derives the schema from P like [SchemaOf], and fails with code
// invalid_config, naming tool and field, if the schema or the Spec is invalid. The schema is compiled at the first call,
// or by [Factory.Compile].
func NewFactory[S, P any](d Definition[S, P]) (*Factory[S], error) {
	if err := checkSpec(d.Spec); err != nil {
		return nil, err
	}
	if d.Build == nil {
		return nil, badTool(d.Spec.Name, errors.New("it has no Build function"))
	}
	schema, err := SchemaOf[P](d.Spec.Name)
	if err != nil {
		return nil, err
	}
	spec := d.Spec.own()
	spec.Schema = schema.Raw()
	if err := checkVaries(spec); err != nil {
		return nil, err
	}
	names := sync.OnceValue(func() []string { return fieldNames(reflect.TypeFor[P]()) })
	build := func(s S, tool string, args json.RawMessage) (ToolInvocation, error) {
		params, object, err := schema.check(tool, args, d.Rewrite)
		if err != nil {
			return nil, err
		}
		var p P
		if err := decodeParams(params, object, names(), &p); err != nil {
			return nil, refuse(tool, explainDecoding(err))
		}
		if d.Validate != nil {
			if err := d.Validate(s, p); err != nil {
				return nil, refuseValue(tool, err)
			}
		}
		return d.Build(s, p, params)
	}
	return &Factory[S]{spec: spec, schema: schema, build: build}, nil
}

// own returns a copy of the Spec that shares no list or map with it.
func (s Spec) own() Spec {
	s.Aliases = slices.Clone(s.Aliases)
	s.GovernedBy = slices.Clone(s.GovernedBy)
	s.Effects = slices.Clone(s.Effects)
	s.Varies = slices.Clone(s.Varies)
	s.Schema = bytes.Clone(s.Schema)
	s.OutputSchema = bytes.Clone(s.OutputSchema)
	s.Annotations = maps.Clone(s.Annotations)
	return s
}

// explainDecoding names a value that matches the schema but not the Go type, usually an integer that is too large.
func explainDecoding(err error) error {
	wrong := new(json.UnmarshalTypeError)
	if !errors.As(err, &wrong) {
		return err
	}
	at := wrong.Field
	if at != "" {
		at += ": "
	}
	return fmt.Errorf("%s%s does not fit the type %s", at, wrong.Value, wrong.Type)
}

// Spec returns the Spec of the factory's tools.
func (f *Factory[S]) Spec() Spec { return f.spec }

// Schema returns the schema of the arguments.
func (f *Factory[S]) Schema() *Schema { return f.schema }

// Declaring returns a factory whose tools declare another schema to models. Arguments are validated against the schema
// of f. The passed schema must not be modified afterwards.
func (f *Factory[S]) Declaring(schema json.RawMessage) *Factory[S] {
	other := *f
	other.spec.Schema = schema
	return &other
}

// Describing returns a factory whose tools have another description. The two share everything else.
func (f *Factory[S]) Describing(description string) *Factory[S] {
	other := *f
	other.spec.Description = description
	return &other
}

// Compile compiles the schema now, see [Schema.Compile], and the output schema if there is one.
func (f *Factory[S]) Compile() error {
	if err := f.schema.Compile(); err != nil || f.spec.OutputSchema == nil {
		return err
	}
	output, err := ParseOutputSchema(f.spec.Name, f.spec.OutputSchema)
	if err != nil {
		return err
	}
	return output.Compile()
}

// probe checks the schema, see [Schema.Probe], and the output schema if there is one.
func (f *Factory[S]) probe() error {
	if err := f.schema.Probe(); err != nil || f.spec.OutputSchema == nil {
		return err
	}
	output, err := ParseOutputSchema(f.spec.Name, f.spec.OutputSchema)
	if err != nil {
		return err
	}
	return output.Probe()
}

// Bind returns the tool for one session. It does no work and no I/O.
func (f *Factory[S]) Bind(s S) DeclarativeTool { return f.BindShared(&s) }

// BindShared is Bind for services that several tools of the session share. They must not be modified afterwards.
func (f *Factory[S]) BindShared(s *S) DeclarativeTool { return &bound[S]{f, &f.spec, s} }

// bound is a tool of a factory. Its spec is the factory's unless the tool was renamed.
type bound[S any] struct {
	factory  *Factory[S]
	spec     *Spec
	services *S
}

func (b *bound[S]) Spec() Spec { return *b.spec }

func (b *bound[S]) sharedSpec() *Spec { return b.spec }

func (b *bound[S]) Build(args json.RawMessage) (ToolInvocation, error) {
	return b.factory.build(*b.services, b.spec.Name, args)
}

func (b *bound[S]) withSpec(s Spec) DeclarativeTool { return &bound[S]{b.factory, &s, b.services} }

// checkSpec validates a Spec: its name, description and kind, and that kind and effects are consistent.
func checkSpec(s Spec) error {
	if err := CheckName(s.Name); err != nil {
		return badTool(s.Name, err)
	}
	for _, alias := range s.Aliases {
		if err := CheckName(alias); err != nil {
			return badTool(s.Name, fmt.Errorf("alias: %w", err))
		}
	}
	if s.Description == "" {
		return badTool(s.Name, errors.New("it has no description"))
	}
	if !s.Kind.Valid() {
		return badTool(s.Name, fmt.Errorf("unknown kind %q", string(s.Kind)))
	}
	if e := changing(s.Effects); e != "" && s.Kind.harmless() {
		return badTool(s.Name, fmt.Errorf("its kind %s excludes changes, but its effect %s may make some; use a kind that needs approval", s.Kind, e))
	}
	return nil
}

// checkVaries returns an error if Varies names an argument that the schema does not declare, such as a misspelled one.
func checkVaries(s Spec) error {
	if len(s.Varies) == 0 {
		return nil
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(s.Schema, &schema); err != nil {
		return badTool(s.Name, err)
	}
	for _, name := range s.Varies {
		if _, ok := schema.Properties[name]; !ok {
			return badTool(s.Name, fmt.Errorf("argument %s in Varies is not in the schema", quoteClipped(name)))
		}
	}
	return nil
}

func badTool(name string, err error) *fault.Error {
	return fault.New(fault.InvalidConfig, "tools.define",
		fmt.Sprintf("The tool %s is invalid: %v.", quoteClipped(name), err),
		"Correct the definition of the tool.")
}
