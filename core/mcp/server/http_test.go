package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/mcp/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// web is a server over HTTP for hand-written requests.
type web struct {
	t    *testing.T
	url  string
	s    *server.Server
	shop *shop
	c    *http.Client
}

func serveWeb(t *testing.T, o server.HTTPOptions, more ...func(*server.Options)) *web {
	t.Helper()
	w := &web{t: t, shop: newShop(), c: &http.Client{Transport: &http.Transport{}}}
	so := options(w.shop)
	for _, m := range more {
		m(&so)
	}
	w.s = server.New(so)
	h := httptest.NewServer(w.s.Handler(o))
	w.url = h.URL + server.Path
	t.Cleanup(func() {
		require.NoError(t, w.s.Close())
		w.c.CloseIdleConnections()
		h.Close()
		require.Equal(t, w.shop.opened.Load(), w.shop.closed.Load(), "each Service is closed once")
	})
	return w
}

// send makes a request; headers are "Name: value".
func (w *web) send(ctx context.Context, method, body string, headers ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, w.url, strings.NewReader(body))
	require.NoError(w.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch name {
		case "Host":
			r.Host = value
		case "Content-Type":
			r.Header.Set(name, value)
		default:
			r.Header.Add(name, value)
		}
	}
	return w.c.Do(r)
}

// do makes a request and returns its status and complete body.
func (w *web) do(method, body string, headers ...string) (*http.Response, string) {
	w.t.Helper()
	res, err := w.send(w.t.Context(), method, body, headers...)
	require.NoError(w.t, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	require.NoError(w.t, err)
	return res, string(b)
}

// begin begins a session and returns the header that identifies it.
func (w *web) begin(headers ...string) string {
	w.t.Helper()
	res, body := w.do("POST", hello, headers...)
	require.Equal(w.t, 200, res.StatusCode, body)
	id := res.Header.Get("Mcp-Session-Id")
	require.NotEmpty(w.t, id)
	return "Mcp-Session-Id: " + id
}

func call(id int, tool string) string {
	return request(id, "tools/call", fmt.Sprintf(`{"name":%q}`, tool))
}

// EX-20: no page in a browser reaches the server, by whatever name.
func TestHostAndOrigin(t *testing.T) {
	w := serveWeb(t, server.HTTPOptions{Hosts: []string{"tools.example", "other.example:8080"}, Origins: []string{"https://app.example"}})
	for name, tt := range map[string]struct {
		headers []string
		want    int
	}{
		"loopback by address":     {[]string{"Host: 127.0.0.1:99"}, 200},
		"all of 127":              {[]string{"Host: 127.3.2.1"}, 200},
		"IPv6":                    {[]string{"Host: [::1]:80"}, 200},
		"IPv6, no port":           {[]string{"Host: [::1]"}, 200},
		"IPv4 as IPv6":            {[]string{"Host: [::ffff:127.0.0.1]:80"}, 200},
		"localhost":               {[]string{"Host: LocalHost:1234"}, 200},
		"allowed":                 {[]string{"Host: Tools.example:1"}, 200},
		"allowed with port":       {[]string{"Host: other.example:8080"}, 200},
		"wrong port":              {[]string{"Host: other.example:8081"}, 403},
		"rebound":                 {[]string{"Host: evil.example"}, 403},
		"rebound, prefix":         {[]string{"Host: localhost.evil.example"}, 403},
		"rebound, address prefix": {[]string{"Host: 127.0.0.1.evil.example"}, 403},
		"rebound, nip":            {[]string{"Host: 127.0.0.1.nip.io:80"}, 403},
		"subdomain of localhost":  {[]string{"Host: evil.localhost"}, 403},
		"any address":             {[]string{"Host: 0.0.0.0:80"}, 403},
		"private":                 {[]string{"Host: 192.168.0.1"}, 403},
		"decimal":                 {[]string{"Host: 2130706433"}, 403},
		"own origin":              {[]string{"Origin: http://127.0.0.1:5000"}, 200},
		"IPv6 origin":             {[]string{"Origin: http://[::1]:5000"}, 200},
		"local https origin":      {[]string{"Origin: https://localhost"}, 200},
		"allowed origin":          {[]string{"Origin: https://app.example"}, 200},
		"its http":                {[]string{"Origin: http://app.example"}, 403},
		"foreign origin":          {[]string{"Origin: http://evil.example"}, 403},
		"null":                    {[]string{"Origin: null"}, 403},
		"empty":                   {[]string{"Origin: "}, 403},
		"user in origin":          {[]string{"Origin: http://localhost@evil.example"}, 403},
		"user at localhost":       {[]string{"Origin: http://evil@localhost"}, 403},
		"path in origin":          {[]string{"Origin: http://localhost/x"}, 403},
		"file":                    {[]string{"Origin: file://localhost"}, 403},
		"extension":               {[]string{"Origin: chrome-extension://localhost"}, 403},
		"two origins":             {[]string{"Origin: http://localhost", "Origin: http://evil.example"}, 403},
		"rebound with own origin": {[]string{"Host: evil.example", "Origin: http://evil.example"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			res, _ := w.do("POST", hello, tt.headers...)
			require.Equal(t, tt.want, res.StatusCode)
			require.Empty(t, res.Header.Get("Access-Control-Allow-Origin"), "CORS is not offered")
		})
	}
	before := w.shop.opened.Load()
	res, _ := w.do("OPTIONS", "", "Origin: http://localhost", "Access-Control-Request-Method: POST")
	require.Equal(t, 405, res.StatusCode)
	require.Empty(t, res.Header.Get("Access-Control-Allow-Methods"))
	require.Equal(t, before, w.shop.opened.Load())
}

// EX-20: a request without a known token is refused, and the answer repeats no
// token.
func TestToken(t *testing.T) {
	w := serveWeb(t, server.HTTPOptions{Tokens: []string{"first-secret", "second-secret", ""}})
	for name, tt := range map[string]struct {
		header, challenge string
	}{
		"none":         {"X: y", `Bearer realm="mcp"`},
		"wrong":        {"Authorization: Bearer first-secre", `Bearer realm="mcp", error="invalid_token"`},
		"empty":        {"Authorization: Bearer ", `Bearer realm="mcp", error="invalid_token"`},
		"other scheme": {"Authorization: Basic first-secret", `Bearer realm="mcp", error="invalid_token"`},
	} {
		t.Run(name, func(t *testing.T) {
			res, body := w.do("POST", hello, tt.header)
			require.Equal(t, 401, res.StatusCode)
			require.Equal(t, tt.challenge, res.Header.Get("WWW-Authenticate"))
			require.NotContains(t, body, "secre-")
			require.NotContains(t, body, "first-secre")
		})
	}
	require.Zero(t, w.shop.opened.Load())

	first, second := "Authorization: Bearer first-secret", "Authorization: bearer second-secret"
	session := w.begin(first)
	for _, method := range []string{"POST", "GET", "DELETE"} {
		res, _ := w.do(method, call(2, "count"), second, session)
		require.Equal(t, 404, res.StatusCode, "a session belongs to its token: %s", method)
	}
	res, body := w.do("POST", call(2, "count"), first, session)
	require.Equal(t, 200, res.StatusCode)
	require.Contains(t, body, `"text":"1"`)
}

// EX-20: a session ends by DELETE, whatever runs in it.
func TestDelete(t *testing.T) {
	w := serveWeb(t, server.HTTPOptions{})
	session := w.begin()
	go func() { // its answer is lost
		if res, err := w.send(context.WithoutCancel(t.Context()), "POST", call(2, "block"), session); err == nil {
			_ = res.Body.Close()
		}
	}()
	w.shop.begun(t)
	res, _ := w.do("DELETE", "", session)
	require.Equal(t, 204, res.StatusCode)
	require.EqualValues(t, 1, w.shop.cancelled.Load())
	require.EqualValues(t, 1, w.shop.closed.Load())
	for _, method := range []string{"POST", "GET", "DELETE"} {
		res, _ = w.do(method, call(3, "count"), session)
		require.Equal(t, 404, res.StatusCode)
	}
}

// EX-20: a session keeps its negotiated revision, whatever a request claims; an
// unknown revision is refused.
func TestRevisionOfASession(t *testing.T) {
	w := serveWeb(t, server.HTTPOptions{})
	session := w.begin()
	for revision, want := range map[string]int{"": 200, "2025-03-26": 200, "2025-11-25": 200, "1999-01-01": 400, "nonsense": 400} {
		res, body := w.do("POST", request(2, "ping", "{}"), session, "Mcp-Protocol-Version: "+revision)
		require.Equal(t, want, res.StatusCode, "%q: %s", revision, body)
		if want == 200 {
			require.Contains(t, body, "event: prime", "a revision in which streams can be taken up again")
		}
	}
}

// EX-20: a client that sends an unfinished request occupies no place.
func TestUnfinishedBodies(t *testing.T) {
	for name, o := range map[string]server.HTTPOptions{"session": {Sessions: 1}, "stateless": {Sessions: 1, Stateless: true}} {
		t.Run(name, func(t *testing.T) {
			shop := newShop()
			s := server.New(options(shop))
			h := s.Handler(o)
			reading, rest := make(chan struct{}), make(chan struct{})
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				h.ServeHTTP(httptest.NewRecorder(), posted(t.Context(), body(func([]byte) (int, error) {
					close(reading)
					<-rest
					return 0, io.ErrUnexpectedEOF
				})))
			}()
			<-reading
			w := httptest.NewRecorder()
			h.ServeHTTP(w, posted(t.Context(), strings.NewReader(hello)))
			require.Equal(t, 200, w.Code, w.Body)
			close(rest)
			<-answered
			require.NoError(t, s.Close())
		})
	}
}

// body is a reader made of a function.
type body func([]byte) (int, error)

func (b body) Read(p []byte) (int, error) { return b(p) }

func posted(ctx context.Context, body io.Reader) *http.Request {
	r := httptest.NewRequestWithContext(ctx, "POST", server.Path, body)
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}

// EX-20: a client that disconnects while its session begins leaves nothing
// behind.
func TestHangUpWhileBeginning(t *testing.T) {
	shop := newShop()
	o := options(shop)
	open, watching, release := o.Open, make(chan struct{}, 1), make(chan struct{})
	o.Open = func(ctx context.Context, c server.Client) (*mcpservice.Service, error) {
		svc, err := open(ctx, c)
		watch := svc.Watch
		svc.Watch = func(changed func(mcp.Change)) func() {
			watching <- struct{}{}
			<-release
			return watch(changed)
		}
		return svc, err
	}
	s := server.New(o)
	h := s.Handler(server.HTTPOptions{Sessions: 1})
	ctx, hangUp := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		h.ServeHTTP(httptest.NewRecorder(), posted(ctx, strings.NewReader(hello)))
	}()
	<-watching
	hangUp()
	settled(t, "over", func() bool { return server.Places(h) == 0 })
	close(release)
	<-answered
	settled(t, "closed", func() bool { return shop.closed.Load() == 1 })
	require.Zero(t, server.Sessions(h))
	require.NoError(t, s.Close())
}

// EX-20: sessions beyond the limit receive an answer to retry later.
func TestSessionLimit(t *testing.T) {
	w := serveWeb(t, server.HTTPOptions{Sessions: 2})
	first := w.begin()
	w.begin()
	res, _ := w.do("POST", hello)
	require.Equal(t, 503, res.StatusCode)
	require.NotEmpty(t, res.Header.Get("Retry-After"))
	res, _ = w.do("POST", call(2, "count"), first)
	require.Equal(t, 200, res.StatusCode)
	_, _ = w.do("DELETE", "", first)
	w.begin()
	require.EqualValues(t, 3, w.shop.opened.Load())
}

// EX-20: requests that do not begin a session leave nothing behind.
func TestRequestsOutsideASession(t *testing.T) {
	w := serveWeb(t, server.HTTPOptions{Sessions: 1}, func(o *server.Options) { o.RequestBytes = 1 << 20 })
	for name, tt := range map[string]struct {
		method, body string
		headers      []string
		want         int
	}{
		"no JSON":            {"POST", "{", nil, 400},
		"empty":              {"POST", "", nil, 400},
		"a giant":            {"POST", `{"x":"` + strings.Repeat("x", 2<<20) + `"}`, nil, 413},
		"wrong version":      {"POST", hello, []string{"Mcp-Protocol-Version: 1999-01-01"}, 400},
		"no session":         {"GET", "", nil, 400},
		"nothing to delete":  {"DELETE", "", nil, 400},
		"unknown session":    {"POST", hello, []string{"Mcp-Session-Id: nobody"}, 404},
		"none of JSON-RPC":   {"POST", `{"hello":1}`, nil, 400},
		"put":                {"PUT", hello, nil, 405},
		"of another type":    {"POST", hello, []string{"Content-Type: text/plain"}, 415},
		"of no type":         {"POST", hello, []string{"Content-Type: "}, 415},
		"a batch":            {"POST", "[" + strings.TrimSpace(request(2, "ping", "{}")) + "]", []string{"Mcp-Protocol-Version: 2025-11-25"}, 400},
		"before initialize":  {"POST", call(1, "count"), nil, 400},
		"of 2026 in session": {"POST", modernCall(1, "count", ""), []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: count"}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			res, body := w.do(tt.method, tt.body, tt.headers...)
			require.Equal(t, tt.want, res.StatusCode, body)
			if id := res.Header.Get("Mcp-Session-Id"); id != "" {
				_, _ = w.do("DELETE", "", "Mcp-Session-Id: "+id)
			}
		})
	}
	res, err := w.c.Post(strings.TrimSuffix(w.url, server.Path)+"/elsewhere", "application/json", strings.NewReader(hello))
	require.NoError(t, err)
	_ = res.Body.Close()
	require.Equal(t, 404, res.StatusCode)
	w.begin() // the only place is free
}

// EX-20: 100 clients of one server with separate state, of which nothing is left
// behind.
func TestHundredClients(t *testing.T) {
	w := serveWeb(t, server.HTTPOptions{})
	const clients, calls = 100, 5
	var wg sync.WaitGroup
	failures := make(chan string, clients*calls)
	stayed := make(chan *sdk.ClientSession, clients)
	for i := range clients {
		wg.Go(func() {
			cl := sdk.NewClient(&sdk.Implementation{Name: fmt.Sprint("client", i), Version: "1"}, nil)
			cs, err := cl.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: w.url, HTTPClient: w.c}, nil)
			if err != nil {
				failures <- err.Error()
				return
			}
			if want := fmt.Sprintf("Be gentle, client%d.", i); cs.InitializeResult().Instructions != want {
				failures <- cs.InitializeResult().Instructions
			}
			for n := 1; n <= calls; n++ {
				r, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "count"})
				if err != nil {
					failures <- err.Error()
				} else if got := r.Content[0].(*sdk.TextContent).Text; got != fmt.Sprint(n) {
					failures <- "another's state: " + got
				}
			}
			if i%2 != 0 {
				stayed <- cs
			} else if err := cs.Close(); err != nil {
				failures <- err.Error()
			}
		})
	}
	wg.Wait()
	close(stayed)
	close(failures)
	for f := range failures {
		require.Fail(t, f)
	}
	require.EqualValues(t, clients, w.shop.opened.Load(), "one Service a client")
	settled(t, "closed", func() bool { return w.shop.closed.Load() == clients/2 })
	w.shop.mu.Lock()
	ids := map[string]bool{}
	for _, c := range w.shop.clients {
		ids[c.Session] = true
	}
	w.shop.mu.Unlock()
	require.Len(t, ids, clients)
	require.NoError(t, w.s.Close())
	require.EqualValues(t, clients, w.shop.closed.Load())
	res, err := w.send(t.Context(), "POST", hello)
	require.NoError(t, err)
	_ = res.Body.Close()
	require.Equal(t, 503, res.StatusCode, "a closed server")
	for cs := range stayed {
		_ = cs.Close() // its session has already ended
	}
	w.c.CloseIdleConnections()
	var left string
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(left)
		}
	})
	settled(t, "goroutines", func() bool {
		stacks := make([]byte, 4<<20)
		left = ""
		for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(stack, "core/mcp/server.(*") || strings.Contains(stack, "go-sdk/") {
				left += stack + "\n\n"
			}
		}
		return left == ""
	})
}

// EX-20: a request that is not passed on is answered with a JSON-RPC error, and concerns no other one of its
// batch.
func TestRefusedOverHTTP(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	initialized := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	for name, tt := range map[string]struct {
		body   string
		status int
		want   []string // parts of the answer
	}{
		"more than one value":    {ping + ping, 400, []string{`"id":null`, "-32700"}},
		"text after the message": {ping + "x", 400, []string{`"id":null`, "-32700"}},
		"an empty batch":         {"[]", 400, []string{`"id":null`, "-32600"}},
		"a fraction as ID":       {strings.Replace(ping, "1", "1.5", 1), 400, []string{"-32600"}},
		"an ID of 2^53":          {`{"jsonrpc":"2.0","id":9007199254740992,"method":"ping"}`, 400, []string{`"id":9007199254740992,`, "-32600"}},
		"an ID of 24 digits":     {`{"jsonrpc":"2.0","id":100000000000000000000000,"method":"ping"}`, 400, []string{`"id":null`, "-32600"}},
		"no ID":                  {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, 400, []string{`"id":null`, "-32600"}},
		"the largest ID":         {`{"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}`, 200, []string{`"id":9007199254740991,"result":{}`}},
		"a wrong version":        {`{"jsonrpc":"1.0","id":"x","method":"ping"}`, 400, []string{`"id":"x"`, "-32600"}},
		"an unknown method":      {`{"jsonrpc":"2.0","id":1,"method":"tools/invent","params":{}}`, 200, []string{`"id":1,`, "-32601", "the requested method"}},
		"the method of refusals": {`{"jsonrpc":"2.0","id":1,"method":"the requested method","params":{"code":1,"message":"m"}}`, 200, []string{`"id":1,`, "-32601"}},
		"no parameters":          {`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, 200, []string{`"id":1,`, "-32602"}},
		"a notification with ID": {`{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`, 200, []string{`"id":1,`, "-32600"}},
		"an unknown level":       {`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}`, 200, []string{`"id":1,`, "-32602"}},
		"unknown notification":   {`{"jsonrpc":"2.0","method":"notifications/invented"}`, 202, nil},
		"a batch": {"[" + `{"jsonrpc":"2.0","method":"notifications/invented"},` + ping + `,{"jsonrpc":"2.0","id":2,"method":"tools/invent"},` + initialized + "]", 200,
			[]string{`"id":1,"result":{}`, `"id":2,"error":{"code":-32601`}},
	} {
		for kind, o := range map[string]server.HTTPOptions{"session": {}, "stateless": {Stateless: true}} {
			t.Run(name+", "+kind, func(t *testing.T) {
				w := serveWeb(t, o)
				headers := []string{"Mcp-Protocol-Version: 2025-03-26"}
				if !o.Stateless {
					res, _ := w.do("POST", strings.Replace(hello, "2025-11-25", "2025-03-26", 1))
					headers = append(headers, "Mcp-Session-Id: "+res.Header.Get("Mcp-Session-Id"))
				}
				res, body := w.do("POST", tt.body, headers...)
				require.Equal(t, tt.status, res.StatusCode, body)
				for _, part := range tt.want {
					require.Contains(t, body, part)
				}
			})
		}
	}
}
