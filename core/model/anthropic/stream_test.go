package anthropic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model"
)

// canned is a transport that answers each request with the body that it returns.
type canned struct{ body func() io.ReadCloser }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, Body: c.body(),
		Header: http.Header{"Content-Type": {"text/event-stream"}},
	}, nil
}

// pieces is a body that is read in exactly these pieces, and then fails with err.
type pieces struct {
	left [][]byte
	err  error
}

func (p *pieces) Read(b []byte) (int, error) {
	for len(p.left) > 0 && len(p.left[0]) == 0 {
		p.left = p.left[1:]
	}
	if len(p.left) == 0 {
		return 0, p.err
	}
	n := copy(b, p.left[0])
	p.left[0] = p.left[0][n:]
	return n, nil
}

func (p *pieces) Close() error { return nil }

func cannedGenerator(t *testing.T, body func() io.ReadCloser) model.Generator {
	t.Helper()
	g, err := New(Options{APIKey: testKey, BaseURL: "http://api.test", HTTPClient: &http.Client{Transport: canned{body}}})
	require.NoError(t, err)
	return g
}

func TestWholeAnswer(t *testing.T) {
	a := newAPI(t, stream(fullAnswer()))
	g := newGenerator(t, a.URL)
	got, err := g.Generate(t.Context(), hello())
	require.NoError(t, err)
	require.Equal(t, fullResponse(), got)

	r := a.last(t)
	require.Equal(t, "/v1/messages", r.path)
	require.Equal(t, testKey, r.header.Get("X-Api-Key"))
	require.Equal(t, "2023-06-01", r.header.Get("Anthropic-Version"))
	require.Equal(t, true, r.body["stream"])
	require.EqualValues(t, 128_000, r.body["max_tokens"])
}

// A call is one chunk; texts arrive as they are sent.
func TestChunks(t *testing.T) {
	g := newGenerator(t, newAPI(t, stream(fullAnswer())).URL)
	var texts, thoughts []string
	var calls int
	var finishes []model.FinishReason
	for chunk, err := range g.Stream(t.Context(), hello()) {
		require.NoError(t, err)
		for _, p := range chunk.Parts {
			switch {
			case p.Call != nil:
				calls++
				require.NotEmpty(t, p.Call.ID)
			case p.Thought && p.Text != "":
				thoughts = append(thoughts, p.Text)
			case p.Text != "":
				texts = append(texts, p.Text)
			}
		}
		if chunk.Finish != "" {
			finishes = append(finishes, chunk.Finish)
		}
	}
	require.Equal(t, []string{"I read ", "größe — 日本 😀", " now."}, texts)
	require.Equal(t, []string{"Let me ", "think: ä日😀"}, thoughts)
	require.Equal(t, 2, calls)
	require.Equal(t, []model.FinishReason{model.FinishStop}, finishes)
}

// A stream that is split at any byte, also within a rune, gives the same response.
func TestSplitAnywhere(t *testing.T) {
	whole := []byte(fullAnswer())
	want := fullResponse()
	every := 5
	if os.Getenv("FETTLE_FULL") != "" {
		every = 1
	}
	for i := 0; i <= len(whole); i += every {
		g := cannedGenerator(t, func() io.ReadCloser {
			return &pieces{left: [][]byte{bytes.Clone(whole[:i]), bytes.Clone(whole[i:])}, err: io.EOF}
		})
		got, err := g.Generate(t.Context(), hello())
		require.NoError(t, err, "split at %d", i)
		require.Equal(t, want, got, "split at %d", i)
	}
	single := cannedGenerator(t, func() io.ReadCloser {
		p := &pieces{err: io.EOF}
		for _, b := range whole {
			p.left = append(p.left, []byte{b})
		}
		return p
	})
	got, err := single.Generate(t.Context(), hello())
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Other line endings are accepted.
func TestCarriageReturns(t *testing.T) {
	g := newGenerator(t, newAPI(t, stream(": a comment\r\n\r\n"+strings.ReplaceAll(fullAnswer(), "\n", "\r\n"))).URL)
	got, err := g.Generate(t.Context(), hello())
	require.NoError(t, err)
	require.Equal(t, fullResponse(), got)
}

// A response that is cut at any byte is an error of kind connection, whether the connection breaks
// or ends. No incomplete call is passed on. Only the empty line after the final event may be absent.
func TestCutAnywhere(t *testing.T) {
	whole := []byte(fullAnswer())
	end := bytes.LastIndex(whole, []byte("\n\n")) + 2
	require.Len(t, whole, end)
	for name, how := range map[string]error{"breaks": io.ErrUnexpectedEOF, "ends": io.EOF, "reset": &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}} {
		every := 5
		if os.Getenv("FETTLE_FULL") != "" {
			every = 1
		}
		t.Run(name, func(t *testing.T) {
			for i := range len(whole) - len("\n\n") {
				// Only the plain end after a line could look like a complete response.
				if i%every != 0 && (how != io.EOF || whole[i-1] != '\n') {
					continue
				}
				g := cannedGenerator(t, func() io.ReadCloser { return &pieces{left: [][]byte{bytes.Clone(whole[:i])}, err: how} })
				var last error
				for chunk, err := range g.Stream(t.Context(), hello()) {
					require.NoError(t, last, "an error is the last element")
					last = err
					if err != nil {
						require.Nil(t, chunk)
						continue
					}
					for _, p := range chunk.Parts {
						if p.Call != nil {
							require.Contains(t, []string{exactArgs, secondArgs}, string(p.Call.Args), "cut at %d", i)
						}
					}
				}
				var e *model.Error
				require.ErrorAs(t, last, &e, "cut at %d", i)
				require.Equal(t, model.Connection, e.Kind, "cut at %d: %v", i, e)
				require.True(t, e.Kind.Retryable())
			}
		})
	}
}

// The same over a real connection that the server closes.
func TestCutConnection(t *testing.T) {
	whole := fullAnswer()
	for _, chunked := range []bool{true, false} {
		var at int
		a := newAPI(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			defer conn.Close() //nolint:errcheck // the test closes it
			head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
			if chunked {
				fmt.Fprintf(rw, "%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", head, len(whole), whole[:at])
			} else {
				fmt.Fprintf(rw, "%sConnection: close\r\n\r\n%s", head, whole[:at])
			}
			_ = rw.Flush()
		})
		g := newGenerator(t, a.URL)
		for at = 0; at < len(whole); at += 97 {
			_, err := g.Generate(t.Context(), hello())
			var e *model.Error
			require.ErrorAs(t, err, &e, "cut at %d", at)
			require.Equal(t, model.Connection, e.Kind, "cut at %d: %v", at, e)
		}
	}
}

func TestBadEvents(t *testing.T) {
	tests := map[string]struct {
		events string
		kind   model.ErrorKind
	}{
		"broken JSON":         {"event: message_start\ndata: {\"type\":\"message_sta\n\n", model.BadAnswer},
		"piece of no part":    {sse(started, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`, stopped), model.BadAnswer},
		"end of no part":      {sse(started, `{"type":"content_block_stop","index":3}`, stopped), model.BadAnswer},
		"part within a part":  {sse(append(append([]string{started}, textBlock(0)[:1]...), textBlock(1)...)...), model.BadAnswer},
		"end within a part":   {sse(append(append([]string{started}, callBlock(0, "a", "t", `{"a":1}`)[:3]...), stopped)...), model.BadAnswer},
		"call without a name": {sse(append([]string{started}, callBlock(0, "a", "", "{}")...)...), model.BadAnswer},
		"nothing":             {"", model.Connection},
		"overloaded":          {sse(append(append([]string{started}, textBlock(0, "Hal")[:2]...), `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)...), model.Unavailable},
		"api error":           {sse(started, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`), model.Unavailable},
		"unknown error":       {sse(started, `{"type":"error","error":{"type":"new_error","message":"?"}}`), model.Unavailable},
		"rate limit":          {sse(started, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`), model.RateLimited},
		"refused in midst":    {sse(started, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`), model.InvalidRequest},
		"error without JSON":  {"event: error\ndata: upstream broke\n\n", model.Unavailable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := newGenerator(t, newAPI(t, stream(tt.events)).URL).Generate(t.Context(), hello())
			require.Nil(t, r)
			var e *model.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tt.kind, e.Kind, "%v", e)
			require.Zero(t, e.Status, "an error within a stream has no status")
			require.Equal(t, Provider, e.Provider)
			require.NotEmpty(t, e.Message)
		})
	}
}

// A response of another content type is not a broken connection.
func TestWebPage(t *testing.T) {
	for _, kind := range []string{"text/html; charset=utf-8", "application/json", ""} {
		_, err := newGenerator(t, newAPI(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{kind}
			_, _ = io.WriteString(w, "<html>\n\nSign in</html>\n")
		}).URL).Generate(t.Context(), hello())
		var e *model.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, model.BadAnswer, e.Kind, "%v", e)
		require.Contains(t, e.Message, "base URL")
	}
}

// Every response of a server ends, and is a success only if it is marked as complete.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(fullAnswer()))
	f.Add([]byte(sse(started, stopped)))
	f.Add([]byte(stopped)) // an object without the form of an event
	f.Add([]byte("event: error\ndata: {\"error\":[]}\n\n"))
	f.Add([]byte("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":-1,\"content_block\":null}\n\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		g, err := New(Options{BaseURL: "http://api.test", HTTPClient: &http.Client{
			Transport: canned{func() io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }},
		}})
		require.NoError(t, err)
		r, err := g.Generate(t.Context(), hello())
		if err == nil {
			if !bytes.Contains(body, []byte(`\u`)) { // which may hide the name
				require.Contains(t, string(body), "message_stop")
			}
			for _, c := range r.Content.Calls() {
				require.NotEmpty(t, c.ID)
				require.NotEmpty(t, c.Name)
			}
			return
		}
		var e *model.Error
		require.ErrorAs(t, err, &e)
		require.NotEmpty(t, e.Kind)
	})
}

// Unknown event types are ignored.
func TestUnknownEvents(t *testing.T) {
	body := sse(concat([]string{
		started, `{"type":"new_event","x":[1]}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","x":1}}`,
		`{"type":"content_block_stop","index":0}`,
	}, textBlock(1, "ok"), []string{endTurn, stopped})...)
	r, err := newGenerator(t, newAPI(t, stream(body)).URL).Generate(t.Context(), hello())
	require.NoError(t, err)
	require.Equal(t, []model.Part{{Text: "ok"}}, r.Content.Parts)
}

func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]model.FinishReason{
		`"end_turn"`: model.FinishStop, `"tool_use"`: model.FinishStop, `"stop_sequence"`: model.FinishStop,
		`"max_tokens"`: model.FinishMaxTokens, `"model_context_window_exceeded"`: model.FinishMaxTokens,
		`"refusal"`: model.FinishSafety, `"pause_turn"`: model.FinishOther, `"new"`: model.FinishOther, `null`: "",
	} {
		body := sse(concat([]string{started}, textBlock(0, "a"), []string{
			`{"type":"message_delta","delta":{"stop_reason":` + reason + `},"usage":{"output_tokens":2}}`, stopped,
		})...)
		r, err := newGenerator(t, newAPI(t, stream(body)).URL).Generate(t.Context(), hello())
		require.NoError(t, err, reason)
		require.Equal(t, want, r.Finish, reason)
	}
}

// Calls keep their arguments: exact numbers, the input in the start event if no piece follows,
// empty input, and input that is cut by max_tokens.
func TestCallArguments(t *testing.T) {
	start := func(input string) string {
		return `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"","name":"t","input":` + input + `}}`
	}
	delta := func(piece string) string {
		return fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":%q}}`, piece)
	}
	tests := map[string]struct {
		events []string
		want   string
	}{
		"pieces":                      {[]string{start("{}"), delta(`{"n":90071992547`), delta(`40993}`)}, `{"n":9007199254740993}`},
		"complete in the start event": {[]string{start(`{"n":9007199254740993}`)}, `{"n":9007199254740993}`},
		"none":                        {[]string{start("{}")}, `{}`},
		"empty pieces":                {[]string{start("{}"), delta("")}, `{}`},
		"cut":                         {[]string{start("{}"), delta(`{"path":"a`)}, `{"path":"a`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			body := sse(concat([]string{started}, tt.events, []string{`{"type":"content_block_stop","index":0}`, endTools, stopped})...)
			r, err := newGenerator(t, newAPI(t, stream(body)).URL).Generate(t.Context(), hello())
			require.NoError(t, err)
			require.Len(t, r.Content.Parts, 1)
			require.Equal(t, tt.want, string(r.Content.Parts[0].Call.Args))
			require.NotEmpty(t, r.Content.Parts[0].Call.ID, "a call without an ID gets one")
		})
	}
}

func TestCitations(t *testing.T) {
	body := sse(concat([]string{started}, textBlock(0, "a")[:2], []string{
		`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://example.com/a","title":"A","cited_text":"x","encrypted_index":"y"}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"char_location","document_title":"notes.txt","document_index":0,"cited_text":"x","start_char_index":0,"end_char_index":1}}}`,
		`{"type":"content_block_stop","index":0}`, endTurn, stopped,
	})...)
	r, err := newGenerator(t, newAPI(t, stream(body)).URL).Generate(t.Context(), hello())
	require.NoError(t, err)
	require.Equal(t, []string{"https://example.com/a", "notes.txt"}, r.Citations)
}

// hanging sends the beginning of a response and then nothing until the client disconnects, which it
// reports on gone.
func hanging(gone chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sse(append([]string{started}, textBlock(0, "Hal", "lo")[:2]...)...))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	}
}

func TestCancelInMidstream(t *testing.T) {
	gone := make(chan struct{}, 1)
	g := newGenerator(t, newAPI(t, hanging(gone)).URL)
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for chunk, err := range g.Stream(ctx, hello()) {
		last = err
		if err == nil && len(chunk.Parts) > 0 {
			cancel()
		}
	}
	var e *model.Error
	require.ErrorAs(t, last, &e)
	require.Equal(t, model.Canceled, e.Kind)
	require.ErrorIs(t, last, context.Canceled)
	<-gone
	settle(t, before)
}

func TestCancelBeforeAnswer(t *testing.T) {
	arrived := make(chan struct{})
	a := newAPI(t, func(_ http.ResponseWriter, r *http.Request) { close(arrived); <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := newGenerator(t, a.URL).Generate(ctx, hello())
	var e *model.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, model.Canceled, e.Kind)
}

func TestLeavingEarlyFreesTheConnection(t *testing.T) {
	gone := make(chan struct{}, 1)
	g := newGenerator(t, newAPI(t, hanging(gone)).URL)
	before := runtime.NumGoroutine()
	for chunk, err := range g.Stream(t.Context(), hello()) {
		require.NoError(t, err)
		if len(chunk.Parts) > 0 {
			break
		}
	}
	<-gone
	settle(t, before)
}

// settle waits until no more goroutines are left than before; those of the server's connections end
// a moment later.
func settle(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("goroutines are left:\n%s", stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// Ranging sends the request; Stream does not.
func TestStreamIsLazy(t *testing.T) {
	a := newAPI(t, stream(fullAnswer()))
	_ = newGenerator(t, a.URL).Stream(t.Context(), hello())
	a.mu.Lock()
	defer a.mu.Unlock()
	require.Empty(t, a.requests)
}

func TestManyAtOnce(t *testing.T) {
	g := newGenerator(t, newAPI(t, stream(fullAnswer())).URL)
	var wg sync.WaitGroup
	results := make([]*model.Response, 40)
	errs := make([]error, len(results))
	for i := range results {
		wg.Go(func() { results[i], errs[i] = g.Generate(t.Context(), hello()) })
	}
	wg.Wait()
	for i, r := range results {
		require.NoError(t, errs[i])
		require.Equal(t, fullResponse(), r)
	}
}
