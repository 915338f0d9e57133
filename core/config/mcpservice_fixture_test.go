package config_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// client is a fake MCP client: it records messages and questions, and answers.
type client struct {
	// answer returns the reply to a form; nil: the client cannot be asked.
	answer func(e host.Elicitation) host.Elicited

	mu       sync.Mutex
	asked    []host.Question
	progress []host.Progress
}

func (c *client) Progress(p host.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress = append(c.progress, p)
}

func (c *client) Log(host.LogEntry) {}

func (c *client) Ask(_ context.Context, questions ...host.Question) ([]host.Reply, error) {
	c.mu.Lock()
	c.asked = append(c.asked, questions...)
	c.mu.Unlock()
	if c.answer == nil {
		return nil, fault.New(fault.NoApprover, "test", "This client cannot be asked.", "")
	}
	var replies []host.Reply
	for _, q := range questions {
		given := c.answer(*q.Elicit)
		replies = append(replies, host.Reply{Elicit: &given})
	}
	return replies, nil
}

// says answers every form with the same content.
func says(content string) func(host.Elicitation) host.Elicited {
	return func(host.Elicitation) host.Elicited {
		return host.Elicited{Action: host.ElicitAccept, Content: json.RawMessage(content)}
	}
}

func leaves(action host.ElicitAction) func(host.Elicitation) host.Elicited {
	return func(host.Elicitation) host.Elicited { return host.Elicited{Action: action} }
}

// mcpServed is a Config over a temporary directory with a service of it.
type mcpServed struct {
	*mcpservice.Service
	t      *testing.T
	dir    string
	config *config.Config
}

func serve(t *testing.T, o config.MCPServiceOptions, change ...func(*config.Parameters)) *mcpServed {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	p := config.Parameters{TargetDir: dir}
	for _, f := range change {
		f(&p)
	}
	c := newConfig(t, p)
	require.NoError(t, c.Initialize(t.Context()))
	return &mcpServed{serviceOf(t, c, o), t, dir, c}
}

func serviceOf(t *testing.T, c *config.Config, o config.MCPServiceOptions) *mcpservice.Service {
	t.Helper()
	svc, err := c.MCP().Serve(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, svc.Close()) })
	return svc
}

func (s *mcpServed) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func (s *mcpServed) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	require.NoError(s.t, err)
	return string(data)
}

// callAs makes a call for a client.
func callAs(t *testing.T, svc *mcpservice.Service, c *client, tool string, args map[string]any) tools.Result {
	t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	return svc.Call(host.NewContext(t.Context(), c), tool, raw)
}

// state decodes a state object.
func state(t *testing.T, r tools.Result) (st struct {
	SHA256  *string `json:"sha256"`
	Content *string `json:"content"`
	Status  string  `json:"status"`
}) {
	t.Helper()
	require.Nil(t, r.Error)
	require.NoError(t, json.Unmarshal([]byte(r.LLMContent.String()), &st))
	return st
}

func servedNames(svc *mcpservice.Service) []string {
	var all []string
	for _, tool := range svc.Tools() {
		all = append(all, tool.Spec().Name)
	}
	return all
}
