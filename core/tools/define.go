package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// Option sets something of a tool that [Define] makes.
type Option func(*defined)

// defined is what options set. The functions are of types that hold P, which
// an Option does not know; Define checks them.
type defined struct {
	spec     Spec
	describe any
	locate   any
	confirm  any
	validate any
	stream   any
	err      error // of the first option that cannot be used
}

// WithDisplayName sets the name for people.
func WithDisplayName(name string) Option {
	return func(d *defined) { d.spec.DisplayName = name }
}

// WithAliases adds names that calls and lists may use.
func WithAliases(names ...string) Option {
	return func(d *defined) { d.spec.Aliases = append(d.spec.Aliases, names...) }
}

// WithEffects says what the tool may do to the world. A tool that may write
// files or run processes is asked about like one whose kind changes something
// ([Spec.Mutates]), and must not be of a kind that changes nothing.
func WithEffects(effects ...Effect) Option {
	return func(d *defined) { d.spec.Effects = append(d.spec.Effects, effects...) }
}

// WithParallel says that two calls may run at once.
func WithParallel() Option {
	return func(d *defined) { d.spec.Parallel = true }
}

// WithMarkdown says that the tool's display is Markdown.
func WithMarkdown() Option {
	return func(d *defined) { d.spec.OutputIsMarkdown = true }
}

// WithOrigin says who brought the tool; without it the tool is a built-in.
func WithOrigin(o Origin) Option {
	return func(d *defined) { d.spec.Origin = o }
}

// WithDescription sets what a call says that it will do, in one line. Without
// it that is the tool's name and the arguments, clipped.
func WithDescription[P any](describe func(p P) string) Option {
	return func(d *defined) { d.describe = describe }
}

// WithLocations sets which paths a call says that it will touch. Without it
// there are none.
func WithLocations[P any](locate func(p P) []Location) Option {
	return func(d *defined) { d.locate = locate }
}

// WithConfirmation sets what a person is asked to approve; see
// [ToolInvocation]. Without it that is the default question.
func WithConfirmation[P any](confirm func(ctx context.Context, p P) (*Confirmation, error)) Option {
	return func(d *defined) { d.confirm = confirm }
}

// WithValidation adds rules that a schema cannot express. An error that is no
// *fault.Error becomes one of code invalid_tool_params.
func WithValidation[P any](validate func(p P) error) Option {
	return func(d *defined) { d.validate = validate }
}

// WithStreaming replaces Define's run, which may then be nil, by one that
// sends live output.
func WithStreaming[P any](run func(ctx context.Context, p P, out Output) (Result, error)) Option {
	return func(d *defined) { d.stream, d.spec.StreamsOutput = run, true }
}

// WithOutputSchema says that a result's JSON, which is [Result].Structured, or the
// content where that is JSON, fits the schema that [SchemaOf] gives of the struct T.
func WithOutputSchema[T any]() Option {
	return func(d *defined) {
		schema, err := SchemaOf[T](d.spec.Name)
		if err != nil {
			d.err = cmp.Or(d.err, err)
			return
		}
		d.spec.OutputSchema = schema.Raw()
	}
}

// Define makes a tool of a function over parameters P, a struct whose json,
// jsonschema and jsonschema_description tags give the schema; see [SchemaOf].
// run gets parameters that fit the schema. An error of run that is a
// *fault.Error is the model's; any other is the host's: a defect, or an ended
// ctx. run is not called once ctx has ended.
//
// Define is for tools that need nothing of a session beyond what run closes
// over; others have a [Factory]. It compiles the schema, and fails with code
// invalid_config, naming the tool and the field, where anything about the
// tool cannot be used.
func Define[P any](name, description string, kind Kind, run func(ctx context.Context, p P) (Result, error), opts ...Option) (DeclarativeTool, error) {
	d := defined{spec: Spec{Name: name, Description: description, Kind: kind}}
	for _, o := range opts {
		o(&d)
	}
	f, err := functionsOf[P](d)
	if err != nil {
		return nil, badTool(name, err)
	}
	if d.err != nil {
		return nil, d.err
	}
	if f.run == nil {
		if run == nil {
			return nil, badTool(name, errors.New("it has no function to run"))
		}
		f.run = func(ctx context.Context, p P, _ Output) (Result, error) { return run(ctx, p) }
	}
	factory, err := NewFactory(Definition[struct{}, P]{
		Spec: d.spec,
		Validate: func(_ struct{}, p P) error {
			if f.validate == nil {
				return nil
			}
			return f.validate(p)
		},
		Build: func(_ struct{}, p P, params json.RawMessage) (ToolInvocation, error) {
			return &call[P]{functions: f, name: name, p: p, params: params}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	if err := factory.Compile(); err != nil {
		return nil, err
	}
	return factory.Bind(struct{}{}), nil
}

// functions are the parts of a defined tool's calls; all but run may be nil.
type functions[P any] struct {
	describe func(P) string
	locate   func(P) []Location
	confirm  func(context.Context, P) (*Confirmation, error)
	validate func(P) error
	run      func(context.Context, P, Output) (Result, error)
}

func functionsOf[P any](d defined) (*functions[P], error) {
	f := new(functions[P])
	err := errors.Join(
		assign(&f.describe, d.describe, "WithDescription"),
		assign(&f.locate, d.locate, "WithLocations"),
		assign(&f.confirm, d.confirm, "WithConfirmation"),
		assign(&f.validate, d.validate, "WithValidation"),
		assign(&f.run, d.stream, "WithStreaming"))
	return f, err
}

func assign[F any](to *F, from any, option string) error {
	if from == nil {
		return nil
	}
	f, ok := from.(F)
	if !ok {
		return fmt.Errorf("%s was given a %T and needs a %T", option, from, *to)
	}
	*to = f
	return nil
}

// call is an invocation of a defined tool.
type call[P any] struct {
	*functions[P]
	name   string
	p      P
	params json.RawMessage
}

func (c *call[P]) Params() json.RawMessage { return c.params }

func (c *call[P]) Description() string {
	if c.describe != nil {
		return c.describe(c.p)
	}
	return c.name + " " + escape.ClipBytes(string(c.params), 120)
}

func (c *call[P]) Locations() []Location {
	if c.locate == nil {
		return nil
	}
	return slices.Clone(c.locate(c.p))
}

func (c *call[P]) Confirmation(ctx context.Context) (*Confirmation, error) {
	if c.confirm == nil {
		return nil, nil
	}
	return c.confirm(ctx, c.p)
}

func (c *call[P]) Execute(ctx context.Context, out Output) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	result, err := c.run(ctx, c.p, out)
	if f := fault.As(err); f != nil {
		return result.WithError(f), nil
	}
	return result, err
}
