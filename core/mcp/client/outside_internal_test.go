package client

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
)

// Whatever a server sends, decoding does not panic, JSON stays JSON, and the part
// of a result passed to the SDK contains no free text.
func FuzzReceived(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"x"}],"structuredContent":5}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"inputRequests":{"a":{"method":"elicitation/create","params":{"requestedSchema":{}}},"b":null},"resultType":5}}`,
		`[{"id":1,"result":null},{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}]`,
		`{"id":7,"method":"elicitation/create","params":{"_meta":5,"requestedSchema":{"a":1}}}`, `[]`, `null`, ` `, `{"id":{},"result":[]}`,
		`{"id":1,"result":{"tools":[{"name":"a","inputSchema":{}},5,null]}}`, `{"id":1,"result":{"contents":[{"blob":5}],"messages":[{"content":[5]}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		for _, method := range []string{methodCall, methodTools, methodRead, methodPrompt, methodResources} {
			tap := newTap()
			c := &capture{method: method}
			tap.sent(tap.expect(t.Context(), c, "1"), []byte(`{"id":1,"method":"`+method+`"}`))
			out := tap.received(message)
			if json.Valid(message) && !json.Valid(out) {
				t.Fatalf("%s became %s", message, out)
			}
			decodeResult(c.raw)
			decodePrompt(c.raw)
			decodeResources(c.raw, "u")
			decodeTool(c.raw)
			decodeResource(c.raw)
			tap.forget(c)
			if len(tap.waiting)+len(tap.tokens) != 0 {
				t.Fatal("something is still waited for")
			}
		}
	})
}

// A stream of events has the same content however it is split, and processing is
// idempotent.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"event: message\ndata: {\"a\":1}\nid: 5\n\n", "data: 1\ndata: 2\n\n:note\n\nretry: 5\n\n", "data\n\n", "event: endpoint\ndata: /x\n\n", "data: cut", "\n\n", "id: 1\n\n", "nonsense\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		const limit = 1 << 10
		pass := func(r io.Reader) string {
			out, _ := io.ReadAll(newEvents(r, limit, "", newTap()))
			return string(out)
		}
		whole := pass(strings.NewReader(string(stream)))
		require.Equal(t, whole, pass(iotest.OneByteReader(strings.NewReader(string(stream)))))
		for line := range strings.Lines(whole) {
			if line != "\n" {
				require.Contains(t, line, ":") // the SDK fails on a line without one
			}
		}
	})
}

// An answer that did not pass the tap is not mistaken for an empty one.
func TestNoAnswer(t *testing.T) {
	s := &session{name: "s", tap: newTap(), mask: mcp.NewMask(mcp.ServerSpec{})}
	s.ctx, s.stop = context.WithCancelCause(t.Context())
	defer s.stop(nil)
	_, err := s.ask(t.Context(), methodCall, "", nil, func(context.Context) error { return nil })
	require.Equal(t, fault.MCPToolError, fault.CodeOf(err), "%v", err)
}

// A large event becomes a failure of its request or, without one, of the stream.
func TestLargeEvent(t *testing.T) {
	large := "data: " + strings.Repeat("x", 100) + "\n\n"
	out, err := io.ReadAll(newEvents(strings.NewReader(large), 50, "7", newTap()))
	require.NoError(t, err)
	require.Contains(t, string(out), `"id":7,"error"`)
	_, err = io.ReadAll(newEvents(strings.NewReader(large), 50, "", newTap()))
	require.ErrorIs(t, err, errTooLarge)
}

// An answer receives the defaults of the schema, keeps its numbers, and is
// validated.
func TestFill(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer","default":3},"s":{"type":"string","minLength":2},"c":{"type":"string","enum":["a","b"],"default":"b"},"m":{"type":"array","items":{"type":"string","enum":["x","y"]},"default":["x"]}},"required":["n"]}`
	for answer, want := range map[string]string{
		``:                         `{"c":"b","m":["x"],"n":3}`,
		`null`:                     `{"c":"b","m":["x"],"n":3}`,
		`{"n":9007199254740993}`:   `{"c":"b","m":["x"],"n":9007199254740993}`,
		`{"n":null,"s":null}`:      `{"c":"b","m":["x"],"n":3}`,
		`{"n":1,"s":"ok","c":"a"}`: `{"c":"a","m":["x"],"n":1,"s":"ok"}`,
		`{"n":"5"}`:                "",
		`{"s":"x"}`:                "",
		`{"c":"z"}`:                "",
		`{"m":["z"]}`:              "",
		`[1]`:                      "",
		`{"n":1e400}`:              "",
	} {
		content, err := fill([]byte(schema), []byte(answer))
		if want == "" {
			require.Error(t, err, answer)
			continue
		}
		require.NoError(t, err, answer)
		require.Equal(t, want, string(encode(content)))
	}
	_, err := fill([]byte(`{"$ref":"file:///etc/passwd"}`), []byte(`{}`))
	require.Error(t, err)
	content, err := fill(nil, nil)
	require.NoError(t, err)
	require.Empty(t, content)
}

// Secrets are masked completely, the longer first.
func TestMask(t *testing.T) {
	m := mcp.NewMask(mcp.ServerSpec{
		URL: "https://u:pass-word@h/x?token=quer-y", Headers: map[string]string{"Authorization": "Bearer abc-def", "X": "abc-def-ghi"},
		Env: map[string]string{"API_KEY": "env-secret", "MODE": "production"}, OAuth: &mcp.OAuthSpec{ClientSecret: "client-secret"},
	})
	require.Equal(t, "[masked] [masked] [masked] production [masked] [masked] Bearer", m.Hide("abc-def-ghi abc-def env-secret production client-secret pass-word Bearer"))
	require.NotContains(t, m.Hide("token=quer-y quer-y"), "quer-y")
}
