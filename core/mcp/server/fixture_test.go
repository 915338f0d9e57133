package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

//lint:file-ignore SA1019 sampling, roots and logging are deprecated since revision 2026-07-28, and part of the protocol

// TestMain also runs the server that the tests start as a process.
func TestMain(m *testing.M) {
	if os.Getenv("FETTLE_TEST_STDIO_SERVER") != "" {
		s := server.New(options(newShop()))
		if err := s.Stdio(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Fprintln(os.Stderr, "ended")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// tool is a tool that is only declared; the shop's Call runs it.
type tool struct{ spec tools.Spec }

func (t tool) Spec() tools.Spec { return t.spec }
func (t tool) Build(json.RawMessage) (tools.ToolInvocation, error) {
	return nil, errors.New("not built")
}

// shop opens Services and counts their calls.
type shop struct {
	opened, closed atomic.Int64
	running, most  atomic.Int64 // calls
	cancelled      atomic.Int64
	started        chan string // receives the session of each blocking tool

	mu      sync.Mutex
	clients []server.Client
	extra   []tools.DeclarativeTool // in addition to the fixed ones
	watches map[int]func(mcp.Change)
	nextID  int
	bad     error // of Open
}

func newShop() *shop {
	return &shop{started: make(chan string, 2000), watches: map[int]func(mcp.Change){}}
}

func options(s *shop) server.Options {
	return server.Options{Name: "shop", Version: "1", Open: s.open, OutputSchemas: true, Linger: time.Minute}
}

const objectSchema = `{"type":"object"}`

// wideSchema has keywords that a typed schema would lose.
const wideSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"size":{"type":"integer"}},` +
	`"properties":{"region":{"type":"string","x-mcp-header":"Region"},"size":{"$ref":"#/$defs/size"},"big":{}},"unevaluatedProperties":false,"x-own":[1]}`

func (s *shop) tools() []tools.DeclarativeTool {
	spec := func(name string, kind tools.Kind, more ...func(*tools.Spec)) tools.DeclarativeTool {
		sp := tools.Spec{Name: name, Description: "The tool " + name + ".", Kind: kind, Schema: json.RawMessage(objectSchema)}
		for _, m := range more {
			m(&sp)
		}
		return tool{sp}
	}
	all := []tools.DeclarativeTool{
		spec("zebra", tools.KindRead), // out of alphabetical order
		spec("echo", tools.KindRead, func(s *tools.Spec) {
			s.Schema, s.DisplayName, s.Aliases = json.RawMessage(wideSchema), "Echo", []string{"echoes"}
		}),
		spec("remove", tools.KindDelete, func(s *tools.Spec) { s.Effects = []tools.Effect{tools.EffectWriteFiles} }),
		spec("fetch", tools.KindFetch, func(s *tools.Spec) { s.DisplayName, s.Effects = "Find Pages", []tools.Effect{tools.EffectNetwork} }),
		spec("foreign", tools.KindOther, func(s *tools.Spec) {
			s.Origin = tools.Origin{Group: tools.GroupMCP, Server: "other"}
			s.Annotations = map[string]any{"title": "Theirs", "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false}
		}),
		spec("count", tools.KindOther), spec("block", tools.KindOther), spec("ask", tools.KindOther), spec("ask_named", tools.KindOther), spec("ask_fresh", tools.KindOther),
		spec("ask_all", tools.KindOther), spec("ask_twice", tools.KindOther), spec("need_sampling", tools.KindOther),
		spec("fail", tools.KindOther), spec("panic", tools.KindOther), spec("contents", tools.KindOther), spec("progress", tools.KindOther),
		spec("log", tools.KindOther), spec("part", tools.KindOther), spec("large", tools.KindOther), spec("change", tools.KindOther),
		spec("object", tools.KindOther, func(s *tools.Spec) { s.OutputSchema = json.RawMessage(objectSchema) }),
		spec("list", tools.KindOther, func(s *tools.Spec) { s.OutputSchema = json.RawMessage(`{"type":"array"}`) }),
		spec("object_fails", tools.KindOther, func(s *tools.Spec) { s.OutputSchema = json.RawMessage(objectSchema) }),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(all, s.extra...)
}

// change adds a tool and notifies all sessions.
func (s *shop) change(c mcp.Change) {
	s.mu.Lock()
	var tell []func(mcp.Change)
	for _, w := range s.watches {
		tell = append(tell, w)
	}
	s.mu.Unlock()
	for _, w := range tell {
		w(c)
	}
}

func (s *shop) add(name string) {
	s.mu.Lock()
	s.extra = append(s.extra, tool{tools.Spec{Name: name, Description: "Added.", Kind: tools.KindRead, Schema: json.RawMessage(objectSchema)}})
	s.mu.Unlock()
	s.change(mcp.Change{Tools: true})
}

func (s *shop) open(ctx context.Context, c server.Client) (*mcpservice.Service, error) {
	s.mu.Lock()
	bad := s.bad
	s.clients = append(s.clients, c)
	s.mu.Unlock()
	if bad != nil {
		return nil, bad
	}
	s.opened.Add(1)
	var count atomic.Int64 // the session's own state
	return &mcpservice.Service{
		Tools:        s.tools,
		Instructions: "Be gentle, " + c.Name + ".",
		Call: func(cctx context.Context, name string, args json.RawMessage) tools.Result {
			n := s.running.Add(1)
			for m := s.most.Load(); n > m && !s.most.CompareAndSwap(m, n); m = s.most.Load() {
			}
			defer s.running.Add(-1)
			return s.call(cctx, c, &count, name, args)
		},
		Resources: func(context.Context) ([]mcp.Resource, error) {
			return []mcp.Resource{{URI: "shop:text", Name: "text", MIMEType: "text/plain"}, {URI: "shop:blob", Name: "blob", Size: 2}}, nil
		},
		Templates: func(context.Context) ([]mcp.ResourceTemplate, error) {
			return []mcp.ResourceTemplate{{URITemplate: "shop:item/{id}", Name: "item"}}, nil
		},
		Read: func(ctx context.Context, uri string) ([]tools.Resource, error) {
			switch uri {
			case "shop:text":
				return []tools.Resource{{URI: uri, MIMEType: "text/plain", Text: "hello"}}, nil
			case "shop:blob":
				return []tools.Resource{{URI: uri, Blob: []byte{1, 2}}}, nil
			case "shop:asks":
				name, err := askName(ctx, "")
				return []tools.Resource{{URI: uri, Text: name}}, err
			case "shop:breaks":
				return nil, errors.New("secret-path /etc/shadow")
			}
			return nil, fault.New(fault.FileNotFound, "shop.read", "There is no such resource.", "List them.")
		},
		Prompts: func(context.Context) ([]mcp.Prompt, error) {
			return []mcp.Prompt{{Name: "greet", Arguments: []mcp.PromptArgument{{Name: "who", Required: true}}}, {Name: "asks"}}, nil
		},
		Prompt: func(ctx context.Context, name string, args map[string]string) (mcp.PromptMessages, error) {
			switch name {
			case "greet":
				return mcp.PromptMessages{Description: "A greeting", Messages: []host.Message{{Role: host.RoleUser, Content: tools.Content{Parts: []tools.Part{
					{Text: "Greet " + args["who"]},
					{Resource: &tools.Resource{URI: "shop:text", Text: "hello"}},
					{InlineData: &tools.InlineData{MIMEType: "image/png", Data: []byte{1}}},
				}}}}}, nil
			case "asks":
				who, err := askName(ctx, "")
				return mcp.PromptMessages{Messages: []host.Message{{Role: host.RoleUser, Content: tools.Text(who)}}}, err
			}
			return mcp.PromptMessages{}, fault.New(fault.InvalidToolParams, "shop.prompt", "There is no such prompt.", "List them.")
		},
		Updates: true,
		Complete: func(_ context.Context, c mcpservice.Completion) ([]string, error) {
			var many []string
			for i := range 150 {
				many = append(many, fmt.Sprintf("%s%s%s-%d", c.Prompt, c.Template, c.Value, i))
			}
			return many, nil
		},
		Watch: func(changed func(mcp.Change)) func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			id := s.nextID
			s.nextID++
			s.watches[id] = changed
			return func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.watches, id)
			}
		},
		Close: func() error {
			if ctx.Err() == nil {
				return errors.New("closed while its context lives")
			}
			s.closed.Add(1)
			return nil
		},
	}, nil
}

const nameSchema = `{"type":"object","properties":{"name":{"type":"string","minLength":1},"title":{"type":"string","default":"Dr"}},"required":["name"]}`

func askName(ctx context.Context, key string) (string, error) {
	return answerTo(ctx, host.Question{Key: key, Elicit: &host.Elicitation{Message: "Who?", Schema: json.RawMessage(nameSchema)}})
}

func answerTo(ctx context.Context, q host.Question) (string, error) {
	r, err := host.FromContext(ctx).Ask(ctx, q)
	if err != nil {
		return "", err
	}
	return string(r[0].Elicit.Action) + " " + string(r[0].Elicit.Content), nil
}

func failure(err error) tools.Result {
	var f *fault.Error
	if errors.As(err, &f) {
		return tools.Fail(f)
	}
	return tools.Fail(fault.New(fault.Unknown, "shop", err.Error(), ""))
}

func (s *shop) call(ctx context.Context, c server.Client, count *atomic.Int64, name string, args json.RawMessage) tools.Result {
	h := host.FromContext(ctx)
	text := func(t string) tools.Result { return tools.Result{LLMContent: tools.Text(t)} }
	switch name {
	case "zebra", "echo", "echoes", "remove", "fetch", "foreign":
		return text(string(args))
	case "count":
		return text(fmt.Sprint(count.Add(1)))
	case "block":
		s.started <- c.Session
		<-ctx.Done()
		s.cancelled.Add(1)
		return failure(fault.Wrap(fault.Cancelled, "shop", "Stopped.", "", ctx.Err()))
	case "ask", "ask_named", "ask_fresh":
		q := host.Question{Elicit: &host.Elicitation{Message: "Who?", Schema: json.RawMessage(nameSchema)}}
		if name != "ask" {
			q.Key, q.Fresh = "user_name", name == "ask_fresh"
		}
		t, err := answerTo(ctx, q)
		if err != nil {
			return failure(fault.Wrap(fault.NoApprover, "shop", "Nobody said a name.", "Use --name.", err))
		}
		return text(t)
	case "ask_all":
		r, err := h.Ask(ctx,
			host.Question{Elicit: &host.Elicitation{Message: "Who?", Schema: json.RawMessage(nameSchema)}},
			host.Question{Sample: &host.Sampling{Messages: []host.Message{{Role: host.RoleUser, Content: tools.Text("Hi")}}, MaxTokens: 10}},
			host.Question{Roots: &host.RootsQuestion{}})
		if err != nil {
			return failure(err)
		}
		return text(fmt.Sprintf("%s|%s by %s|%v", r[0].Elicit.Content, r[1].Sample.Content.String(), r[1].Sample.Model, r[2].Roots))
	case "ask_twice":
		a, err := askName(ctx, "")
		if err != nil {
			return failure(err)
		}
		b, err := askName(ctx, "")
		if err != nil {
			return failure(err)
		}
		return text(a + b)
	case "need_sampling":
		_, err := h.Ask(ctx, host.Question{Sample: &host.Sampling{MaxTokens: 1}})
		if err != nil {
			return failure(err)
		}
		return text("sampled")
	case "fail":
		r := failure(fault.New(fault.FileChangedSinceRead, "shop", "The file has changed.", "Read it again.").Because(fault.Changed))
		r.LLMContent = tools.Text("latest state")
		return r
	case "panic":
		panic("secret-token")
	case "contents":
		return tools.Result{LLMContent: tools.Content{Parts: []tools.Part{
			{Text: "a\xffb"},
			{InlineData: &tools.InlineData{MIMEType: "image/png", Data: []byte{1}}},
			{InlineData: &tools.InlineData{MIMEType: "audio/wav", Data: []byte{2}}},
			{InlineData: &tools.InlineData{MIMEType: "application/pdf", Data: []byte{3}}},
			{Resource: &tools.Resource{URI: "shop:text", Text: "t"}},
			{Link: &tools.ResourceLink{URI: "shop:link", Name: "link", Size: 7}},
		}}}
	case "progress":
		for _, d := range []float64{1, 2, 2, 1, 3} {
			h.Progress(host.Progress{Done: d, Total: 3, Message: fmt.Sprint("step ", d)})
		}
		return text("done")
	case "log":
		h.Log(host.LogEntry{Level: host.LogDebug, Data: json.RawMessage(`"fine"`)})
		h.Log(host.LogEntry{Level: host.LogWarning, Logger: "shop", Data: json.RawMessage(`{"n":1}`)})
		return text("logged")
	case "part":
		p, ok := h.(host.DisconnectingHost)
		return text(fmt.Sprint(ok && p.Disconnect(time.Millisecond)))
	case "large":
		return text(strings.Repeat("x", 8<<20))
	case "change":
		s.add("added")
		return text("changed")
	case "object":
		r, err := tools.JSON(map[string]any{"a": json.Number("12345678901234567890")})
		if err != nil {
			return failure(err)
		}
		return tools.Result{LLMContent: r}
	case "list":
		r, err := tools.JSON([]int{1, 2})
		if err != nil {
			return failure(err)
		}
		return tools.Result{LLMContent: r}
	case "object_fails":
		r, err := tools.JSON(map[string]any{"latest": 1})
		if err != nil {
			return failure(err)
		}
		return tools.Result{LLMContent: r}.WithError(fault.New(fault.ExecutionFailed, "shop", "It failed.", ""))
	}
	return text("added tool")
}

// begun waits until a blocking tool has begun.
func (s *shop) begun(t *testing.T) {
	t.Helper()
	select {
	case <-s.started:
	case <-time.After(time.Minute):
		require.FailNow(t, "no call has begun")
	}
}

// settled waits until a condition is true.
func settled(t *testing.T, what string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, time.Minute, 2*time.Millisecond, what)
}

// wire is a client's end of a Stdio session, used by the SDK's client or
// directly.
type wire struct {
	in  io.WriteCloser // of the server
	out io.ReadCloser
	end func() error // waits for Stdio
}

// stdio starts a session over pipes within the process.
func stdio(t testing.TB, s *server.Server) wire {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := s.Stdio(t.Context(), inR, outW)
		_ = outW.Close()
		done <- err
	}()
	w := wire{in: inW, out: outR, end: sync.OnceValue(func() error { return <-done })}
	t.Cleanup(func() { _ = inW.Close(); _ = outR.Close(); require.NoError(t, w.end()) })
	return w
}

// client is the SDK's client with all capabilities.
type client struct {
	*sdk.ClientSession
	progress chan *sdk.ProgressNotificationParams
	logs     chan *sdk.LoggingMessageParams
	tools    chan struct{}
	updated  chan string
}

func clientOf(t *testing.T, tr sdk.Transport, revision string, o sdk.ClientOptions) *client {
	t.Helper()
	c := &client{progress: make(chan *sdk.ProgressNotificationParams, 100), logs: make(chan *sdk.LoggingMessageParams, 100), tools: make(chan struct{}, 100), updated: make(chan string, 100)}
	o.ProgressNotificationHandler = func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { c.progress <- r.Params }
	o.LoggingMessageHandler = func(_ context.Context, r *sdk.LoggingMessageRequest) { c.logs <- r.Params }
	o.ToolListChangedHandler = func(context.Context, *sdk.ToolListChangedRequest) { c.tools <- struct{}{} }
	o.ResourceUpdatedHandler = func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { c.updated <- r.Params.URI }
	cl := sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "2"}, &o)
	cl.AddRoots(&sdk.Root{URI: "file:///work", Name: "work"})
	cs, err := cl.Connect(t.Context(), tr, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	c.ClientSession = cs
	t.Cleanup(func() { _ = cs.Close() })
	return c
}

// answering returns the options of a client that answers elicitation and sampling
// requests.
func answering() sdk.ClientOptions {
	return sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		CreateMessageHandler: func(context.Context, *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			return &sdk.CreateMessageResult{Role: "assistant", Model: "m", Content: &sdk.TextContent{Text: "hey"}}, nil
		},
	}
}

func (w wire) transport() sdk.Transport { return &sdk.IOTransport{Reader: w.out, Writer: w.in} }

// textOf returns the first text of a result.
func textOf(t *testing.T, r *sdk.CallToolResult) string {
	t.Helper()
	require.NotEmpty(t, r.Content)
	c, ok := r.Content[0].(*sdk.TextContent)
	require.True(t, ok, "%T", r.Content[0])
	return c.Text
}

func (c *client) text(t *testing.T, name string, args any) string {
	t.Helper()
	r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	require.NoError(t, err)
	return textOf(t, r)
}
