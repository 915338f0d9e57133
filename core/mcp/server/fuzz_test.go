package server_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/stretchr/testify/require"
)

// EX-20: whatever is written to a server before or after the negotiation, it answers
// later messages and writes only JSON.
func FuzzStdio(f *testing.F) {
	for _, seed := range []string{
		"", "{", "null", "[]", "[{}]", "[[[]]]", "\x00", "\xff\xfe", `"a"`, `{"jsonrpc":"2.0","id":1}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":[]}}`,
		strings.TrimSpace(hello), strings.TrimSpace(modernCall(1, "ask", "")), strings.TrimSpace(modernCall(1, "echo", `,"requestState":"x"`)),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"a":"<\u2028"},"_meta":{"progressToken":"x"}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"fail"}}` + "\n" + `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"progress"}}`,
		strings.Repeat("[", 5000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Contains(text, []byte("block")) || bytes.Contains(text, []byte("final")) {
			t.Skip("it waits for ever, or takes the id")
		}
		o := options(newShop())
		o.RequestBytes = 1 << 16
		sent := string(text) + "\n" + `{"jsonrpc":"2.0","id":"final","method":"ping"}` + "\n"
		for _, greeting := range []string{"", hello} {
			lines := serveText(t, server.New(o), directMethod, greeting, sent)
			require.Contains(t, strings.Join(lines, ""), `"id":"final"`)
			for _, line := range lines {
				require.True(t, json.Valid([]byte(line)), line)
			}
		}
	})
}
