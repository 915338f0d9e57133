package server_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/stretchr/testify/require"
)

// EX-20: whatever is written to a server, it answers later messages and writes
// only JSON.
func FuzzStdio(f *testing.F) {
	for _, seed := range []string{
		"", "{", "null", "[]", "[{}]", "[[[]]]", "\x00", "\xff\xfe", `"a"`, `{"jsonrpc":"2.0","id":1}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":[]}}`,
		strings.TrimSpace(hello), strings.TrimSpace(modernCall(1, "ask", "")), strings.TrimSpace(modernCall(1, "echo", `,"requestState":"x"`)),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}`,
		strings.Repeat("[", 5000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Contains(text, []byte("block")) || bytes.Contains(text, []byte("final")) {
			t.Skip("it waits for ever, or takes the id")
		}
		var in, out bytes.Buffer
		in.Write(text)
		in.WriteString("\n" + `{"jsonrpc":"2.0","id":"final","method":"ping"}` + "\n")
		o := options(newShop())
		o.RequestBytes = 1 << 16
		require.NoError(t, server.New(o).Stdio(t.Context(), &in, &out))
		require.Contains(t, out.String(), `"id":"final"`)
		for line := range strings.Lines(out.String()) {
			require.True(t, json.Valid([]byte(line)), line)
		}
	})
}
