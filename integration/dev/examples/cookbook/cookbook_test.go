package cookbook

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// FD-06: an own tool runs, and arguments that do not fit are refused.
func TestCallOwnTool(t *testing.T) {
	r, err := callOwnTool(t.Context(), t.TempDir(), `{"text": "abc"}`)
	require.NoError(t, err)
	require.Equal(t, "cba", r.Result.LLMContent.String())
	r, err = callOwnTool(t.Context(), t.TempDir(), `{"words": 1}`)
	require.NoError(t, err)
	require.Equal(t, fault.InvalidToolParams, r.Result.Error.Code)
}

// session returns an initialized Config that ends with the test.
func session(t *testing.T, p config.Parameters) *config.Config {
	t.Helper()
	p.Environment.HomeDir = t.TempDir()
	c, err := config.New(p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.NoError(t, c.Initialize(t.Context()))
	return c
}

func write(t *testing.T, c *config.Config, name string) scheduler.Response {
	t.Helper()
	calls, err := c.Scheduler()
	require.NoError(t, err)
	args, err := json.Marshal(map[string]string{"file_path": name, "content": "package a\n"})
	require.NoError(t, err)
	return calls.Run(t.Context(), scheduler.Request{CallID: name, Tool: "write_file", Args: args})
}

// FD-06: the rule denies one kind of file, and the mode allows the others.
func TestRules(t *testing.T) {
	c := session(t, withRules(t.TempDir()))
	require.Equal(t, scheduler.StatusSuccess, write(t, c, "a.go").Status)
	denied := write(t, c, "a.gen.go")
	require.Equal(t, scheduler.StatusDenied, denied.Status)
	require.Contains(t, denied.Result.Error.Line(), "go generate")
}

// FD-06: a question stays open for a page that is opened later. The first of two approvers decides, and a
// page of another site cannot answer.
func TestApprovals(t *testing.T) {
	for answer, want := range map[string]scheduler.Status{"yes": scheduler.StatusSuccess, "no": scheduler.StatusDenied} {
		t.Run(answer, func(t *testing.T) {
			c := session(t, config.Parameters{TargetDir: t.TempDir()})
			page := httptest.NewServer(approvals(t.Context(), c.MessageBus()))
			t.Cleanup(page.Close)
			done := make(chan scheduler.Response, 1)
			go func() { done <- write(t, c, "a.go") }()
			var open []struct{ CorrelationID string }
			list := func() bool {
				r, err := http.Get(page.URL + "/questions")
				require.NoError(t, err)
				defer r.Body.Close()
				open = nil
				require.NoError(t, json.NewDecoder(r.Body).Decode(&open))
				return len(open) == 1
			}
			for deadline := time.Now().Add(time.Minute); !list(); {
				require.True(t, time.Now().Before(deadline), "no question arrived")
			}
			post := func(site string) int {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page.URL+"/questions/"+open[0].CorrelationID+"?answer="+answer, nil)
				require.NoError(t, err)
				r.Header.Set("Sec-Fetch-Site", site)
				response, err := http.DefaultClient.Do(r)
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				return response.StatusCode
			}
			require.Equal(t, http.StatusForbidden, post("cross-site"))
			require.Equal(t, http.StatusOK, post("same-origin"))
			require.Equal(t, http.StatusConflict, post("same-origin"))
			require.Equal(t, want, (<-done).Status)
		})
	}
}

// echo answers with the text of the last turn and the number of turns.
func echo(_ context.Context, r *model.Request) (model.Part, error) {
	return model.TextPart("turns: " + string(rune('0'+len(r.Contents)))), nil
}

// FD-06: events are lines of JSON; an own provider answers them.
func TestStreamEvents(t *testing.T) {
	c := session(t, config.Parameters{TargetDir: t.TempDir(), Conversation: config.Conversation{Models: model.Always(provider{echo}), Model: "local"}})
	var out bytes.Buffer
	require.NoError(t, streamEvents(t.Context(), c, "Hello", &out))
	require.Contains(t, out.String(), `{"type":"message","role":"assistant","content":"turns: `)
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	require.JSONEq(t, `{"type":"done"}`, string(lines[len(lines)-1]))
	var last agent.Event
	require.NoError(t, json.Unmarshal(lines[len(lines)-1], &last))
	require.True(t, last.Type.Ends())
}

// FD-06: the model may call the subagent, which is declared to it as a tool.
func TestReviewer(t *testing.T) {
	var declared []string
	ask := func(_ context.Context, r *model.Request) (model.Part, error) {
		for _, tool := range r.Tools {
			declared = append(declared, tool.Name)
		}
		return model.TextPart("done"), nil
	}
	c := session(t, withReviewer(t.TempDir(), provider{ask}))
	require.NoError(t, streamEvents(t.Context(), c, "Hello", new(bytes.Buffer)))
	require.Contains(t, declared, "reviewer")
}

// FD-06: a conversation continues in another Config.
func TestResume(t *testing.T) {
	p := config.Parameters{TargetDir: t.TempDir(), Conversation: config.Conversation{Models: model.Always(provider{echo}), Model: "local"}}
	first := session(t, p)
	require.NoError(t, streamEvents(t.Context(), first, "Hello", new(bytes.Buffer)))
	client, err := first.Client()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "chat.json")
	require.NoError(t, save(client, file))
	second := session(t, p)
	again, err := resume(second, file)
	require.NoError(t, err)
	require.Equal(t, client.History(), again.History())
	require.NoError(t, streamEvents(t.Context(), second, "Again", new(bytes.Buffer)))
	require.Len(t, again.History(), 2*len(client.History()))
}

// FD-06: an MCP client of another library lists and calls the tools.
func TestMCPHandler(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o644))
	handler, s := mcpHandler(dir)
	listener := httptest.NewServer(handler)
	t.Cleanup(func() { listener.Close(); require.NoError(t, s.Close()) })
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	connection, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: listener.URL + "/mcp", DisableStandaloneSSE: true}, nil)
	require.NoError(t, err)
	result, err := connection.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: map[string]any{"file_path": "a.txt"}})
	require.NoError(t, err)
	require.False(t, result.IsError)
	require.NoError(t, connection.Close())
}
