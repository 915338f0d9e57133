package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

type greetParams struct {
	Name  string `json:"name" jsonschema_description:"Whom to greet."`
	Times int8   `json:"times,omitempty" jsonschema_description:"How often."`
}

func greet(_ context.Context, p greetParams) (tools.Result, error) {
	return tools.Result{LLMContent: tools.Text("Hello " + p.Name)}, nil
}

func mustDefine(t testing.TB, name string, kind tools.Kind, opts ...tools.Option) tools.DeclarativeTool {
	t.Helper()
	tool, err := tools.Define(name, "Greets somebody.", kind, greet, opts...)
	require.NoError(t, err)
	return tool
}

func TestDefine(t *testing.T) {
	tool := mustDefine(t, "greet", tools.KindCommunicate)
	spec := tool.Spec()
	require.Equal(t, "greet", spec.Name)
	require.Equal(t, "greet", spec.Display())
	require.Equal(t, tools.KindCommunicate, spec.Kind)
	require.Equal(t, tools.GroupBuiltIn, spec.Origin.Group)
	require.Contains(t, string(spec.Schema), `"additionalProperties":false`)

	inv, err := tool.Build(json.RawMessage(`{"times":"2","name":"Ann"}`))
	require.NoError(t, err)
	require.Equal(t, `{"name":"Ann","times":2}`, string(inv.Params()))
	require.Equal(t, `greet {"name":"Ann","times":2}`, inv.Description())
	require.Empty(t, inv.Locations())
	c, err := inv.Confirmation(t.Context())
	require.NoError(t, err)
	require.Nil(t, c)
	result, err := inv.Execute(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "Hello Ann", result.LLMContent.String())
	require.Equal(t, `{"name":"Ann","times":2}`, string(inv.Params())) // AR-12, CR-28
}

func TestDefineOptions(t *testing.T) {
	confirmation := &tools.Confirmation{Type: tools.ConfirmInfo, Title: "t"}
	tool, err := tools.Define[greetParams]("greet", "Greets.", tools.KindOther, nil,
		tools.WithSpec(func(s *tools.Spec) {
			s.DisplayName = "Greeter"
			s.Aliases = []string{"hello", "hi"}
			s.Effects = []tools.Effect{tools.EffectNetwork}
		}),
		tools.WithParallel(),
		tools.WithSpec(func(s *tools.Spec) { s.OutputIsMarkdown = true; s.Origin = tools.Origin{Group: tools.GroupDiscovered} }),
		tools.WithDescription(func(p greetParams) string { return "greets " + p.Name }),
		tools.WithLocations(func(greetParams) []tools.Location { return []tools.Location{{Path: "/a", Line: 3}} }),
		tools.WithConfirmation(func(context.Context, greetParams) (*tools.Confirmation, error) { return confirmation, nil }),
		tools.WithValidation(func(p greetParams) error {
			if p.Name == "Bob" {
				return errors.New("not Bob")
			}
			if p.Name == "Eve" {
				return fault.New(fault.PathNotInWorkspace, "greet", "Eve is outside.", "")
			}
			return nil
		}),
		tools.WithStreaming(func(_ context.Context, p greetParams, out tools.Output) (tools.Result, error) {
			out.Write(p.Name)
			return tools.Result{LLMContent: tools.Text("streamed")}, nil
		}))
	require.NoError(t, err)
	spec := tool.Spec()
	require.Equal(t, "Greeter", spec.Display())
	require.Equal(t, []string{"hello", "hi"}, spec.Aliases)
	require.Equal(t, []tools.Effect{tools.EffectNetwork}, spec.Effects)
	require.True(t, spec.Parallel && spec.OutputIsMarkdown && spec.StreamsOutput)
	require.Equal(t, tools.GroupDiscovered, spec.Origin.Group)

	inv, err := tool.Build(json.RawMessage(`{"name":"Ann"}`))
	require.NoError(t, err)
	require.Equal(t, "greets Ann", inv.Description())
	require.Equal(t, []tools.Location{{Path: "/a", Line: 3}}, inv.Locations())
	c, err := inv.Confirmation(t.Context())
	require.NoError(t, err)
	require.Same(t, confirmation, c)
	var chunks []string
	result, err := inv.Execute(t.Context(), func(chunk string) { chunks = append(chunks, chunk) })
	require.NoError(t, err)
	require.Equal(t, "streamed", result.LLMContent.String())
	require.Equal(t, []string{"Ann"}, chunks)

	_, err = tool.Build(json.RawMessage(`{"name":"Bob"}`))
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
	require.ErrorContains(t, err, "not Bob")
	_, err = tool.Build(json.RawMessage(`{"name":"Eve"}`))
	require.Equal(t, fault.PathNotInWorkspace, fault.CodeOf(err))
}

// The two kinds of errors: for the model and for the host.
func TestDefinedToolFails(t *testing.T) {
	partial := tools.Result{LLMContent: tools.Text("so far")}
	plain := errors.New("broken pipe")
	tests := map[string]struct {
		result  tools.Result
		err     error
		code    fault.Code // of Result.Error
		content string
		host    error
	}{
		"a fault":              {tools.Result{}, fault.New(fault.FileNotFound, "x", "No file.", "Look."), fault.FileNotFound, "No file. Look.", nil},
		"a fault with content": {partial, fault.New(fault.FileNotFound, "x", "No file.", ""), fault.FileNotFound, "so far", nil},
		"another error":        {partial, plain, "", "so far", plain},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tool, err := tools.Define("x", "X.", tools.KindRead, func(context.Context, struct{}) (tools.Result, error) { return tt.result, tt.err })
			require.NoError(t, err)
			inv, err := tool.Build(nil)
			require.NoError(t, err)
			result, err := inv.Execute(t.Context(), nil)
			require.ErrorIs(t, err, tt.host)
			require.Equal(t, tt.content, result.LLMContent.String())
			if tt.code == "" {
				require.Nil(t, result.Error)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.code, result.Error.Code)
		})
	}
}

func TestDefinedToolIsNotRunAfterItsContextEnded(t *testing.T) {
	tool, err := tools.Define("x", "X.", tools.KindRead, func(context.Context, struct{}) (tools.Result, error) {
		t.Error("was run")
		return tools.Result{}, nil
	})
	require.NoError(t, err)
	inv, err := tool.Build(nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = inv.Execute(ctx, nil)
	require.ErrorIs(t, err, context.Canceled)
}

// A mistake in a definition fails when the tool is created. The error names tool and field.
func TestDefineRefuses(t *testing.T) {
	type badPattern struct {
		Query string `json:"query" jsonschema:"pattern=["`
	}
	type recursive struct {
		Next []tree `json:"next"`
	}
	run := func(context.Context, greetParams) (tools.Result, error) { return tools.Result{}, nil }
	tests := map[string]struct {
		define func() (tools.DeclarativeTool, error)
		want   []string
	}{
		"no name": {func() (tools.DeclarativeTool, error) {
			return tools.Define("", "X.", tools.KindRead, run)
		}, []string{"a tool name is required"}},
		"illegal name": {func() (tools.DeclarativeTool, error) {
			return tools.Define("my tool", "X.", tools.KindRead, run)
		}, []string{`"my tool" has a character other than`}},
		"long name": {func() (tools.DeclarativeTool, error) {
			return tools.Define(strings.Repeat("a", 64), "X.", tools.KindRead, run)
		}, []string{"has 64 characters, more than 63"}},
		"illegal alias": {func() (tools.DeclarativeTool, error) {
			return tools.Define("x", "X.", tools.KindRead, run, tools.WithSpec(func(s *tools.Spec) { s.Aliases = []string{"a/b"} }))
		}, []string{`"x"`, "alias"}},
		"no description": {func() (tools.DeclarativeTool, error) {
			return tools.Define("x", "", tools.KindRead, run)
		}, []string{`"x"`, "no description"}},
		"no kind": {func() (tools.DeclarativeTool, error) {
			return tools.Define("x", "X.", "reads", run)
		}, []string{`unknown kind "reads"`}},
		"nothing to run": {func() (tools.DeclarativeTool, error) {
			return tools.Define[greetParams]("x", "X.", tools.KindRead, nil)
		}, []string{"no run function"}},
		"option for other parameters": {func() (tools.DeclarativeTool, error) {
			return tools.Define("x", "X.", tools.KindRead, run, tools.WithDescription(func(struct{}) string { return "" }))
		}, []string{"WithDescription was given a func(struct {}) string and needs a func(tools_test.greetParams) string"}},
		"bad pattern": {func() (tools.DeclarativeTool, error) {
			return tools.Define("x", "X.", tools.KindRead, func(context.Context, badPattern) (tools.Result, error) { return tools.Result{}, nil })
		}, []string{`"x"`, "at properties.query.pattern"}},
		"recursive parameters": {func() (tools.DeclarativeTool, error) {
			return tools.Define("x", "X.", tools.KindRead, func(context.Context, recursive) (tools.Result, error) { return tools.Result{}, nil })
		}, []string{`"x"`, "the field Next.Children"}},
		"no struct": {func() (tools.DeclarativeTool, error) {
			return tools.Define("x", "X.", tools.KindRead, func(context.Context, map[string]any) (tools.Result, error) { return tools.Result{}, nil })
		}, []string{`"x"`, "must be a struct"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := tt.define()
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

// An integer may fit the schema but not the Go type.
func TestBuildRefusesWhatDoesNotFitTheGoType(t *testing.T) {
	_, err := mustDefine(t, "greet", tools.KindRead).Build(json.RawMessage(`{"name":"a","times":1e9}`))
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
	require.ErrorContains(t, err, "times: number 1000000000 does not fit the type int8")
}

// services are shared by the tools of a session.
type services struct{ log []string }

func greeterFactory(t testing.TB) *tools.Factory[*services] {
	t.Helper()
	f, err := tools.NewFactory(tools.Definition[*services, greetParams]{
		Spec: tools.Spec{Name: "greet", Description: "Greets.", Kind: tools.KindRead, Aliases: []string{"hello"}},
		Rewrite: func(args map[string]json.RawMessage) error {
			if who, ok := args["who"]; ok {
				if _, both := args["name"]; both {
					return errors.New("who and name are the same; send one")
				}
				args["name"] = who
				delete(args, "who")
			}
			if _, ok := args["shout"]; ok {
				args["times"] = json.RawMessage("3")
				delete(args, "shout")
			}
			return nil
		},
		Validate: func(s *services, p greetParams) error {
			s.log = append(s.log, "validate "+p.Name)
			if p.Name == "Bob" {
				return errors.New("not Bob")
			}
			return nil
		},
		Build: func(s *services, p greetParams, params json.RawMessage) (tools.ToolInvocation, error) {
			s.log = append(s.log, "build "+string(params))
			return fixed{params: params}, nil
		},
	})
	require.NoError(t, err)
	return f
}

// fixed is an invocation that does nothing.
type fixed struct{ params json.RawMessage }

func (f fixed) Params() json.RawMessage                                   { return f.params }
func (f fixed) Description() string                                       { return "does nothing" }
func (f fixed) Locations() []tools.Location                               { return nil }
func (f fixed) Confirmation(context.Context) (*tools.Confirmation, error) { return nil, nil }
func (f fixed) Execute(context.Context, tools.Output) (tools.Result, error) {
	return tools.Result{}, nil
}

// AR-13: the schema is checked first, then the tool's own rules. Only then is there an invocation.
func TestFactoryBuild(t *testing.T) {
	f := greeterFactory(t)
	require.NoError(t, f.Compile())
	require.Equal(t, string(f.Schema().Raw()), string(f.Spec().Schema))
	tests := map[string]struct {
		args string
		log  []string
		want string // of the error
	}{
		"declared":          {`{"name":"Ann"}`, []string{"validate Ann", `build {"name":"Ann"}`}, ""},
		"accepted spelling": {`{"who":"Ann","shout":true}`, []string{"validate Ann", `build {"name":"Ann","times":3}`}, ""},
		"then repaired":     {`{"who":"Ann","times":"2"}`, []string{"validate Ann", `build {"name":"Ann","times":2}`}, ""},
		"encoded twice":     {`"{\"who\":\"Ann\"}"`, []string{"validate Ann", `build {"name":"Ann"}`}, ""},
		"rewrite refuses":   {`{"who":"Ann","name":"Ann"}`, nil, "who and name are the same; send one"},
		"schema refuses":    {`{"name":"Ann","times":"x"}`, nil, "times: expected integer"},
		"rule refuses":      {`{"name":"Bob"}`, []string{"validate Bob"}, "not Bob"},
		"empty":             {``, nil, `required key "name"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := new(services)
			inv, err := f.Bind(s).Build(json.RawMessage(tt.args))
			require.Equal(t, tt.log, s.log)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.Nil(t, inv)
			require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// A rewriting that returns invalid JSON is refused like invalid arguments.
func TestFactoryBadRewrite(t *testing.T) {
	f, err := tools.NewFactory(tools.Definition[struct{}, greetParams]{
		Spec:    tools.Spec{Name: "greet", Description: "Greets.", Kind: tools.KindRead},
		Rewrite: func(args map[string]json.RawMessage) error { args["name"] = json.RawMessage("Ann"); return nil },
		Build: func(struct{}, greetParams, json.RawMessage) (tools.ToolInvocation, error) {
			return fixed{}, nil
		},
	})
	require.NoError(t, err)
	_, err = f.Bind(struct{}{}).Build(nil)
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
	require.ErrorContains(t, err, "not valid JSON")
}

// Bound tools share one Spec and schema and have their own services.
func TestFactoryBind(t *testing.T) {
	f := greeterFactory(t)
	one, two := new(services), new(services)
	_, err := f.Bind(one).Build(json.RawMessage(`{"name":"Ann"}`))
	require.NoError(t, err)
	require.NotEmpty(t, one.log)
	require.Empty(t, two.log)
	a, b := f.Bind(one).Spec(), f.Bind(two).Spec()
	require.Same(t, &a.Schema[0], &b.Schema[0])
	allocations := testing.AllocsPerRun(100, func() { f.Bind(one) })
	require.LessOrEqual(t, allocations, 1.0)
}

func TestNewFactoryRefuses(t *testing.T) {
	_, err := tools.NewFactory(tools.Definition[struct{}, greetParams]{
		Spec: tools.Spec{Name: "greet", Description: "Greets.", Kind: tools.KindRead},
	})
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.ErrorContains(t, err, `"greet"`)
	require.ErrorContains(t, err, "no Build function")
}

func TestProtect(t *testing.T) {
	require.NoError(t, tools.Protect("x", "build", func() error { return nil }))
	plain := errors.New("plain")
	require.Equal(t, plain, tools.Protect("x", "build", func() error { return plain }))

	err := tools.Protect("x", "build", func() error { panic(plain) })
	defect := new(tools.Defect)
	require.ErrorAs(t, err, &defect)
	require.ErrorIs(t, err, plain)
	require.Equal(t, "x", defect.Tool)
	require.Equal(t, "build", defect.Step)
	require.Contains(t, err.Error(), "TestProtect") // the stack

	f := defect.Fault()
	require.Equal(t, fault.UnhandledException, f.Code)
	require.Equal(t, "The tool x failed unexpectedly: plain.", f.Message)
	require.NotContains(t, f.Error()+f.Remedy, "TestProtect")
	require.Equal(t, "tool \"x\", step s: why", (&tools.Defect{Tool: "x", Step: "s", Cause: "why"}).Error())
}

// Another description changes nothing else, and not the original factory.
func TestFactoryDescribing(t *testing.T) {
	f := greeterFactory(t)
	before := f.Spec()
	described := f.Describing("Greets well.").Bind(new(services))
	require.Equal(t, before, f.Spec())
	want := before
	want.Description = "Greets well."
	require.Equal(t, want, described.Spec())
	_, err := described.Build(json.RawMessage(`{"name":"Eve"}`))
	require.NoError(t, err)
}

// The tools of a factory may declare another schema than the one that checks arguments. The tools of the original
// factory are unchanged.
func TestFactoryDeclaring(t *testing.T) {
	f := greeterFactory(t)
	before := string(f.Spec().Schema)
	other := f.Declaring(json.RawMessage(`{"type":"object","properties":{"name":{"enum":["Ann"]}}}`))
	s := new(services)
	tool := other.BindShared(&s)
	require.Contains(t, string(tool.Spec().Schema), "Ann")
	_, err := tool.Build(json.RawMessage(`{"name":"Eve"}`))
	require.NoError(t, err)
	require.Equal(t, before, string(f.Bind(s).Spec().Schema))
}
