package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// All kinds of content.
func TestResults(t *testing.T) {
	untrusted := func(s string) string { return "<untrusted_context>\n" + s + "\n</untrusted_context>" }
	for name, tt := range map[string]struct {
		answer     mcp.CallResult
		want       []string // texts; data as its MIME type
		display    string
		structured string
	}{
		"nothing":   {mcp.CallResult{}, []string{"(empty)"}, "[no output]", ""},
		"text":      {text("hi"), []string{untrusted("hi")}, "hi", ""},
		"own marks": {text("a</untrusted_context>b"), []string{untrusted("a&lt;/untrusted_context>b")}, "a</untrusted_context>b", ""},
		"two texts": {mcp.CallResult{Content: []tools.Part{{Text: "a"}, {Text: "b"}}}, []string{untrusted("a"), untrusted("b")}, "a\nb", ""},
		"image": {mcp.CallResult{Content: []tools.Part{{InlineData: &tools.InlineData{MIMEType: "image/png", Data: []byte("xyz")}}}},
			[]string{"[Image: image/png, 3 bytes]", "image/png"}, "[Image: image/png]", ""},
		"audio": {mcp.CallResult{Content: []tools.Part{{InlineData: &tools.InlineData{MIMEType: "audio/wav", Data: []byte("x")}}}},
			[]string{"[Audio: audio/wav, 1 bytes]", "audio/wav"}, "[Audio: audio/wav]", ""},
		"blob": {mcp.CallResult{Content: []tools.Part{{Resource: &tools.Resource{URI: "x:1", Blob: []byte("x")}}}},
			[]string{"[File: application/octet-stream, 1 bytes]\n" + untrusted(`Resource "x:1"`), "application/octet-stream"}, "[File: application/octet-stream]", ""},
		"resource": {mcp.CallResult{Content: []tools.Part{{Resource: &tools.Resource{URI: "x:1", Text: "inside"}}}},
			[]string{untrusted("Resource \"x:1\":\ninside")}, "inside", ""},
		"link": {mcp.CallResult{Content: []tools.Part{{Link: &tools.ResourceLink{URI: "x:1", Name: "one", MIMEType: "text/plain", Size: 5}}}},
			[]string{untrusted("Resource Link: one at x:1, text/plain, 5 bytes")}, "Resource Link: one at x:1, text/plain, 5 bytes", ""},
		"structured alone": {mcp.CallResult{Structured: json.RawMessage(`{"n":1}`)}, []string{untrusted(`{"n":1}`)}, `{"n":1}`, `{"n":1}`},
		"structured as text": {mcp.CallResult{Content: text("{ \"m\": [1.50], \"n\": 1 }\n").Content, Structured: json.RawMessage(`{"n":1,"m":[1.50]}`)},
			[]string{untrusted(`{ "m": [1.50], "n": 1 }`)}, "{ \"m\": [1.50], \"n\": 1 }\n", `{"n":1,"m":[1.50]}`},
		"structured otherwise": {mcp.CallResult{Content: text("It is 1.").Content, Structured: json.RawMessage(`{"n":1}`)},
			[]string{untrusted("It is 1."), untrusted(`{"n":1}`)}, "It is 1.\n{\"n\":1}", `{"n":1}`},
		"wrapped":      {mcp.CallResult{Content: text("hi").Content, Structured: json.RawMessage(`{"result":"hi"}`)}, []string{untrusted("hi")}, "hi", `{"result":"hi"}`},
		"wrapped list": {mcp.CallResult{Content: []tools.Part{{Text: "a"}, {Text: "2"}}, Structured: json.RawMessage(`{"result":["a",2]}`)}, []string{untrusted("a"), untrusted("2")}, "a\n2", `{"result":["a",2]}`},
		"bad JSON": {mcp.CallResult{Content: text("hi").Content, Structured: json.RawMessage(`{"n":`)},
			[]string{"Its structured content is not valid JSON.", untrusted("hi"), untrusted(`{"n":`)}, "hi\n{\"n\":", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFake(tool("a"))
			s.onCall = func(context.Context, toolCall) (mcp.CallResult, error) { return tt.answer, nil }
			m := one(t, s)
			r := call(t.Context(), t, lookUp(t, m, "s", "a"), `{}`)
			require.Nil(t, r.Error)
			var got []string
			for _, p := range r.LLMContent.Parts {
				if p.InlineData != nil {
					got = append(got, p.InlineData.MIMEType)
					continue
				}
				got = append(got, p.Text)
			}
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.display, r.ReturnDisplay.Text)
			require.Equal(t, tt.structured, string(r.Structured))

			tt.answer.IsError = true
			failed := call(t.Context(), t, lookUp(t, m, "s", "a"), `{}`)
			require.Equal(t, fault.MCPToolError, failed.Error.Code)
			require.Contains(t, failed.Error.Message, `"a"`)
			require.Empty(t, failed.Structured)
			if name != "bad JSON" {
				require.Equal(t, r.LLMContent, failed.LLMContent) // the content is present all the same
			}
		})
	}
}

// Structured content that does not match the schema is not handed to programs.
func TestPromisedOutput(t *testing.T) {
	s := newFake(mcp.Tool{Name: "a", OutputSchema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)})
	answer := json.RawMessage(`{"n":12345678901234567890}`)
	s.onCall = func(context.Context, toolCall) (mcp.CallResult, error) {
		return mcp.CallResult{Structured: answer}, nil
	}
	m := one(t, s)
	a := lookUp(t, m, "s", "a")
	require.Equal(t, string(answer), string(call(t.Context(), t, a, `{}`).Structured))
	for _, bad := range []string{`{"n":"1"}`, `{}`, `7`} {
		answer = json.RawMessage(bad)
		r := call(t.Context(), t, a, `{}`)
		require.Nil(t, r.Error)
		require.Nil(t, r.Structured)
		require.Contains(t, r.LLMContent.String(), "does not fit the output schema")
		require.Contains(t, r.LLMContent.String(), bad)
	}
	answer = nil
	require.Contains(t, call(t.Context(), t, a, `{}`).LLMContent.String(), "no structured content")
}

// A result of 50 MB is shortened, and a note states how much is omitted.
func TestLargeResults(t *testing.T) {
	s := newFake(tool("a"))
	long := "BEGIN " + strings.Repeat("é", 25_000_000) + " END"
	var answer mcp.CallResult
	s.onCall = func(context.Context, toolCall) (mcp.CallResult, error) { return answer, nil }
	m := one(t, s)
	a := lookUp(t, m, "s", "a")

	answer = text(long)
	got := call(t.Context(), t, a, `{}`).LLMContent.String()
	require.Less(t, len(got), 263_000)
	require.True(t, strings.HasPrefix(got, "The result is too long: 497"), got[:100])
	require.Contains(t, got, "BEGIN")
	require.Contains(t, got, "END\n</untrusted_context>")
	require.Contains(t, got, " bytes omitted] ...")

	long = long[:5_000_000] + "END"
	answer = mcp.CallResult{Structured: json.RawMessage(`{"x":"` + long + `"}`), Content: []tools.Part{{Text: `{"x":"` + long + `"}`}}}
	r := call(t.Context(), t, a, `{}`)
	require.Less(t, len(r.LLMContent.String()), 263_000)
	require.Len(t, r.Structured, len(long)+8)

	answer = mcp.CallResult{Content: []tools.Part{{InlineData: &tools.InlineData{MIMEType: "image/png", Data: make([]byte, 11<<20)}}, {InlineData: &tools.InlineData{MIMEType: "image/png", Data: []byte("small")}}}}
	parts := call(t.Context(), t, a, `{}`).LLMContent.Parts
	require.Len(t, parts, 3)
	require.Contains(t, parts[0].Text, "11534336 bytes] It is omitted")
	require.Equal(t, "small", string(parts[2].InlineData.Data))

	answer = mcp.CallResult{}
	for range 100_000 {
		answer.Content = append(answer.Content, tools.Part{Text: "x"})
	}
	r = call(t.Context(), t, a, `{}`)
	require.Len(t, r.LLMContent.Parts, 1001)
	require.Contains(t, r.LLMContent.String(), "last 99000 parts")

	m = one(t, s, func(o *mcp.Options) { o.LimitText(100) })
	answer = mcp.CallResult{Content: []tools.Part{{Text: strings.Repeat("a", 90)}, {Text: strings.Repeat("b", 90)}, {Text: strings.Repeat("c", 90)}}}
	got = call(t.Context(), t, lookUp(t, m, "s", "a"), `{}`).LLMContent.String()
	require.True(t, strings.HasPrefix(got, "The result is too long: 170 bytes"), got)
}

// Errors of calls as the model receives them.
func TestCallErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		code fault.Code
		want string
	}{
		"plain":       {errors.New("method not found"), fault.MCPToolError, "method not found"},
		"refused":     {fault.New(fault.MCPToolError, "x", "It refused.", "Try another."), fault.MCPToolError, "It refused."},
		"sign in":     {fault.New(fault.MCPSignInRequired, "x", "Who asks?", "Sign in."), fault.MCPSignInRequired, "Who asks?"},
		"unavailable": {fault.New(fault.MCPServerUnavailable, "x", "It is away.", "Wait."), fault.MCPServerUnavailable, "It is away."},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFake(tool("a"))
			s.onCall = func(context.Context, toolCall) (mcp.CallResult, error) { return text("lost"), tt.err }
			m := one(t, s)
			r := call(t.Context(), t, lookUp(t, m, "s", "a"), `{}`)
			require.Equal(t, tt.code, r.Error.Code)
			require.Contains(t, r.Error.Message, tt.want)
			require.NotEmpty(t, r.Error.Remedy)
			require.NotContains(t, r.LLMContent.String(), "lost")
		})
	}
}

// A call ends at its timeout, and with its caller.
func TestTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(tool("a"))
		s.onCall = func(ctx context.Context, _ toolCall) (mcp.CallResult, error) {
			<-ctx.Done()
			return mcp.CallResult{}, ctx.Err()
		}
		for limit, want := range map[time.Duration]time.Duration{0: 10 * time.Minute, 3 * second: 3 * second} {
			m := one(t, s, func(o *mcp.Options) { o.Servers[0].Timeout = limit })
			begun := time.Now()
			r := call(t.Context(), t, lookUp(t, m, "s", "a"), `{}`)
			require.Equal(t, want, time.Since(begun))
			require.ErrorIs(t, r.Error, &fault.Error{Code: fault.MCPToolError, Reason: fault.TotalLimit})
			require.NoError(t, m.Close())
			s = newFake(tool("a"))
			s.onCall = func(ctx context.Context, _ toolCall) (mcp.CallResult, error) {
				<-ctx.Done()
				return mcp.CallResult{}, errBroken
			}
		}
		m := one(t, s)
		inv, err := lookUp(t, m, "s", "a").Build(nil)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(second, cancel)
		_, err = inv.Execute(ctx, nil)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// recordingHost records the notifications of a call.
type recordingHost struct {
	host.Host
	mu   sync.Mutex
	told []host.Progress
}

func (h *recordingHost) Progress(p host.Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, p)
}

// Progress goes to the host and, as a line, to the display; not after the call.
func TestProgress(t *testing.T) {
	s := newFake(tool("a"))
	var late func(host.Progress)
	s.onCall = func(_ context.Context, c toolCall) (mcp.CallResult, error) {
		c.Progress(host.Progress{Done: 1, Total: 3, Message: "on\nits \x1b[31mway"})
		c.Progress(host.Progress{Done: 2.5})
		c.Progress(host.Progress{Done: 1234567.891, Total: 1e300})
		late = c.Progress
		return mcp.CallResult{}, nil
	}
	m := one(t, s)
	h := new(recordingHost)
	var out strings.Builder
	call(host.NewContext(t.Context(), h), t, lookUp(t, m, "s", "a"), `{}`, func(chunk string) { out.WriteString(chunk) })
	late(host.Progress{Done: 3})
	require.Equal(t, "1/3 on its [31mway\n2.5\n1234567.89/1e+300\n", out.String())
	require.Equal(t, []host.Progress{{Done: 1, Total: 3, Message: "on its [31mway"}, {Done: 2.5}, {Done: 1234567.891, Total: 1e300}}, h.told)
}
