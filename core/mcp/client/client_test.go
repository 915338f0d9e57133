//go:build unix

package client_test

//lint:file-ignore SA1019 roots, logs and sampling are the protocol's until servers have moved on

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/client"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// long is the time after which a test counts as hanging.
const long = time.Minute

// settled fails if goroutines are left over after the test.
func settled(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for end := time.Now().Add(long); runtime.NumGoroutine() > before; runtime.Gosched() {
			if time.Now().After(end) {
				stacks := make([]byte, 1<<20)
				t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
			}
		}
	})
}

func dial(t *testing.T, spec mcp.ServerSpec, h mcp.Handlers) mcp.Session {
	t.Helper()
	s, err := client.New(client.Options{Name: "test", Version: "1"}).Dial(t.Context(), spec, h)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// transports returns the transports to one and the same server.
func transports(t *testing.T) map[string]func(t *testing.T) mcp.ServerSpec {
	serve := func(handler func(get func(*http.Request) *sdk.Server) http.Handler) func(*testing.T) mcp.ServerSpec {
		return func(t *testing.T) mcp.ServerSpec {
			server := newServer(nil)
			web := httptest.NewServer(handler(func(*http.Request) *sdk.Server { return server }))
			t.Cleanup(web.Close)
			return mcp.ServerSpec{Name: "web", URL: web.URL}
		}
	}
	return map[string]func(*testing.T) mcp.ServerSpec{
		"stdio":      func(t *testing.T) mcp.ServerSpec { return peerSpec(t, "sdk", "") },
		"in process": func(*testing.T) mcp.ServerSpec { return mcp.ServerSpec{Name: "own", InProcess: newServer(nil)} },
		"http":       serve(func(get func(*http.Request) *sdk.Server) http.Handler { return sdk.NewStreamableHTTPHandler(get, nil) }),
		"stateless": serve(func(get func(*http.Request) *sdk.Server) http.Handler {
			return sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true})
		}),
		"plain answers": serve(func(get func(*http.Request) *sdk.Server) http.Handler {
			return sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{JSONResponse: true})
		}),
		"sse": serve(func(get func(*http.Request) *sdk.Server) http.Handler { return sdk.NewSSEHandler(get, nil) }),
	}
}

// EX-16: over every transport, a server's tools, resources and prompts are listed
// and used, and arguments and results stay exact.
func TestTransports(t *testing.T) {
	for name, spec := range transports(t) {
		t.Run(name, func(t *testing.T) {
			settled(t)
			s := dial(t, spec(t), mcp.Handlers{})
			info := s.Info()
			require.Equal(t, "sdk The SDK 2 Use the tools.", strings.Join([]string{info.Name, info.Title, info.Version, info.Instructions}, " "))
			require.True(t, info.HasTools && info.HasResources && info.HasPrompts)
			t.Log(info.Protocol, info.Transport)

			list, err := s.Tools(t.Context())
			require.NoError(t, err)
			names := map[string]mcp.Tool{}
			for _, tool := range list {
				names[tool.Name] = tool
			}
			require.Contains(t, names, "echo")
			require.Equal(t, `{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"integer"}}}`, string(names["echo"].InputSchema))

			args := json.RawMessage(`{"b":9007199254740993,"a":1e2,"c":"<&>"}`)
			r, err := s.Call(t.Context(), "echo", args, nil)
			require.NoError(t, err)
			require.Equal(t, string(args), r.Content[0].Text)
			require.Equal(t, string(args), strings.NewReplacer(`\u003c`, "<", `\u0026`, "&", `\u003e`, ">").Replace(string(r.Structured)))

			resources, err := s.Resources(t.Context())
			require.NoError(t, err)
			require.Equal(t, []mcp.Resource{{URI: "test://a", Name: "a", MIMEType: "text/plain"}}, resources)
			templates, err := s.ResourceTemplates(t.Context())
			require.NoError(t, err)
			require.Equal(t, []mcp.ResourceTemplate{{URITemplate: "t://{x}", Name: "t"}}, templates)
			held, err := s.ReadResource(t.Context(), "test://a")
			require.NoError(t, err)
			require.Equal(t, []tools.Resource{{URI: "test://a", Text: "A", MIMEType: "text/plain"}, {URI: "test://b", Blob: []byte{0, 1}, MIMEType: "x/y"}}, held)
			_, err = s.ReadResource(t.Context(), "t://none")
			require.Equal(t, fault.MCPResourceNotFound, fault.CodeOf(err), "%v", err)
			prompts, err := s.Prompts(t.Context())
			require.NoError(t, err)
			require.Equal(t, []mcp.Prompt{{Name: "p", Arguments: []mcp.PromptArgument{{Name: "x", Required: true}}}}, prompts)
			filled, err := s.Prompt(t.Context(), "p", map[string]string{"x": "1"})
			require.NoError(t, err)
			require.Equal(t, mcp.PromptMessages{Description: "d", Messages: []host.Message{{Role: host.RoleAssistant, Content: tools.Content{Parts: []tools.Part{{Text: "x=1"}}}}}}, filled)

			_, err = s.Call(t.Context(), "none", nil, nil)
			require.Equal(t, fault.MCPToolError, fault.CodeOf(err), "%v", err)
			require.NoError(t, s.Close())
			require.NoError(t, s.Err())
			_, err = s.Call(t.Context(), "echo", nil, nil)
			require.Equal(t, fault.MCPServerUnavailable, fault.CodeOf(err))
		})
	}
}

// Progress arrives completely, in order, and not after the call.
func TestProgress(t *testing.T) {
	for name, spec := range transports(t) {
		if name == "plain answers" { // which cannot carry progress
			continue
		}
		t.Run(name, func(t *testing.T) {
			settled(t)
			s := dial(t, spec(t), mcp.Handlers{})
			var steps []float64
			r, err := s.Call(t.Context(), "progress", nil, func(p host.Progress) {
				require.Equal(t, 20.0, p.Total)
				require.Equal(t, "step", p.Message)
				steps = append(steps, p.Done)
			})
			require.NoError(t, err)
			require.Equal(t, "done", r.Content[0].Text)
			require.Len(t, steps, 20)
			require.IsIncreasing(t, steps)
		})
	}
}

// A cancelled call returns, and the server is notified.
func TestCancel(t *testing.T) {
	settled(t)
	spec := peerSpec(t, "sdk", "")
	notes := t.TempDir()
	noted := func(what string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(notes, what)); return err == nil }
	}
	spec.Env["FETTLE_TEST_NOTES"] = notes
	s := dial(t, spec, mcp.Handlers{})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { _, err := s.Call(ctx, "wait", nil, nil); failed <- err }()
	require.Eventually(t, noted("begun"), long, time.Millisecond)
	cancel()
	err := <-failed
	require.Equal(t, fault.Cancelled, fault.CodeOf(err), "%v", err)
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, noted("cancelled"), long, time.Millisecond)
	_, err = s.Call(t.Context(), "echo", nil, nil)
	require.NoError(t, err, "the session goes on")
}

// A server that ignores cancellation, and even its input, blocks no caller.
func TestCancelIgnored(t *testing.T) {
	settled(t)
	s := dial(t, peerSpec(t, "script", hello+"> tools/call\n!deaf\n"), mcp.Handlers{})
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := s.Call(ctx, "x", json.RawMessage(`{"x":"`+strings.Repeat("x", 1<<20)+`"}`), nil)
		cancel()
		require.Equal(t, fault.MCPServerUnavailable, fault.CodeOf(err), "%v", err)
	}
}

// Elicitation: requests within a tool result of the current protocol, and
// requests of older ones, reach the user in the order of the schema; defaults
// replace omitted fields; an answer that does not match is not sent.
func TestElicit(t *testing.T) {
	cases := map[string]struct {
		answer host.Elicited
		err    error
		want   string // of the answer; or
		fails  string
	}{
		"accept":    {answer: host.Elicited{Action: host.ElicitAccept, Content: json.RawMessage(`{"name":"Ada","big":9007199254740993}`)}, want: `{"action":"accept","content":{"age":9,"big":9007199254740993,"name":"Ada"}}`},
		"null":      {answer: host.Elicited{Action: host.ElicitAccept, Content: json.RawMessage(`{"name":"Ada","age":null}`)}, want: `{"action":"accept","content":{"age":9,"name":"Ada"}}`},
		"decline":   {answer: host.Elicited{Action: host.ElicitDecline}, want: `{"action":"decline"}`},
		"cancel":    {answer: host.Elicited{Action: host.ElicitCancel}, want: `{"action":"cancel"}`},
		"nobody":    {err: fault.New(fault.NoApprover, "x", "Nobody.", ""), want: `{"action":"cancel"}`},
		"unfitting": {answer: host.Elicited{Action: host.ElicitAccept, Content: json.RawMessage(`{"name":5}`)}, fails: "does not fit"},
	}
	for way, spec := range transports(t) {
		if way == "plain answers" {
			continue // a JSON answer cannot carry a request of the server
		}
		for name, tt := range cases {
			t.Run(way+" "+name, func(t *testing.T) {
				var asked host.Elicitation
				s := dial(t, spec(t), mcp.Handlers{Elicit: func(_ context.Context, e host.Elicitation) (host.Elicited, error) {
					asked = e
					return tt.answer, tt.err
				}})
				r, err := s.Call(t.Context(), "ask", nil, nil)
				require.Equal(t, "Who?", asked.Message)
				require.Less(t, strings.Index(string(asked.Schema), `"name"`), strings.Index(string(asked.Schema), `"age"`), string(asked.Schema))
				if tt.fails != "" {
					require.Error(t, err)
					require.Contains(t, err.Error(), tt.fails)
					return
				}
				require.NoError(t, err)
				text, _, _ := strings.Cut(r.Content[0].Text, "state")
				got := map[string]json.RawMessage{}
				require.NoError(t, json.Unmarshal([]byte(text), &got))
				delete(got, "resultType")
				delete(got, "_meta")
				plain, err := json.Marshal(got)
				require.NoError(t, err)
				require.Equal(t, tt.want, strings.ReplaceAll(string(plain), "9007199254740992", "9007199254740993")) // which the server's SDK has rounded
			})
		}
	}
}

// The client declares no capability without a handler.
func TestCapabilities(t *testing.T) {
	all := mcp.Handlers{
		Elicit: func(context.Context, host.Elicitation) (host.Elicited, error) { return host.Elicited{}, nil },
		Roots:  func() []string { return nil },
	}
	for name, tt := range map[string]struct {
		h    mcp.Handlers
		want string
	}{
		"none": {mcp.Handlers{}, `{}`},
		"all":  {all, `{"roots":{"listChanged":true},"elicitation":{"form":{},"url":{}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := make(chan *sdk.ClientCapabilities, 1)
			server := newServer(nil)
			server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
				return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
					if q, ok := r.(*sdk.CallToolRequest); ok {
						got <- q.ClientCapabilities()
					}
					return next(ctx, method, r)
				}
			})
			s := dial(t, mcp.ServerSpec{Name: "own", InProcess: server}, tt.h)
			_, err := s.Call(t.Context(), "echo", nil, nil)
			require.NoError(t, err)
			caps := <-got
			require.Equal(t, strings.Contains(tt.want, "roots"), caps.RootsV2 != nil)
			require.Equal(t, strings.Contains(tt.want, "form"), caps.Elicitation != nil && caps.Elicitation.Form != nil && caps.Elicitation.URL != nil)
			require.Nil(t, caps.Sampling)
		})
	}
}

// Notifications of a server reach the handlers.
func TestNotifications(t *testing.T) {
	for name, spec := range transports(t) {
		if name == "stateless" || name == "plain answers" { // no stream to the client
			continue
		}
		t.Run(name, func(t *testing.T) {
			settled(t)
			changed, updated, logged := make(chan bool, 9), make(chan string, 9), make(chan host.LogEntry, 9)
			dir := "/one"
			s := dial(t, spec(t), mcp.Handlers{
				Changed: func(c mcp.Change) {
					if c.Tools {
						changed <- true
					}
					if c.Resource != "" {
						updated <- c.Resource
					}
				},
				Log: func(e host.LogEntry) { logged <- e }, Roots: func() []string { return []string{dir} },
			})
			_, err := s.Call(t.Context(), "add", nil, nil)
			require.NoError(t, err)
			require.True(t, <-changed)
			list, err := s.Tools(t.Context())
			require.NoError(t, err)
			require.True(t, func() bool {
				for _, tool := range list {
					if tool.Name == "added" {
						return true
					}
				}
				return false
			}(), "%v", list)
			require.NoError(t, s.Subscribe(t.Context(), "test://a"))
			var uri string
			for uri == "" { // a subscription of the current protocol is not confirmed
				_, err = s.Call(t.Context(), "touch", nil, nil)
				require.NoError(t, err)
				select {
				case uri = <-updated:
				case <-time.After(10 * time.Millisecond):
				}
			}
			require.Equal(t, "test://a", uri)
			_, err = s.Call(t.Context(), "log", nil, nil)
			require.NoError(t, err)
			require.Equal(t, host.LogEntry{Level: "warning", Logger: "l", Data: json.RawMessage(`{"n":1}`)}, <-logged)
			r, err := s.Call(t.Context(), "roots", nil, nil)
			require.NoError(t, err)
			require.Equal(t, "file:///one", r.Content[0].Text)
			dir = "/two words"
			s.RootsChanged(t.Context())
			r, err = s.Call(t.Context(), "roots", nil, nil)
			require.NoError(t, err)
			require.Equal(t, "file:///two%20words", r.Content[0].Text)
		})
	}
}

// Close ends an open question and a running call.
func TestCloseWhileAsked(t *testing.T) {
	for name, spec := range transports(t) {
		if name == "stateless" || name == "plain answers" { // such servers do not receive cancellations, or cannot ask
			continue
		}
		t.Run(name, func(t *testing.T) {
			settled(t)
			asked, release := make(chan bool, 1), make(chan bool)
			t.Cleanup(func() { close(release) })
			s := dial(t, spec(t), mcp.Handlers{Elicit: func(context.Context, host.Elicitation) (host.Elicited, error) {
				asked <- true
				<-release // ignores its ctx
				return host.Elicited{}, nil
			}})
			failed := make(chan error, 2)
			go func() { _, err := s.Call(t.Context(), "ask", nil, nil); failed <- err }()
			ours := name == "stdio" || name == "in process" // a remote server may miss the end of its current request
			if ours {
				go func() { _, err := s.Call(t.Context(), "wait", nil, nil); failed <- err }()
			}
			<-asked
			require.NoError(t, s.Close())
			require.Error(t, <-failed)
			if ours {
				require.Error(t, <-failed)
			}
		})
	}
}
