package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// remoteServer records requests and answers them by handle, after the common part
// of a session.
type remoteServer struct {
	*httptest.Server
	mu   sync.Mutex
	seen []*http.Request
	// handle answers POST requests other than initialize, and GET requests with m nil.
	handle func(w http.ResponseWriter, q *http.Request, m *message)
}

func newRemote(t *testing.T, handle func(w http.ResponseWriter, q *http.Request, m *message)) *remoteServer {
	t.Helper()
	s := &remoteServer{handle: handle}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, q)
		s.mu.Unlock()
		if q.Method != http.MethodPost {
			if q.Method == http.MethodGet {
				s.handle(w, q, nil)
			}
			return
		}
		raw, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		m, err := parse(raw)
		switch {
		case err != nil:
			http.Error(w, "bad", http.StatusBadRequest)
		case m.method == methodInitialize:
			w.Header().Set("Mcp-Session-Id", "session-1")
			answerJSON(w, string(result(m.id, map[string]any{"protocolVersion": text(m.params()["protocolVersion"])})))
		case m.id == nil || m.method == "":
			s.handle(w, q, m)
			w.WriteHeader(http.StatusAccepted)
		default:
			s.handle(w, q, m)
		}
	}))
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)
	return s
}

func answerJSON(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

func begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
}

func event(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, text+"\n\n")
	_ = http.NewResponseController(w).Flush()
}

func (s *remoteServer) serve(r Remote) func(context.Context, Options, io.Reader, io.Writer) error {
	return func(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
		if r.URL == "" {
			r.URL = s.URL
		}
		return RunRemote(ctx, o, r, in, out)
	}
}

// methods returns the requests as METHOD SESSION REVISION.
func (s *remoteServer) methods() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, q := range s.seen {
		all = append(all, strings.TrimSpace(strings.Join([]string{q.Method, q.Header.Get("Mcp-Session-Id"), q.Header.Get("Mcp-Protocol-Version")}, " ")))
	}
	return all
}

// FD-03: a session over streamable HTTP has its headers, responses as JSON and as
// streams, the server's own messages, and an end.
func TestRemote(t *testing.T) {
	answered := make(chan string, 1)
	s := newRemote(t, func(w http.ResponseWriter, q *http.Request, m *message) {
		switch {
		case m == nil:
			begin(w)
			event(w, ": hello")
			event(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":\"srv\",\"method\":\"roots/list\"}")
			<-q.Context().Done()
		case m.method == "":
			answered <- string(m.raw)
		case m.method == "stream":
			begin(w)
			event(w, `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}`)
			event(w, "data: "+string(result(m.id, "streamed")))
		case m.isRequest():
			answerJSON(w, "{\n\"jsonrpc\":\"2.0\",\n\"id\":"+string(m.id)+",\"result\":1.0}")
		}
	})
	p := connect(t, Options{}, s.serve(Remote{Headers: map[string]string{"X-Key": "k", "Mcp-Session-Id": "mine"}}))
	p.initialize("2025-06-18", `{}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":"srv","method":"roots/list"}`, p.line())
	p.send(`{"jsonrpc":"2.0","id":"srv","result":{"roots":[]}}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":"srv","result":{"roots":[]}}`, <-answered)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"json"}`)
	require.Contains(t, p.line(), `"result":1.0`)
	p.send(`{"jsonrpc":"2.0","id":2,"method":"stream"}`)
	require.Contains(t, p.line(), "progress")
	require.Contains(t, p.line(), "streamed")
	require.NoError(t, p.end())
	all := s.methods()
	require.Equal(t, "POST", all[0])
	require.Equal(t, "DELETE session-1 2025-06-18", all[len(all)-1])
	for _, one := range all[1:] {
		require.Contains(t, one, "session-1 2025-06-18")
	}
	require.Equal(t, "k", s.seen[1].Header.Get("X-Key"))
}

// A stream that breaks off is continued after its last event.
func TestResume(t *testing.T) {
	s := newRemote(t, func(w http.ResponseWriter, q *http.Request, m *message) {
		switch {
		case m == nil && q.Header.Get("Last-Event-ID") == "":
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m == nil:
			begin(w)
			event(w, `data: {"jsonrpc":"2.0","id":1,"result":"after `+q.Header.Get("Last-Event-ID")+`"}`)
		case m.method == "break":
			begin(w)
			event(w, "id: e7\nretry: 1\ndata:")
		case m.method == "lost":
			begin(w)
			event(w, "data:")
		}
	})
	p := connect(t, Options{}, s.serve(Remote{}))
	p.initialize("2025-11-25", `{}`)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"break"}`)
	require.Contains(t, p.line(), "after e7")
	p.send(`{"jsonrpc":"2.0","id":2,"method":"lost"}`)
	require.Contains(t, p.line(), "ended its response early")
	require.NoError(t, p.end())
}

// Failures of requests are clear errors, and the connection goes on; a session that
// the server does not know any more ends it.
func TestRemoteFailures(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request went elsewhere") }))
	defer elsewhere.Close()
	s := newRemote(t, func(w http.ResponseWriter, q *http.Request, m *message) {
		switch m.method {
		case "500":
			http.Error(w, "secret", http.StatusInternalServerError)
		case "error":
			w.WriteHeader(http.StatusBadRequest)
			answerJSON(w, string(failure(nil, -32602, "mistake")))
		case "elsewhere":
			http.Redirect(w, q, elsewhere.URL, http.StatusTemporaryRedirect)
		case "large":
			answerJSON(w, string(result(m.id, strings.Repeat("x", 2<<20))))
		case "large event":
			begin(w)
			event(w, "data: "+string(result(m.id, strings.Repeat("x", 2<<20))))
		case "text":
			_, _ = io.WriteString(w, "welcome")
		case "other id":
			answerJSON(w, `{"jsonrpc":"2.0","id":"x","result":{}}`)
		case "401":
			w.WriteHeader(http.StatusUnauthorized)
		case "gone":
			http.NotFound(w, q)
		}
	})
	p := connect(t, Options{MaxMessage: 1 << 20}, s.serve(Remote{}))
	p.initialize("2025-06-18", `{}`)
	for _, tt := range []struct{ method, want string }{
		{"500", "HTTP status 500"}, {"error", `"message":"mistake"`}, {"elsewhere", "another address"}, {"large", "larger than the limit"}, {"large event", "larger than the limit"},
		{"text", "not a message"}, {"other id", "not a message"}, {"401", "sign-in"}, {"gone", "does not know the session"},
	} {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q}`, tt.method, tt.method))
		line := p.line()
		require.Contains(t, line, tt.want)
		require.Contains(t, line, fmt.Sprintf(`"id":%q`, tt.method))
		require.NotContains(t, line, "secret")
	}
	require.ErrorContains(t, p.ended(), "does not know the session")

	s.Close()
	p = connect(t, Options{}, s.serve(Remote{}))
	p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	require.Contains(t, p.line(), "refused")
	require.NoError(t, p.end())
	require.Error(t, RunRemote(t.Context(), Options{}, Remote{URL: "ftp://x"}, strings.NewReader(""), io.Discard))
}

// signIn is a handler whose token is valid after one sign-in.
type signIn struct {
	mu    sync.Mutex
	token string
}

func (s *signIn) TokenSource(context.Context) (oauth2.TokenSource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" {
		return nil, nil //nolint:nilnil // as the interface permits
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: s.token}), nil
}

func (s *signIn) Authorize(_ context.Context, _ *http.Request, _ *http.Response) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = "good"
	return nil
}

// A refused request is sent again with the token that the sign-in obtains.
func TestRemoteSignIn(t *testing.T) {
	s := newRemote(t, func(w http.ResponseWriter, q *http.Request, m *message) {
		switch {
		case m == nil || !m.isRequest():
		case q.Header.Get("Authorization") != "Bearer good":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			answerJSON(w, string(result(m.id, "in")))
		}
	})
	p := connect(t, Options{}, s.serve(Remote{Auth: &signIn{}}))
	p.initialize("2025-06-18", `{}`)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
	require.Contains(t, p.line(), `"in"`)
	require.NoError(t, p.end())
}

// From the revision 2026-07-28 on, headers repeat parts of a message.
func TestMirroredHeaders(t *testing.T) {
	got := make(chan http.Header, 10)
	s := newRemote(t, func(w http.ResponseWriter, q *http.Request, m *message) {
		got <- q.Header
		if m.method == methodTools {
			answerJSON(w, string(result(m.id, json.RawMessage(`{"tools":[{"name":"read","inputSchema":{"type":"object","properties":{
				"region":{"type":"string","x-mcp-header":"Region"},"deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"gone":{"type":"string","x-mcp-header":"Gone"},"bad":{"x-mcp-header":"a b"}}}}]}`))))
			return
		}
		answerJSON(w, string(result(m.id, map[string]any{})))
	})
	p := connect(t, Options{Grants: all}, s.serve(Remote{}))
	send := func(method, params string) http.Header {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, method, params))
		p.line()
		return <-got
	}
	h := send("tools/list", "")
	require.Equal(t, []string{"tools/list", "", "2026-07-28", ""}, []string{h.Get("Mcp-Method"), h.Get("Mcp-Name"), h.Get("Mcp-Protocol-Version"), h.Get("Mcp-Session-Id")})
	h = send("tools/call", `"name":"read","arguments":{"region":"Köln","deep":{"n":7},"bad":"x"},`)
	require.Equal(t, []string{"tools/call", "read", "=?base64?S8O2bG4=?=", "7", ""}, []string{h.Get("Mcp-Method"), h.Get("Mcp-Name"), h.Get("Mcp-Param-Region"), h.Get("Mcp-Param-N"), h.Get("Mcp-Param-Gone")})
	h = send("resources/read", `"uri":"file:///a",`)
	require.Equal(t, "file:///a", h.Get("Mcp-Name"))
	h = send("prompts/get", `"name":"p",`)
	require.Equal(t, "p", h.Get("Mcp-Name"))
	require.NoError(t, p.end())
}

// The client's cancellation reaches the server and closes the response.
func TestRemoteCancel(t *testing.T) {
	closed, told := make(chan struct{}), make(chan string, 1)
	s := newRemote(t, func(w http.ResponseWriter, q *http.Request, m *message) {
		switch {
		case m == nil || m.method == methodInitialized:
		case m.method == "wait":
			begin(w)
			event(w, `data: {"jsonrpc":"2.0","method":"begun"}`)
			<-q.Context().Done()
			close(closed)
		case m.method == methodCancelled:
			told <- string(m.raw)
		}
	})
	p := connect(t, Options{}, s.serve(Remote{}))
	p.initialize("2025-06-18", `{}`)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"wait"}`)
	require.Contains(t, p.line(), "begun")
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	require.Contains(t, <-told, "cancelled")
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("the response is still open")
	}
	require.NoError(t, p.end())
}

// FD-03: a thousand concurrent calls over HTTP each receive their own answer.
func TestRemoteConcurrentCalls(t *testing.T) {
	const calls = 1000
	s := newRemote(t, func(w http.ResponseWriter, _ *http.Request, m *message) {
		if m != nil && m.isRequest() {
			answerJSON(w, echo(m))
		}
	})
	p := connect(t, Options{Grants: all}, s.serve(Remote{}))
	go func() {
		for i := range calls {
			_, _ = io.WriteString(p.in, toolCall(i, "echo", fmt.Sprintf(`{"n":%d}`, i))+"\n")
		}
	}()
	seen := map[float64]bool{}
	for range calls {
		m := p.message()
		require.NotContains(t, m, "error")
		id := m["id"].(float64)
		require.False(t, seen[id])
		seen[id] = true
		require.Contains(t, fmt.Sprint(m["result"]), fmt.Sprintf(`{"n":%v}`, id))
	}
	require.NoError(t, p.end())
}
