package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// toolCall is a call that a fake receives.
type toolCall struct {
	Tool     string
	Args     json.RawMessage
	Progress func(host.Progress)
}

// servers dials servers within the test, by name.
type servers struct {
	mu     sync.Mutex
	by     map[string]*fakeServer
	dialed map[string]mcp.ServerSpec
	env    config.MCPEnvironment
}

// fakeServer is a server, and each session with it.
type fakeServer struct {
	hangs bool
	tools []mcp.Tool
	call  func(ctx context.Context, c toolCall) (mcp.CallResult, error)
	info  mcp.Info

	mu       sync.Mutex
	handlers mcp.Handlers
	open     int
	done     chan struct{}
}

func (s *servers) dial(env config.MCPEnvironment) mcp.Dialer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.env = env
	return s
}

func (s *servers) Dial(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
	s.mu.Lock()
	if s.dialed == nil {
		s.dialed = map[string]mcp.ServerSpec{}
	}
	s.dialed[spec.Name] = spec
	server := s.by[spec.Name]
	s.mu.Unlock()
	switch {
	case server == nil:
		return nil, fault.New(fault.MCPServerUnavailable, "test", "There is no such server.", "")
	case server.hangs:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	server.handlers, server.done = h, make(chan struct{})
	server.open++
	return server, nil
}

func (s *servers) spec(name string) mcp.ServerSpec {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dialed[name]
}

func (f *fakeServer) Info() mcp.Info {
	info := f.info
	info.Name, info.Transport, info.HasTools, info.HasResources, info.HasPrompts = "fake", mcp.TransportInProcess, true, true, true
	return info
}

func (f *fakeServer) Tools(context.Context) ([]mcp.Tool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.tools), nil
}

func (f *fakeServer) Resources(context.Context) ([]mcp.Resource, error) {
	return []mcp.Resource{{URI: "shelf://book", Name: "book"}}, nil
}

func (f *fakeServer) ResourceTemplates(context.Context) ([]mcp.ResourceTemplate, error) {
	return nil, nil
}

func (f *fakeServer) Prompts(context.Context) ([]mcp.Prompt, error) {
	return []mcp.Prompt{{Name: "book review", Arguments: []mcp.PromptArgument{{Name: "title", Required: true}}}}, nil
}

func (f *fakeServer) Call(ctx context.Context, tool string, args json.RawMessage, progress func(host.Progress)) (mcp.CallResult, error) {
	c := toolCall{tool, args, progress}
	if f.call == nil {
		return mcp.CallResult{Content: []tools.Part{{Text: "called " + c.Tool + " " + string(c.Args)}}}, nil
	}
	return f.call(ctx, c)
}

func (f *fakeServer) ReadResource(_ context.Context, uri string) ([]tools.Resource, error) {
	return []tools.Resource{{URI: uri, Text: "a tale"}}, nil
}

func (f *fakeServer) Prompt(_ context.Context, name string, args map[string]string) (mcp.PromptMessages, error) {
	if args["title"] == "none" {
		return mcp.PromptMessages{}, errors.New("none")
	}
	return mcp.PromptMessages{Messages: []host.Message{
		{Role: host.RoleUser, Content: tools.Text(f.info.Version + " " + name + " of " + args["title"])},
		{Role: host.RoleAssistant, Content: tools.Text("I have read it.")},
	}}, nil
}

func (f *fakeServer) Subscribe(context.Context, string) error { return nil }

func (f *fakeServer) RootsChanged(context.Context) {}

func (f *fakeServer) Stderr() []string { return nil }

func (f *fakeServer) Done() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done
}

func (f *fakeServer) Err() error { return nil }

func (f *fakeServer) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open--; f.open == 0 {
		close(f.done)
	}
	return nil
}

// offer changes the server's tools and notifies the client.
func (f *fakeServer) offer(list ...mcp.Tool) {
	f.mu.Lock()
	f.tools = list
	changed := f.handlers.Changed
	f.mu.Unlock()
	changed(mcp.Change{Tools: true})
}

func fakeTool(name string, annotations map[string]any) mcp.Tool {
	return mcp.Tool{Name: name, Description: "Does " + name + ".", Annotations: annotations,
		InputSchema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}
}

// with returns a session with these servers in the user's settings.
func (s *servers) with(t *testing.T, user string, more ...func(*config.Parameters)) *configtest.Session {
	t.Helper()
	session := configtest.New(t, append([]func(*config.Parameters){withUser(t, user), func(p *config.Parameters) { p.MCP.Dial = s.dial }}, more...)...)
	manager, err := session.MCP().Manager()
	require.NoError(t, err)
	if manager != nil {
		hangs := false
		for _, server := range s.by {
			hangs = hangs || server.hangs
		}
		if !hangs {
			require.True(t, manager.Settled(t.Context()))
		}
	}
	return session
}

// named waits until the session has a tool, or no longer has it.
func named(t *testing.T, c *config.Config, name string, there bool) {
	t.Helper()
	require.Eventually(t, func() bool { return slices.Contains(names(t, c), name) == there }, 30*time.Second, time.Millisecond)
}
