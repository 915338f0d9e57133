package tooltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

func TestGoodTool(t *testing.T) {
	tooltest.Run(t, define(t, tools.KindRead, echo, tools.WithParallel()), tooltest.Cases{
		Examples: examples,
		Bad:      args(`{"text":"a","times":10}`, `{"text":["a"]}`),
	})
}

// deleteNote is a tool that deletes a file in dir.
func deleteNote(dir string) (tools.DeclarativeTool, error) {
	type params struct {
		Name string `json:"name" jsonschema_description:"Name of the note."`
	}
	return tools.Define("delete_note", "Deletes a note.", tools.KindDelete,
		func(_ context.Context, p params) (tools.Result, error) {
			if err := os.Remove(filepath.Join(dir, filepath.Base(p.Name))); err != nil {
				return tools.Result{}, fault.Wrap(fault.FileNotFound, "delete_note", "There is no such note.", "", err)
			}
			return tools.Result{LLMContent: tools.Text("deleted")}, nil
		},
		tools.WithConfirmation(func(_ context.Context, p params) (*tools.Confirmation, error) {
			if _, err := os.Stat(filepath.Join(dir, filepath.Base(p.Name))); err != nil {
				return nil, tools.ErrWillRefuse
			}
			return &tools.Confirmation{Type: tools.ConfirmInfo, Title: "Delete?", InfoDetails: &tools.InfoDetails{Prompt: p.Name}}, nil
		}))
}

func TestGoodMutator(t *testing.T) {
	tooltest.Run(t, nil, tooltest.Cases{
		Fresh: func(t testing.TB) tools.DeclarativeTool {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a.txt"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			tool, err := deleteNote(dir)
			if err != nil {
				t.Fatal(err)
			}
			return tool
		},
		Examples: args(`{"name":"a.txt"}`),
		Failing:  args(`{"name":"absent.txt"}`),
	})
}

// tool is a tool made of functions, so that a test can break each.
type tool struct {
	spec  tools.Spec
	build func(args json.RawMessage) (tools.ToolInvocation, error)
}

func (b *tool) Spec() tools.Spec { return b.spec }

func (b *tool) Build(args json.RawMessage) (tools.ToolInvocation, error) { return b.build(args) }

// invocation is an invocation made of functions; nil functions behave correctly.
type invocation struct {
	params  func() json.RawMessage
	text    string
	at      []tools.Location
	confirm func(ctx context.Context) (*tools.Confirmation, error)
	run     func(ctx context.Context, out tools.Output) (tools.Result, error)
}

func (i *invocation) Params() json.RawMessage     { return i.params() }
func (i *invocation) Description() string         { return i.text }
func (i *invocation) Locations() []tools.Location { return i.at }
func (i *invocation) Confirmation(ctx context.Context) (*tools.Confirmation, error) {
	if i.confirm == nil {
		return nil, nil
	}
	return i.confirm(ctx)
}

func (i *invocation) Execute(ctx context.Context, out tools.Output) (tools.Result, error) {
	if i.run == nil {
		return tools.Result{LLMContent: tools.Text("done")}, ctx.Err()
	}
	return i.run(ctx, out)
}

const closedSchema = `{"type":"object","properties":{"text":{"type":"string","description":"x"}},"required":["text"],"additionalProperties":false}`

// broken returns a correct tool whose invocations change modifies.
func broken(t *testing.T, kind tools.Kind, change func(*invocation)) *tool {
	t.Helper()
	schema, err := tools.ParseSchema("broken", json.RawMessage(closedSchema))
	require.NoError(t, err)
	return &tool{
		spec: tools.Spec{Name: "broken", Description: "Is broken.", Kind: kind, Schema: schema.Raw()},
		build: func(args json.RawMessage) (tools.ToolInvocation, error) {
			params, err := schema.Check(args)
			if err != nil {
				return nil, err
			}
			i := &invocation{params: func() json.RawMessage { return params }, text: "does something"}
			change(i)
			return i, nil
		},
	}
}

func TestBadInvocations(t *testing.T) {
	info := func(c tools.Confirmation) func(context.Context) (*tools.Confirmation, error) {
		return func(context.Context) (*tools.Confirmation, error) { return &c, nil }
	}
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	tests := map[string]struct {
		kind   tools.Kind
		change func(*invocation)
		want   string
	}{
		"good": {tools.KindRead, func(*invocation) {}, ""},
		"panic in Execute": {tools.KindRead, func(i *invocation) {
			i.run = func(context.Context, tools.Output) (tools.Result, error) { panic("boom") }
		}, "Execute of {\"text\":\"a\"} panics"},
		"panic in Confirmation": {tools.KindRead, func(i *invocation) {
			i.confirm = func(context.Context) (*tools.Confirmation, error) { panic("boom") }
		}, "Confirmation of {\"text\":\"a\"} panics"},
		"ignores an ended context": {tools.KindRead, func(i *invocation) {
			i.run = func(context.Context, tools.Output) (tools.Result, error) { return tools.Result{}, nil }
		}, "succeeds although its context had ended"},
		"hangs": {tools.KindRead, func(i *invocation) {
			i.run = func(ctx context.Context, _ tools.Output) (tools.Result, error) {
				if ctx.Err() != nil {
					<-forever
				}
				return tools.Result{}, nil
			}
		}, "Execute of {\"text\":\"a\"} still runs"},
		"hangs with any context": {tools.KindRead, func(i *invocation) {
			i.run = func(context.Context, tools.Output) (tools.Result, error) { <-forever; return tools.Result{}, nil }
		}, "Execute of {\"text\":\"a\"} still runs"},
		"hangs in Confirmation": {tools.KindEdit, func(i *invocation) {
			i.confirm = func(context.Context) (*tools.Confirmation, error) { <-forever; return nil, nil }
		}, "Confirmation of {\"text\":\"a\"} still runs"},
		"takes too long": {tools.KindRead, func(i *invocation) {
			i.run = func(ctx context.Context, _ tools.Output) (tools.Result, error) {
				<-ctx.Done()
				return tools.Result{}, ctx.Err()
			}
		}, "fails: context deadline exceeded"},
		"no confirmation": {tools.KindEdit, func(*invocation) {}, "is nil, but the tool changes something"},
		"confirmation without details": {tools.KindEdit, func(i *invocation) {
			i.confirm = info(tools.Confirmation{Type: tools.ConfirmEdit, Title: "t"})
		}, "must have complete details of its type"},
		"confirmation of another type": {tools.KindEdit, func(i *invocation) {
			i.confirm = info(tools.Confirmation{Type: tools.ConfirmExec, Title: "t", InfoDetails: &tools.InfoDetails{Prompt: "p"}})
		}, "must have complete details of its type"},
		"confirmation without title": {tools.KindEdit, func(i *invocation) {
			i.confirm = info(tools.Confirmation{Type: tools.ConfirmInfo, InfoDetails: &tools.InfoDetails{Prompt: "p"}})
		}, "has no title"},
		"confirmation of a relative path": {tools.KindEdit, func(i *invocation) {
			i.confirm = info(tools.Confirmation{Type: tools.ConfirmInfo, Title: "t", Paths: []string{"a"}, InfoDetails: &tools.InfoDetails{Prompt: "p"}})
		}, "is not absolute"},
		"confirmation fails without code": {tools.KindEdit, func(i *invocation) {
			i.confirm = func(context.Context) (*tools.Confirmation, error) { return nil, errors.New("no") }
		}, "fails without a code"},
		"success after announcing a refusal": {tools.KindEdit, func(i *invocation) { // FS-43
			i.confirm = func(context.Context) (*tools.Confirmation, error) { return nil, tools.ErrWillRefuse }
		}, "announced a refusal, but succeeded"},
		"example fails": {tools.KindRead, func(i *invocation) {
			i.run = func(context.Context, tools.Output) (tools.Result, error) {
				return tools.Fail(fault.New(fault.ExecutionFailed, "", "no", "")), nil
			}
		}, "Execute of the example {\"text\":\"a\"} fails"},
		"params change": {tools.KindRead, func(i *invocation) { // AR-12
			i.run = func(ctx context.Context, _ tools.Output) (tools.Result, error) {
				i.params = func() json.RawMessage { return json.RawMessage(`{"text":"other"}`) }
				return tools.Result{}, ctx.Err()
			}
		}, "changed during the call"},
		"params are not an object": {tools.KindRead, func(i *invocation) {
			i.params = func() json.RawMessage { return json.RawMessage(`[]`) }
		}, "are not a JSON object"},
		"params are not canonical": {tools.KindRead, func(i *invocation) {
			params := i.params()
			i.params = func() json.RawMessage { return json.RawMessage(" " + string(params)) }
		}, "are not canonical"},
		"no description":    {tools.KindRead, func(i *invocation) { i.text = " " }, "must be one line"},
		"relative location": {tools.KindRead, func(i *invocation) { i.at = []tools.Location{{Path: "a"}} }, "must be absolute"},
		"output not announced": {tools.KindRead, func(i *invocation) {
			i.run = func(ctx context.Context, out tools.Output) (tools.Result, error) {
				out.Write("x")
				return tools.Result{}, ctx.Err()
			}
		}, "sends live output"},
		"result without JSON": {tools.KindRead, func(i *invocation) {
			i.run = func(ctx context.Context, _ tools.Output) (tools.Result, error) {
				list := &tools.TodoList{Todos: []tools.Todo{{Description: "d", Status: "bad"}}}
				return tools.Result{ReturnDisplay: tools.Display{Todo: list}}, ctx.Err()
			}
		}, "cannot be encoded as JSON"},
		"result not stable": {tools.KindRead, func(i *invocation) {
			i.run = func(ctx context.Context, _ tools.Output) (tools.Result, error) {
				parts := []tools.Part{{Text: "\xff"}}
				return tools.Result{LLMContent: tools.Content{Parts: parts}}, ctx.Err()
			}
		}, "is not stable"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := tooltest.Cases{Examples: examples[:1], Mutations: 20}
			if strings.HasPrefix(name, "hangs") || name == "takes too long" {
				c.Timeout = 20 * time.Millisecond
			}
			got := failuresOf(t, broken(t, tt.kind, tt.change), c)
			if tt.want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, got, tt.want)
		})
	}
}

func TestBadBuild(t *testing.T) {
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	tests := map[string]struct {
		build func(good func(json.RawMessage) (tools.ToolInvocation, error)) func(json.RawMessage) (tools.ToolInvocation, error)
		want  string
	}{
		"panics on unusual arguments": {func(good func(json.RawMessage) (tools.ToolInvocation, error)) func(json.RawMessage) (tools.ToolInvocation, error) {
			return func(args json.RawMessage) (tools.ToolInvocation, error) {
				if args[0] == '[' {
					panic("boom")
				}
				return good(args)
			}
		}, "Build of [] panics"},
		"hangs": {func(func(json.RawMessage) (tools.ToolInvocation, error)) func(json.RawMessage) (tools.ToolInvocation, error) {
			return func(json.RawMessage) (tools.ToolInvocation, error) { <-forever; return nil, nil }
		}, "Build of {\"text\":\"a\"} still runs"},
		"accepts anything": {func(good func(json.RawMessage) (tools.ToolInvocation, error)) func(json.RawMessage) (tools.ToolInvocation, error) {
			return func(json.RawMessage) (tools.ToolInvocation, error) { return good(examples[0]) }
		}, "accepts invalid arguments"},
		"plain error": {func(func(json.RawMessage) (tools.ToolInvocation, error)) func(json.RawMessage) (tools.ToolInvocation, error) {
			return func(json.RawMessage) (tools.ToolInvocation, error) { return nil, errors.New("no") }
		}, "not a *fault.Error"},
		"error without code": {func(func(json.RawMessage) (tools.ToolInvocation, error)) func(json.RawMessage) (tools.ToolInvocation, error) {
			return func(json.RawMessage) (tools.ToolInvocation, error) { return nil, &fault.Error{} }
		}, "without code or message"},
		"neither result nor error": {func(func(json.RawMessage) (tools.ToolInvocation, error)) func(json.RawMessage) (tools.ToolInvocation, error) {
			return func(json.RawMessage) (tools.ToolInvocation, error) { return nil, nil }
		}, "neither an invocation nor an error"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tool := broken(t, tools.KindRead, func(*invocation) {})
			tool.build = tt.build(tool.build)
			c := tooltest.Cases{Examples: examples[:1]}
			if name == "hangs" {
				c.Timeout = 20 * time.Millisecond
			}
			require.Contains(t, failuresOf(t, tool, c), tt.want)
		})
	}
}

func TestBadSpec(t *testing.T) {
	tests := map[string]struct {
		change func(*tools.Spec)
		want   string
	}{
		"name":         {func(s *tools.Spec) { s.Name = "a b" }, "tool name \"a b\""},
		"alias":        {func(s *tools.Spec) { s.Aliases = []string{"ä"} }, "alias: the tool name"},
		"alias twice":  {func(s *tools.Spec) { s.Aliases = []string{"x", "x"} }, "is a duplicate"},
		"description":  {func(s *tools.Spec) { s.Description = "\n" }, "Spec.Description"},
		"kind":         {func(s *tools.Spec) { s.Kind = "reading" }, "unknown kind"},
		"effects":      {func(s *tools.Spec) { s.Effects = []tools.Effect{tools.EffectWriteFiles} }, "its effect write_files"},
		"no JSON":      {func(s *tools.Spec) { s.Schema = json.RawMessage(`{`) }, "Spec.Schema"},
		"bad keyword":  {func(s *tools.Spec) { s.Schema = json.RawMessage(`{"type":"object","properties":7}`) }, "Spec.Schema"},
		"type missing": {func(s *tools.Spec) { s.Schema = json.RawMessage(`{"additionalProperties":false}`) }, "outermost type"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tool := broken(t, tools.KindRead, func(*invocation) {})
			tt.change(&tool.spec)
			require.Contains(t, failuresOf(t, tool, tooltest.Cases{Examples: examples[:1]}), tt.want)
		})
	}
}

func TestBadSchema(t *testing.T) {
	object := func(members string) string {
		return `{"type":"object","additionalProperties":false,"properties":{"text":{"type":"string","description":"x"},` + members + `}}`
	}
	tests := map[string]struct{ schema, want string }{
		"open":                 {`{"type":"object","properties":{"text":{"type":"string","description":"x"}}}`, "outermost object: it is open"},
		"open by true":         {`{"type":"object","additionalProperties":true}`, "it is open: additionalProperties is true"},
		"half open":            {`{"type":"object","properties":{"text":{"description":"x"}},"additionalProperties":{"type":"string"}}`, "accepts others"},
		"open inside":          {object(`"o":{"type":"object","description":"d"}`), "o: it is open"},
		"open in a list":       {object(`"o":{"type":"array","description":"d","items":{"type":"object"}}`), "o[]: it is open"},
		"open in a map":        {object(`"o":{"type":"object","description":"d","additionalProperties":{"type":"object"}}`), "o.*: it is open"},
		"open in alternatives": {object(`"o":{"description":"d","anyOf":[{"type":"object"}]}`), "o(anyOf 0): it is open"},
		"unknown keyword":      {object(`"n":{"type":"integer","description":"d","minumum":1}`), `"minumum" is not a keyword`},
		"no description":       {object(`"n":{"type":"integer"}`), "n: it has no description"},
		"required undeclared":  {`{"type":"object","additionalProperties":false,"required":["x"]}`, `"x" is required but not declared`},
		"top oneOf":            {`{"type":"object","additionalProperties":false,"oneOf":[{}]}`, "refuse oneOf"},
		"schema noise":         {`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false}`, `"$schema" is not a keyword`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tool := broken(t, tools.KindRead, func(*invocation) {})
			tool.spec.Schema = json.RawMessage(tt.schema)
			require.Contains(t, failuresOf(t, tool, tooltest.Cases{Examples: examples[:1], Mutations: -1}), tt.want)
		})
	}
}

func TestBadCases(t *testing.T) {
	good := define(t, tools.KindRead, echo)
	require.Contains(t, failuresOf(t, nil, tooltest.Cases{}), "no tool")
	require.Contains(t, failuresOf(t, good, tooltest.Cases{}), "Cases.Examples is empty")
	require.Contains(t, failuresOf(t, good, tooltest.Cases{Examples: args(`{}`)}), "Build({})")
	require.Contains(t, failuresOf(t, good, tooltest.Cases{Examples: examples, Bad: examples}), "accepts invalid arguments")
	require.Contains(t, failuresOf(t, good, tooltest.Cases{Examples: examples, Failing: examples}), "succeeds but should fail")
	require.Contains(t, failuresOf(t, good, tooltest.Cases{
		Examples: examples, Fresh: func(testing.TB) tools.DeclarativeTool { return nil },
	}), "returns no tool")
}

func TestParallelFailure(t *testing.T) {
	var mu sync.Mutex
	calls := 0
	run := func(ctx context.Context, p echoParams) (tools.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls > 4 { // the concurrent calls are last
			return tools.Result{}, fault.New(fault.ExecutionFailed, "", "too many at once", "")
		}
		return echo(ctx, p)
	}
	got := failuresOf(t, define(t, tools.KindRead, run, tools.WithParallel()), tooltest.Cases{Examples: examples})
	require.Contains(t, got, "fails in a concurrent call")
}

func TestDefaultQuestion(t *testing.T) {
	c := tooltest.Cases{Examples: examples}
	for _, tool := range []tools.DeclarativeTool{
		define(t, tools.KindMove, echo),
		define(t, tools.KindOther, echo, tools.WithSpec(func(s *tools.Spec) { s.Effects = []tools.Effect{tools.EffectRunProcess} })),
	} {
		c.DefaultQuestion = false
		require.Contains(t, failuresOf(t, tool, c), "is nil, but the tool changes something")
		c.DefaultQuestion = true
		require.Empty(t, failuresOf(t, tool, c))
	}
}

// The damaged arguments are the same in each run.
func TestDamagedArgumentsAreTheSameAtEachRun(t *testing.T) {
	record := func() (seen []string) {
		tool := broken(t, tools.KindRead, func(*invocation) {})
		good := tool.build
		tool.build = func(args json.RawMessage) (tools.ToolInvocation, error) {
			seen = append(seen, string(args))
			return good(args)
		}
		require.Empty(t, failuresOf(t, tool, tooltest.Cases{Examples: examples[:1]}))
		return seen
	}
	first := record()
	require.Greater(t, len(first), 300)
	require.Equal(t, first, record())
}

// outputSchema is the schema of a result {"n": integer}.
const outputSchema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`

func TestOutput(t *testing.T) {
	object := func(n any) tools.Content {
		content, err := tools.JSON(map[string]any{"n": n})
		require.NoError(t, err)
		return content
	}
	failure := tools.Fail(fault.New(fault.ExecutionFailed, "", "No.", ""))
	failure.Structured = json.RawMessage(`{"n":1}`)
	for name, tt := range map[string]struct {
		schema string
		result tools.Result
		want   string
	}{
		"content":                         {outputSchema, tools.Result{LLMContent: object(1)}, ""},
		"beside content":                  {outputSchema, tools.Result{LLMContent: tools.Text("one"), Structured: json.RawMessage(`{"n":1}`)}, ""},
		"no schema":                       {"", tools.Result{LLMContent: tools.Text("one"), Structured: json.RawMessage(`[7]`)}, ""},
		"nothing":                         {outputSchema, tools.Result{LLMContent: tools.Text("one")}, "Spec.OutputSchema requires JSON"},
		"text of JSON":                    {outputSchema, tools.Result{LLMContent: tools.Text(`{"n":1}`)}, "Spec.OutputSchema requires JSON"},
		"other content":                   {outputSchema, tools.Result{LLMContent: object("one")}, "n: expected integer"},
		"other structured":                {outputSchema, tools.Result{LLMContent: object(1), Structured: json.RawMessage(`{"n":1,"m":2}`)}, "unknown key"},
		"no JSON":                         {"", tools.Result{LLMContent: object(1), Structured: json.RawMessage(`{`)}, "is not valid JSON"},
		"failure with structured content": {outputSchema, failure, "a failure of sample has structured content"},
		"bad schema":                      {`{"type":7}`, tools.Result{LLMContent: object(1)}, "Spec.OutputSchema"},
	} {
		t.Run(name, func(t *testing.T) {
			tool := broken(t, tools.KindRead, func(i *invocation) {
				i.run = func(ctx context.Context, _ tools.Output) (tools.Result, error) { return tt.result, ctx.Err() }
			})
			tool.spec.Name = "sample"
			if tt.schema != "" {
				tool.spec.OutputSchema = json.RawMessage(tt.schema)
			}
			c := tooltest.Cases{Examples: examples[:1], Mutations: -1}
			if tt.result.Error != nil {
				c.Examples, c.Failing = nil, examples[:1]
			}
			got := failuresOf(t, tool, c)
			if tt.want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, got, tt.want)
		})
	}
}

// A tool of a server may have an open schema. It requires an origin.
func TestOrigin(t *testing.T) {
	good := func(s *tools.Spec) {
		s.Origin = tools.Origin{Group: tools.GroupMCP, Server: "s", Tool: "t"}
		s.Annotations = map[string]any{"readOnlyHint": true}
		s.Schema = json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"a":{"type":"object"}},"x-own":1,"anyOf":[{"required":["text"]}]}`)
	}
	for name, tt := range map[string]struct {
		change func(s *tools.Spec)
		want   string
	}{
		"good":                 {func(*tools.Spec) {}, ""},
		"no server":            {func(s *tools.Spec) { s.Origin.Server = "" }, "an MCP tool requires a server"},
		"tool without server":  {func(s *tools.Spec) { s.Origin = tools.Origin{Tool: "t"} }, "is the name of a tool at a server"},
		"server of a built-in": {func(s *tools.Spec) { s.Origin.Group = tools.GroupBuiltIn }, `only MCP tools have a server, here "s"`},
		"annotated":            {func(s *tools.Spec) { s.Origin = tools.Origin{} }, "Spec.Annotations"},
		"no object":            {func(s *tools.Spec) { s.Schema = json.RawMessage(`{"anyOf":[]}`) }, "Spec.Schema"},
	} {
		t.Run(name, func(t *testing.T) {
			tool := broken(t, tools.KindRead, func(*invocation) {})
			good(&tool.spec)
			tt.change(&tool.spec)
			got := failuresOf(t, tool, tooltest.Cases{Examples: examples[:1], Mutations: -1})
			if tt.want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, got, tt.want)
		})
	}
}

func TestGoodToolOfAServer(t *testing.T) {
	for name, schema := range map[string]string{
		"open":       `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`,
		"any object": `{"type":"object"}`,
		"closed":     `{"type":"object","properties":{"text":{"type":"string"}},"unevaluatedProperties":false}`,
	} {
		t.Run(name, func(t *testing.T) {
			tool, err := tools.DefineJSON(tools.Spec{
				Name: "mcp_s_t", Description: "Of a server.", Kind: tools.KindOther, Schema: json.RawMessage(schema),
				OutputSchema: json.RawMessage(`{"type":"object"}`), Origin: tools.Origin{Group: tools.GroupMCP, Server: "s", Tool: "t"},
			}, func(_ context.Context, args json.RawMessage, _ tools.Output) (tools.Result, error) {
				return tools.Result{LLMContent: tools.Text("done"), Structured: args}, nil
			})
			require.NoError(t, err)
			tooltest.Run(t, tool, tooltest.Cases{Examples: examples[:1]})
		})
	}
}
