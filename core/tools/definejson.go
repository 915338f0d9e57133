package tools

import (
	"context"
	"encoding/json"
	"errors"
)

// DefineJSON makes a tool of a function over JSON arguments, for a schema that no
// Go struct gives: one that a server declares, or one with what a struct cannot
// say. spec is the tool's, with Schema and, where there is one, OutputSchema; both
// are kept byte for byte. An empty Schema takes every object. Schemas are of JSON
// Schema 2020-12 unless their $schema names an older draft; see [ParseSchema]. Only
// a tool that somebody else declares (Spec.Origin) may leave its schema open to
// unknown keys, and may have patterns that are none for package regexp: whether
// arguments fit these is for that somebody to say.
//
// run gets the canonical arguments that [Schema.Check] returns. Its errors are as
// with [Define], and so are the options; those that are generic take
// [json.RawMessage] as their P, and [WithStreaming] may not be among them.
//
// It fails with code invalid_config, naming the tool, where anything about the tool
// cannot be used, its schemas included. What it compiles of them for that is not
// kept until the first call, as of thousands of tools few are called.
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
		return nil, badTool(spec.Name, errors.New("it has no function to run"))
	case f.run != nil:
		return nil, badTool(spec.Name, errors.New("WithStreaming is not for DefineJSON, whose function streams if Spec.StreamsOutput says so"))
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
		params, err := schema.check(tool, args, nil)
		if err != nil {
			return nil, err
		}
		if f.validate != nil {
			if err := f.validate(params); err != nil {
				return nil, refuseValue(tool, err)
			}
		}
		return &call[json.RawMessage]{functions: f, name: tool, p: params, params: params}, nil
	}}
	if err := factory.probe(); err != nil {
		return nil, err
	}
	return factory.Bind(struct{}{}), nil
}
