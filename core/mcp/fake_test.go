package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// dialer is a Dialer whose servers are functions, keyed by name.
type dialer map[string]func(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error)

func (d dialer) Dial(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
	dial := d[spec.Name]
	if dial == nil {
		return nil, fault.New(fault.MCPServerUnavailable, "fake.dial", "There is no server "+spec.Name+".", "Start it.")
	}
	return dial(ctx, spec, h)
}

// toolCall is a call that a fake receives.
type toolCall struct {
	Tool     string
	Args     json.RawMessage
	Progress func(host.Progress)
}

// fake is a session. A test configures it before the session is used, or through
// with.
type fake struct {
	mcp.Handlers

	mu        sync.Mutex
	info      mcp.Info
	tools     []mcp.Tool
	resources []mcp.Resource
	templates []mcp.ResourceTemplate
	prompts   []mcp.Prompt
	stderr    []string
	listed    int // number of times the tools were listed
	roots     int // number of calls of RootsChanged
	closed    int
	panics    string // the method that panics
	deaf      bool   // it lists its tools even after ctx has ended
	onCall    func(ctx context.Context, c toolCall) (mcp.CallResult, error)
	onRead    func(ctx context.Context, uri string) ([]tools.Resource, error)
	onPrompt  func(ctx context.Context, name string, args map[string]string) (mcp.PromptMessages, error)
	onList    func(ctx context.Context) error

	once sync.Once
	done chan struct{}
	err  error
}

func newFake(declared ...mcp.Tool) *fake {
	return &fake{
		info:  mcp.Info{Name: "fake", Version: "1", Protocol: "2025-11-25", Transport: mcp.TransportStdio, HasTools: true, HasResources: true, HasPrompts: true},
		tools: declared, done: make(chan struct{}),
	}
}

// dial is a dial function that returns s once.
func (s *fake) dial(_ context.Context, _ mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
	s.Handlers = h
	return s, nil
}

// with changes the session under its lock.
func (s *fake) with(change func(s *fake)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// drop ends the connection like a crashed server.
func (s *fake) drop(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.done)
	})
}

// count reads a counter of the session under its lock.
func (s *fake) count(of *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *of
}

func (s *fake) step(method string) {
	s.mu.Lock()
	p := s.panics
	s.mu.Unlock()
	if p == method {
		panic("boom in " + method + " with tok-123456")
	}
}

func (s *fake) Info() mcp.Info { s.step("Info"); return s.info }

func (s *fake) Tools(ctx context.Context) ([]mcp.Tool, error) {
	s.step("Tools")
	s.mu.Lock()
	s.listed++
	list, onList := slices.Clone(s.tools), s.onList
	s.mu.Unlock()
	if onList != nil {
		if err := onList(ctx); err != nil {
			return nil, err
		}
	}
	if s.deaf {
		return list, nil
	}
	return list, ctx.Err()
}

func (s *fake) Resources(ctx context.Context) ([]mcp.Resource, error) {
	s.step("Resources")
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.resources), ctx.Err()
}

func (s *fake) ResourceTemplates(ctx context.Context) ([]mcp.ResourceTemplate, error) {
	s.step("ResourceTemplates")
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.templates), ctx.Err()
}

func (s *fake) Prompts(ctx context.Context) ([]mcp.Prompt, error) {
	s.step("Prompts")
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.prompts), ctx.Err()
}

func (s *fake) Call(ctx context.Context, tool string, args json.RawMessage, progress func(host.Progress)) (mcp.CallResult, error) {
	c := toolCall{tool, args, progress}
	s.step("Call")
	if s.onCall != nil {
		return s.onCall(ctx, c)
	}
	return text("called " + c.Tool + " " + string(c.Args)), nil
}

func (s *fake) ReadResource(ctx context.Context, uri string) ([]tools.Resource, error) {
	s.step("ReadResource")
	if s.onRead != nil {
		return s.onRead(ctx, uri)
	}
	return []tools.Resource{{URI: uri, Text: "what " + uri + " holds"}}, nil
}

func (s *fake) Prompt(ctx context.Context, name string, args map[string]string) (mcp.PromptMessages, error) {
	s.step("Prompt")
	if s.onPrompt != nil {
		return s.onPrompt(ctx, name, args)
	}
	return mcp.PromptMessages{Messages: []host.Message{{Role: host.RoleUser, Content: tools.Text(fmt.Sprint(name, args))}}}, nil
}

func (s *fake) Subscribe(context.Context, string) error { s.step("Subscribe"); return nil }

func (s *fake) RootsChanged(context.Context) {
	s.step("RootsChanged")
	s.with(func(s *fake) { s.roots++ })
}

func (s *fake) Stderr() []string {
	s.step("Stderr")
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.stderr)
}

func (s *fake) Done() <-chan struct{} { s.step("Done"); return s.done }
func (s *fake) Err() error            { s.step("Err"); return s.err }

func (s *fake) Close() error {
	s.with(func(s *fake) { s.closed++ })
	s.step("Close")
	s.drop(nil)
	return nil
}

// text returns an answer of one text.
func text(s string) mcp.CallResult { return mcp.CallResult{Content: []tools.Part{{Text: s}}} }

// tool declares a tool that accepts any arguments.
func tool(name string) mcp.Tool { return mcp.Tool{Name: name, Description: "Does " + name + "."} }

// stdio returns the configuration of a server that is a program.
func stdio(name string) mcp.Configured {
	return mcp.Configured{ServerSpec: mcp.ServerSpec{Name: name, Command: "server-" + name}}
}

// manage returns a started Manager that is closed with the test.
func manage(t testing.TB, o mcp.Options) *mcp.Manager {
	t.Helper()
	m := mcp.NewManager(o)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	m.Start(t.Context())
	return m
}

// one returns a settled Manager of one server, named s, with the given session.
func one(t testing.TB, s *fake, change ...func(*mcp.Options)) *mcp.Manager {
	t.Helper()
	o := mcp.Options{Dialer: dialer{"s": s.dial}, Servers: []mcp.Configured{stdio("s")}}
	for _, c := range change {
		c(&o)
	}
	m := manage(t, o)
	require.True(t, m.Settled(t.Context()))
	return m
}

// lookUp returns the tool of a server by its own name.
func lookUp(t testing.TB, m *mcp.Manager, server, name string) tools.DeclarativeTool {
	t.Helper()
	for _, tool := range m.Tools(server) {
		if tool.Spec().Origin.Tool == name {
			return tool
		}
	}
	require.FailNow(t, "there is no tool "+name)
	return nil
}

// call runs a tool as the scheduler does.
func call(ctx context.Context, t testing.TB, tool tools.DeclarativeTool, args string, out ...tools.Output) tools.Result {
	t.Helper()
	inv, err := tool.Build(json.RawMessage(args))
	require.NoError(t, err)
	var o tools.Output
	if len(out) > 0 {
		o = out[0]
	}
	r, err := inv.Execute(ctx, o)
	require.NoError(t, err)
	return r
}

// status returns the status of one server.
func status(t testing.TB, m *mcp.Manager, server string) mcp.Status {
	t.Helper()
	all := m.Status()
	i := slices.IndexFunc(all, func(s mcp.Status) bool { return s.Name == server })
	require.GreaterOrEqual(t, i, 0)
	return all[i]
}

// changes counts the notifications of a Manager.
type changes struct {
	mu    sync.Mutex
	count map[string]int
	state []mcp.State
	of    func() mcp.State
}

func (c *changes) told(server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == nil {
		c.count = map[string]int{}
	}
	c.count[server]++
	if c.of != nil {
		c.state = append(c.state, c.of())
	}
}

func (c *changes) number(server string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count[server]
}

var errBroken = errors.New("broken pipe")

const second = time.Second

// logger writes to b, which may be read once no goroutine writes any more.
func logger(b *strings.Builder) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
