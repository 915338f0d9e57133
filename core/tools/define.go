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

// Option configures a tool of [Define].
type Option func(*defined)

// defined holds the values of the options. The functions have types that depend on P, which an Option does not know;
// Define checks them.
type defined struct {
	spec     Spec
	describe any
	locate   any
	confirm  any
	validate any
	stream   any
	harmless any
	err      error // of the first invalid option
}

// WithSpec changes the specification of the tool: DisplayName, Aliases, Origin, Effects, Annotations and
// OutputIsMarkdown. Its other fields are set by the definition. A tool with the effect [EffectWriteFiles] or
// [EffectRunProcess] needs approval like one of a mutating kind ([Spec.Mutates]), and must not have a kind that changes
// nothing.
func WithSpec(change func(s *Spec)) Option {
	return func(d *defined) { change(&d.spec) }
}

// WithParallel allows concurrent calls.
func WithParallel() Option {
	return func(d *defined) { d.spec.Parallel = true }
}

// WithDescription sets the one-line description of a call. The default is the tool's name and the arguments, clipped.
func WithDescription[P any](describe func(p P) string) Option {
	return func(d *defined) { d.describe = describe }
}

// WithLocations sets the paths that a call accesses. The default is none.
func WithLocations[P any](locate func(p P) []Location) Option {
	return func(d *defined) { d.locate = locate }
}

// WithConfirmation sets the details for the approver; see [ToolInvocation]. The default is the default question.
func WithConfirmation[P any](confirm func(ctx context.Context, p P) (*Confirmation, error)) Option {
	return func(d *defined) { d.confirm = confirm }
}

// WithValidation adds rules that a schema cannot express. An error that is not a *fault.Error becomes one with code
// invalid_tool_params.
func WithValidation[P any](validate func(p P) error) Option {
	return func(d *defined) { d.validate = validate }
}

// WithStreaming replaces the run function of Define, which may then be nil, with one that sends live output. P cannot be
// inferred from a nil function: name it, as in Define[params](name, description, kind, nil, WithStreaming(run)).
func WithStreaming[P any](run func(ctx context.Context, p P, out Output) (Result, error)) Option {
	return func(d *defined) { d.stream, d.spec.StreamsOutput = run, true }
}

// WithHarmless selects calls that change nothing, of a tool whose other calls do. For policy they have [KindRead] and no
// effects, so that they need no approval and also run in plan mode. harmless must decide by the parameters alone. The
// default is none.
func WithHarmless[P any](harmless func(p P) bool) Option {
	return func(d *defined) { d.harmless = harmless }
}

// WithOutputSchema declares that a result's JSON, which is [Result].Structured or JSON content, matches the schema that
// [SchemaOf] returns for the struct T.
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

// Define returns a tool for a function with parameters P, a struct whose json, jsonschema and jsonschema_description
// tags define the schema; see [SchemaOf]. run receives valid parameters. If run returns a *fault.Error, the model
// receives it; any other error goes to the host, as an internal error or an ended ctx. run is not called once ctx has
// ended.
//
// Define is for tools that need no session services beyond the values that run closes over; other tools have a
// [Factory]. It checks the schema, and fails with code invalid_config, naming tool and field, if any part of the
// definition is invalid.
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
			return nil, badTool(name, errors.New("it has no run function"))
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
			return invocationOf(&call[P]{functions: f, name: name, p: p, params: params}), nil
		},
	})
	if err != nil {
		return nil, err
	}
	if err := factory.probe(); err != nil {
		return nil, err
	}
	return factory.Bind(struct{}{}), nil
}

// functions holds the functions of a defined tool; all but run may be nil.
type functions[P any] struct {
	describe func(P) string
	locate   func(P) []Location
	confirm  func(context.Context, P) (*Confirmation, error)
	validate func(P) error
	harmless func(P) bool
	run      func(context.Context, P, Output) (Result, error)
}

func functionsOf[P any](d defined) (*functions[P], error) {
	f := new(functions[P])
	err := errors.Join(
		assign(&f.describe, d.describe, "WithDescription"),
		assign(&f.locate, d.locate, "WithLocations"),
		assign(&f.confirm, d.confirm, "WithConfirmation"),
		assign(&f.validate, d.validate, "WithValidation"),
		assign(&f.harmless, d.harmless, "WithHarmless"),
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

// harmlessCall is an invocation that [WithHarmless] has selected.
type harmlessCall[P any] struct{ *call[P] }

func invocationOf[P any](c *call[P]) ToolInvocation {
	if c.harmless != nil && c.harmless(c.p) {
		return harmlessCall[P]{c}
	}
	return c
}

// Narrow returns the spec for the decision about this call.
func (harmlessCall[P]) Narrow(spec Spec) Spec {
	spec.Kind, spec.Effects = KindRead, nil
	return spec
}
