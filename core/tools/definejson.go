package tools

import (
	"context"
	"encoding/json"
	"errors"
)

// DefineJSON returns a tool for a function with JSON arguments, for a schema that does not come from a Go struct, such
// as one that a server declares. spec describes the tool, including Schema and, optionally, OutputSchema; both are kept
// byte for byte. An empty Schema accepts every object. Schemas are JSON Schema 2020-12 unless their $schema names an
// older draft; see [ParseSchema]. Only a tool with a foreign Spec.Origin may accept unknown keys, and may have patterns
// that package regexp does not support; the origin validates those.
//
// run receives the canonical arguments that [Schema.Check] returns. Errors and options are those of [Define]. Generic
// options take [json.RawMessage] as their P. [WithStreaming] is not supported.
//
// DefineJSON fails with code invalid_config, naming the tool, if any part of the definition is invalid, including its
// schemas. It discards the compiled schemas until the first call, because only a few of many tools are called.
func DefineJSON(spec Spec, run func(ctx context.Context, args json.RawMessage, out Output) (Result, error), opts ...Option) (DeclarativeTool, error) {
	d := defined{spec: spec.own()}
	for _, o := range opts {
		o(&d)
	}
	spec = d.spec
	f, err := functionsOf[json.RawMessage](d)
	switch {
	case err != nil:
		return nil, badTool(spec.Name, err)
	case d.err != nil:
		return nil, d.err
	case run == nil:
		return nil, badTool(spec.Name, errors.New("it has no run function"))
	case f.run != nil:
		return nil, badTool(spec.Name, errors.New("WithStreaming is not supported by DefineJSON; set Spec.StreamsOutput"))
	}
	f.run = run
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	schema, err := parseSchema(spec.Name, spec.Schema)
	if err != nil {
		return nil, err
	}
	spec.Schema = schema.Raw()
	if spec.Origin.Group != GroupBuiltIn && widen(schema.document) {
		schema.source = appendJSON(nil, schema.document)
	}
	factory := &Factory[struct{}]{spec: spec, schema: schema, build: func(_ struct{}, tool string, args json.RawMessage) (ToolInvocation, error) {
		params, _, err := schema.check(tool, args, nil)
		if err != nil {
			return nil, err
		}
		if f.validate != nil {
			if err := f.validate(params); err != nil {
				return nil, refuseValue(tool, err)
			}
		}
		return invocationOf(&call[json.RawMessage]{functions: f, name: tool, p: params, params: params}), nil
	}}
	if err := factory.probe(); err != nil {
		return nil, err
	}
	return factory.Bind(struct{}{}), nil
}
