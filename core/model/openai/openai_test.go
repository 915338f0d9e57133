package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wiretest"
	"github.com/fettle-dev/fettle/core/model/openai"
)

const key = "sk-test-key-0123456789"

// stream is a response in the form of OpenAI's own API, with text beyond ASCII, two calls in
// pieces, and a number that float64 cannot represent.
const stream = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}

data: {"id":"c1","model":"gpt-5","choices":[{"index":0,"delta":{"reasoning_content":"Think "},"finish_reason":null}]}

data: {"id":"c1","model":"gpt-5","choices":[{"index":0,"delta":{"reasoning_content":"hard"},"finish_reason":null}]}

data: {"id":"c1","model":"gpt-5","choices":[{"index":0,"delta":{"content":"Grüße, 世界 "},"finish_reason":null}]}

data: {"id":"c1","model":"gpt-5","choices":[{"index":0,"delta":{"content":"🙂<b>&"},"finish_reason":null}]}

data: {"id":"c1","model":"gpt-5","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"read_file","arguments":""}}]},"finish_reason":null}]}

data: {"id":"c1","model":"gpt-5","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"n\": 90071992"}}]},"finish_reason":null}]}

data: {"id":"c1","model":"gpt-5","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"glob","arguments":"{}"}}]},"finish_reason":null}]}

data: {"id":"c1","model":"gpt-5","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"54740993}"}}]},"finish_reason":null}]}

data: {"id":"c1","model":"gpt-5","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"c1","model":"gpt-5","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":39,"total_tokens":51,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":5}}}

data: [DONE]

`

var whole = &model.Response{
	ID: "c1", Model: "gpt-5", Finish: model.FinishStop,
	Content: model.Content{Role: model.RoleModel, Parts: []model.Part{
		{Text: "Think hard", Thought: true},
		{Text: "Grüße, 世界 🙂<b>&"},
		{Call: &model.FunctionCall{ID: "call_a", Name: "read_file", Args: json.RawMessage(`{"n": 9007199254740993}`)}},
		{Call: &model.FunctionCall{ID: "call_b", Name: "glob", Args: json.RawMessage(`{}`)}},
	}},
	Usage: model.Usage{Input: 12, Output: 34, Cached: 4, Thoughts: 5, Total: 51},
}

var asJSON = map[string]string{"Content-Type": "application/json"}

func newGenerator(t testing.TB, s *wiretest.Server) model.Generator {
	g, err := openai.New(openai.Options{APIKey: key, BaseURL: s.URL + "/v1", HTTPClient: s.Client()})
	require.NoError(t, err)
	return g
}

func ask(text string) *model.Request {
	return &model.Request{Model: "a-model", Contents: []model.Content{model.UserText(text)}}
}

func asError(t testing.TB, err error) *model.Error {
	var e *model.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "openai", e.Provider)
	require.NotContains(t, fmt.Sprintf("%v %+v %v", err, e, e.Fault().Error()), key)
	return e
}

func TestStream(t *testing.T) {
	for name, a := range map[string]wiretest.Answer{
		"at once":        {Body: stream},
		"byte by byte":   {Body: stream, Bytewise: true},
		"CRLF":           {Body: strings.ReplaceAll(stream, "\n", "\r\n")},
		"no blank lines": {Body: strings.ReplaceAll(stream, "\n\n", "\n")},
		"no space":       {Body: strings.ReplaceAll(stream, "data: ", "data:")},
		"no [DONE]":      {Body: strings.Replace(stream, "data: [DONE]\n\n", "", 1)},
		"comments":       {Body: ": PROCESSING\n\n" + strings.ReplaceAll(stream, "data: {", ": PROCESSING\n\nevent: message\ndata: {")},
		"an open end":    {Body: stream, Hang: true}, // nothing is read after [DONE]
		"a broken end":   {Body: stream, Cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := wiretest.Serve(t, a)
			r, err := model.Collect(newGenerator(t, s).Stream(t.Context(), ask("hi")))
			require.NoError(t, err)
			require.Equal(t, whole, r)
			require.Equal(t, "/v1/chat/completions", s.Last().Path)
			require.Equal(t, "Bearer "+key, s.Last().Header.Get("Authorization"))
			require.Len(t, s.Requests(), 1)
		})
	}
}

// The response is the same wherever the stream is split, also within a rune.
func TestStreamSplitAnywhere(t *testing.T) {
	for i := 0; i <= len(stream); i++ {
		g, err := openai.New(openai.Options{APIKey: key, HTTPClient: &http.Client{Transport: wiretest.Pieces{[]byte(stream[:i]), []byte(stream[i:])}}})
		require.NoError(t, err)
		r, err := model.Collect(g.Stream(t.Context(), ask("hi")))
		require.NoError(t, err, "at %d", i)
		require.Equal(t, whole, r, "at %d", i)
	}
}

// step returns n, or 1 if every position is to be tried.
func step(n int) int {
	if os.Getenv("FETTLE_FULL") == "1" {
		return 1
	}
	return n
}

// A connection that breaks anywhere is an error of kind connection, and no call is passed on.
func TestStreamCutAnywhere(t *testing.T) {
	for name, a := range map[string]wiretest.Answer{"broken": {Cut: true}, "looks like an end": {Unframed: true}} {
		t.Run(name, func(t *testing.T) {
			last := strings.Index(stream, `"finish_reason":"tool_calls"`)
			for i := 0; i <= last; i += step(11) {
				a.Body = stream[:i]
				s := wiretest.Serve(t, a)
				var got []model.Part
				var err error
				for chunk, e := range newGenerator(t, s).Stream(t.Context(), ask("hi")) {
					if err = e; chunk != nil {
						got = append(got, chunk.Parts...)
					}
				}
				require.Equal(t, model.Connection, asError(t, err).Kind, "at %d: %v", i, err)
				require.Empty(t, model.Content{Parts: got}.Calls(), "at %d", i)
				require.Len(t, s.Requests(), 1, "it is tried once")
			}
		})
	}
}

// A connection that breaks between the finish reason and the end may have lost the usage, and is an
// error too.
func TestStreamCutBeforeItsEnd(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Answer{Body: stream[:strings.Index(stream, `data: {"id":"c1","model":"gpt-5","choices":[],`)], Cut: true})
	_, err := model.Collect(newGenerator(t, s).Stream(t.Context(), ask("hi")))
	require.Equal(t, model.Connection, asError(t, err).Kind)
}

// In a response without a finish reason, a call with invalid arguments was cut: it must not run as
// a call without arguments. [DONE] does not make it complete.
func TestStreamCutWithinACall(t *testing.T) {
	for args, whole := range map[string]bool{``: false, `{\"n\": 1`: false, `{\"n\": 1}`: true, `{}`: true} {
		body := `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"` + args + `"}}]}}]}` + "\n\ndata: [DONE]\n\n"
		r, err := model.Collect(newGenerator(t, wiretest.Serve(t, wiretest.Answer{Body: body})).Stream(t.Context(), ask("hi")))
		if !whole {
			require.Equal(t, model.Connection, asError(t, err).Kind, args)
			continue
		}
		require.NoError(t, err, args)
		require.Len(t, r.Content.Calls(), 1)
	}
}

const answerBody = `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"reasoning":"hm",
  "tool_calls":[{"id":"call_a","type":"function","function":{"name":"t","arguments":"{\"n\":12345678901234567890}"}}]},"finish_reason":"tool_calls"}],
  "usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`

func TestGenerate(t *testing.T) {
	want := &model.Response{
		ID: "x", Model: "m", Finish: model.FinishStop, Usage: model.Usage{Input: 3, Output: 4, Total: 7},
		Content: model.Content{Role: model.RoleModel, Parts: []model.Part{
			{Text: "hm", Thought: true},
			{Call: &model.FunctionCall{ID: "call_a", Name: "t", Args: json.RawMessage(`{"n":12345678901234567890}`)}},
		}},
	}
	s := wiretest.Serve(t, wiretest.Answer{Body: answerBody, Header: asJSON})
	r, err := newGenerator(t, s).Generate(t.Context(), ask("hi"))
	require.NoError(t, err)
	require.Equal(t, want, r)
	require.Contains(t, string(s.Last().Body), `"stream":false`)

	// A server that does not stream sends the same response to a stream request.
	r, err = model.Collect(newGenerator(t, s).Stream(t.Context(), ask("hi")))
	require.NoError(t, err)
	require.Equal(t, want, r)
}

func TestGenerateCut(t *testing.T) {
	for i := 0; i < len(answerBody); i += 13 {
		for _, a := range []wiretest.Answer{{Cut: true}, {Unframed: true}} {
			a.Body, a.Header = answerBody[:i], asJSON
			_, err := newGenerator(t, wiretest.Serve(t, a)).Generate(t.Context(), ask("hi"))
			require.Equal(t, model.Connection, asError(t, err).Kind, "at %d: %v", i, err)
		}
	}
}

// deltas returns a stream of these deltas and a finish_reason.
func deltas(finish string, list ...string) string {
	var b strings.Builder
	for _, d := range list {
		b.WriteString(`data: {"choices":[{"delta":` + d + `}]}` + "\n\n")
	}
	b.WriteString(`data: {"choices":[{"delta":{},"finish_reason":` + finish + `}]}` + "\n\ndata: [DONE]\n\n")
	return b.String()
}

// Servers write the pieces of a call differently.
func TestCallsOfManyServers(t *testing.T) {
	type call struct{ ID, Name, Args string }
	tests := map[string]struct {
		finish string
		deltas []string
		want   []call // an ID of "?" is a generated one
	}{
		"in one piece":           {`"tool_calls"`, []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{\"x\":1}"}}]}`}, []call{{"a", "t", `{"x":1}`}}},
		"no index":               {`"tool_calls"`, []string{`{"tool_calls":[{"id":"a","function":{"name":"t","arguments":"{\"x\""}}]}`, `{"tool_calls":[{"function":{"arguments":":1}"}}]}`, `{"tool_calls":[{"id":"b","function":{"name":"t","arguments":"{}"}}]}`}, []call{{"a", "t", `{"x":1}`}, {"b", "t", `{}`}}},
		"no ID and no index":     {`"stop"`, []string{`{"tool_calls":[{"function":{"name":"t","arguments":"{}"}},{"function":{"name":"t","arguments":"{}"}}]}`}, []call{{"?", "t", `{}`}, {"?", "t", `{}`}}},
		"every index 0":          {`"stop"`, []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}]}`, `{"tool_calls":[{"index":0,"id":"b","function":{"name":"u","arguments":"{}"}}]}`}, []call{{"a", "t", `{}`}, {"b", "u", `{}`}}},
		"a new ID each piece":    {`"stop"`, []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"t"}}]}`, `{"tool_calls":[{"index":0,"id":"b","function":{"arguments":"{}"}}]}`}, []call{{"a", "t", `{}`}}},
		"the name each piece":    {`"stop"`, []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{"}}]}`, `{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"}"}}]}`}, []call{{"a", "t", `{}`}}},
		"the name, nothing else": {`"stop"`, []string{`{"tool_calls":[{"function":{"name":"t","arguments":"{"}}]}`, `{"tool_calls":[{"function":{"name":"t","arguments":"}"}}]}`}, []call{{"?", "t", `{}`}}},
		"arguments as object":    {`"stop"`, []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":{"n":9007199254740993}}}]}`}, []call{{"a", "t", `{"n":9007199254740993}`}}},
		"no arguments":           {`"stop"`, []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"t"}}]}`}, []call{{"a", "t", ``}}},
		"null for everything":    {`"stop"`, []string{`{"content":null,"tool_calls":null,"function_call":null,"reasoning":null}`, `{"content":null,"tool_calls":[{"index":null,"id":null,"function":{"name":"t","arguments":null}}]}`}, []call{{"?", "t", ``}}},
		"the older form":         {`"function_call"`, []string{`{"function_call":{"name":"t","arguments":"{"}}`, `{"function_call":{"arguments":"}"}}`}, []call{{"?", "t", `{}`}}},
		"a number as ID":         {`"stop"`, []string{`{"tool_calls":[{"index":0,"id":7,"function":{"name":"t","arguments":"{}"}}]}`}, []call{{"7", "t", `{}`}}},
		"not JSON":               {`"stop"`, []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{\"x\": "}}]}`}, []call{{"a", "t", `{"x": `}}},
		"a gap in the index":     {`"stop"`, []string{`{"tool_calls":[{"index":3,"id":"a","function":{"name":"t","arguments":"{}"}}]}`}, []call{{"a", "t", `{}`}}},
		"an empty one":           {`"stop"`, []string{`{"content":"x","tool_calls":[{"index":0}]}`}, nil},
		"finish null":            {`null`, []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}]}`}, []call{{"a", "t", `{}`}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := wiretest.Serve(t, wiretest.Answer{Body: deltas(tt.finish, tt.deltas...)})
			r, err := model.Collect(newGenerator(t, s).Stream(t.Context(), ask("hi")))
			require.NoError(t, err)
			var got []call
			ids := map[string]bool{}
			for _, c := range r.Content.Calls() {
				require.NotEmpty(t, c.ID)
				require.False(t, ids[c.ID], "each has a unique ID")
				ids[c.ID] = true
				id := c.ID
				if strings.HasPrefix(id, "call_") {
					id = "?"
				}
				got = append(got, call{id, c.Name, string(c.Args)})
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestTextsOfManyServers(t *testing.T) {
	for name, tt := range map[string]struct{ delta, thought, text string }{
		"reasoning_content":     {`{"reasoning_content":"a","content":"b"}`, "a", "b"},
		"reasoning":             {`{"reasoning":"a","content":"b"}`, "a", "b"},
		"both are the same":     {`{"reasoning":"a","reasoning_content":"a","content":"b"}`, "a", "b"},
		"content is a list":     {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "", "ab"},
		"refusal":               {`{"refusal":"no"}`, "", "no"},
		"unknown fields":        {`{"content":"x","audio":{"a":[1]},"annotations":[]}`, "", "x"},
		"half a surrogate pair": {`{"content":"a\ud83d"}`, "", "a\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			s := wiretest.Serve(t, wiretest.Answer{Body: deltas(`"stop"`, tt.delta)})
			r, err := model.Collect(newGenerator(t, s).Stream(t.Context(), ask("hi")))
			require.NoError(t, err)
			require.Equal(t, tt.text, r.Content.Text())
			thought := ""
			for _, p := range r.Content.Parts {
				if p.Thought {
					thought += p.Text
				}
			}
			require.Equal(t, tt.thought, thought)
		})
	}
}

func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]model.FinishReason{
		`"stop"`: model.FinishStop, `"tool_calls"`: model.FinishStop, `"function_call"`: model.FinishStop, `"length"`: model.FinishMaxTokens,
		`"content_filter"`: model.FinishSafety, `"new"`: model.FinishOther, `null`: "", `""`: "",
	} {
		s := wiretest.Serve(t, wiretest.Answer{Body: deltas(reason, `{"content":"x"}`)})
		r, err := model.Collect(newGenerator(t, s).Stream(t.Context(), ask("hi")))
		require.NoError(t, err, reason)
		require.Equal(t, want, r.Finish, reason)
	}
}

func TestUsageOfManyServers(t *testing.T) {
	for name, tt := range map[string]struct {
		body string
		want model.Usage
	}{
		"none":             {`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":null}`, model.Usage{}},
		"next to a choice": {`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, model.Usage{Input: 1, Output: 2}},
		"DeepSeek's cache": {`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"prompt_cache_hit_tokens":8,"completion_tokens":2}}`, model.Usage{Input: 9, Cached: 8, Output: 2}},
		"null details":     {`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2.0,"prompt_tokens_details":null}}`, model.Usage{Input: 9, Output: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := model.Collect(newGenerator(t, wiretest.Serve(t, wiretest.Answer{Body: tt.body + "\n\n"})).Stream(t.Context(), ask("hi")))
			require.NoError(t, err)
			require.Equal(t, tt.want, r.Usage)
		})
	}
}

// The test needs no timer: the server reports that the client has disconnected.
func TestCancelled(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Answer{Body: stream[:strings.Index(stream, "\n\n")+2], Hang: true})
	g := newGenerator(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	var last error
	for chunk, err := range g.Stream(ctx, ask("hi")) {
		if chunk != nil {
			cancel()
		}
		last = err
	}
	require.Equal(t, model.Canceled, asError(t, last).Kind)
	require.ErrorIs(t, last, context.Canceled)
	<-s.Gone

	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err := g.Generate(ctx, ask("hi"))
	require.Equal(t, model.Canceled, asError(t, err).Kind)
	require.Len(t, s.Requests(), 1)
}

func TestLeavingTheLoopFreesTheConnection(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Answer{Body: stream[:strings.Index(stream, "\n\n")+2], Hang: true})
	for range newGenerator(t, s).Stream(t.Context(), ask("hi")) {
		break
	}
	<-s.Gone
}

// Only ctx ends a request: a response may take long.
func TestTheTimeoutOfTheClientIsNotUsed(t *testing.T) {
	client := &http.Client{Timeout: 1, Transport: wiretest.Pieces{[]byte(stream)}}
	g, err := openai.New(openai.Options{APIKey: key, HTTPClient: client})
	require.NoError(t, err)
	_, err = model.Collect(g.Stream(t.Context(), ask("hi")))
	require.NoError(t, err)
	require.EqualValues(t, 1, client.Timeout, "the client is not changed")

	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	_, err = model.Collect(g.Stream(ctx, ask("hi")))
	require.Equal(t, model.Canceled, asError(t, err).Kind)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestNoGoroutineIsLeft(t *testing.T) {
	g, err := openai.New(openai.Options{APIKey: key, HTTPClient: &http.Client{Transport: wiretest.Pieces{[]byte(stream)}}})
	require.NoError(t, err)
	before := runtime.NumGoroutine()
	for range 20 {
		for range g.Stream(t.Context(), ask("hi")) {
			break
		}
		_, err := model.Collect(g.Stream(t.Context(), ask("hi")))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}

func TestStreamBeginsWithTheRanging(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Answer{Body: stream})
	_ = newGenerator(t, s).Stream(t.Context(), ask("hi"))
	require.Empty(t, s.Requests())
}

func TestConcurrentUse(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Answer{Body: stream})
	g := newGenerator(t, s)
	errs := make(chan error, 32)
	var wg sync.WaitGroup
	for range cap(errs) {
		wg.Go(func() {
			r, err := model.Collect(g.Stream(t.Context(), ask("hi")))
			if err == nil && len(r.Content.Parts) != len(whole.Content.Parts) {
				err = errors.New("a part is missing")
			}
			errs <- err
		})
	}
	wg.Wait()
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
}

func TestNew(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from-the-environment")
	_, err := openai.New(openai.Options{})
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Remedy, "OPENAI_API_KEY")
	for _, base := range []string{"ftp://x", "example.com", "http://", "://"} {
		_, err = openai.New(openai.Options{APIKey: key, BaseURL: base})
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), base)
		require.Contains(t, fault.As(err).Remedy, "OPENAI_BASE_URL")
	}
}

// A local server needs no key and receives none.
func TestNoKey(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from-the-environment")
	s := wiretest.Serve(t, wiretest.Answer{Body: stream})
	g, err := openai.New(openai.Options{BaseURL: s.URL + "/v1/", HTTPClient: s.Client()})
	require.NoError(t, err)
	_, err = model.Collect(g.Stream(t.Context(), ask("hi")))
	require.NoError(t, err)
	require.Empty(t, s.Last().Header.Get("Authorization"))
	require.Equal(t, "/v1/chat/completions", s.Last().Path)
}
