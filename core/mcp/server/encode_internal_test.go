package server

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"
)

// EX-20: a response is encoded as by the SDK, except for unneeded escapes.
func TestEncodeCall(t *testing.T) {
	same := func(id any, res tools.Result, structured json.RawMessage) {
		t.Helper()
		call, err := jsonrpc.MakeID(id)
		require.NoError(t, err)
		converted := result(res, structured, false)
		encoded, err := json.Marshal(converted)
		require.NoError(t, err)
		want, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: call, Result: encoded})
		require.NoError(t, err)
		got, err := encodeCall(call, converted)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got))
		require.NotContains(t, string(got), "\n")
		require.NotContains(t, string(got), "\u2028", "it ends a line for some clients")
		require.NotContains(t, string(got), "\u2029")
	}
	failure := tools.Fail(fault.New(fault.FileChangedSinceRead, "shop", "The file\nhas <changed>.", "Read it again.").Because(fault.Changed))
	for _, id := range []any{0., -1., 1e15, 1e30, "", "a\"b\\\n\u2028\u2029<&>\x00\U0001f600"} {
		same(id, tools.Result{LLMContent: tools.Text("a")}, nil)
		same(id, failure, nil)
	}
	same("a", tools.Result{}, nil)
	same("a", tools.Result{LLMContent: tools.Text(""), Context: "more"}, nil)
	same("a", tools.Result{LLMContent: tools.Text("{}")}, json.RawMessage("{ \"a\":\n[1.0e5, \"<\\u2028\u2028\" ] }"))
	same("a", tools.Result{LLMContent: tools.Text("[]")}, json.RawMessage("null"))
	same("a", tools.Result{LLMContent: tools.Content{Parts: []tools.Part{
		{Text: "a\xffb"},
		{InlineData: &tools.InlineData{MIMEType: "image/png", Data: []byte{1}}},
		{InlineData: &tools.InlineData{MIMEType: "audio/wav"}},
		{InlineData: &tools.InlineData{MIMEType: "application/pdf", Data: []byte{3}}},
		{Resource: &tools.Resource{URI: "shop:text", Text: "t\n"}},
		{Link: &tools.ResourceLink{URI: "shop:link", Name: "link", Size: 7}},
	}}}, nil)
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "plain text, eight or more", "\n", "\r", "\t", "\b", "\f", "\x00", "\x1f", "\x7f", `"`, `\`, "<", "&", "\u2028", "\u2029", "\u0080", "é", "\ufffd", "\U0001f600", "\xff", "\xed\xa0\x80", "\xf0\x9f"}
	for range 20_000 {
		var chosen []string
		for range random.IntN(12) {
			chosen = append(chosen, parts[random.IntN(len(parts))])
		}
		same(1., tools.Result{LLMContent: tools.Text(strings.Join(chosen, ""))}, nil)
	}
}
