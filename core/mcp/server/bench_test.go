package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"github.com/fettle-dev/fettle/core/mcp/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkCall compares the cost of a call over each transport with that of a
// call within the process.
func BenchmarkCall(b *testing.B) {
	args := json.RawMessage(`{"a":1}`)
	b.Run("direct", func(b *testing.B) {
		svc, err := newShop().open(b.Context(), server.Client{})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			svc.Call(b.Context(), "echo", args)
		}
	})
	over := func(name string, dial func(b *testing.B, s *server.Server) sdk.Transport) {
		b.Run(name, func(b *testing.B) {
			s := server.New(options(newShop()))
			defer func() { _ = s.Close() }()
			c, err := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil).Connect(b.Context(), dial(b, s), &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			for b.Loop() {
				if _, err := c.CallTool(b.Context(), &sdk.CallToolParams{Name: "echo", Arguments: args}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	over("pipe", func(b *testing.B, s *server.Server) sdk.Transport {
		return stdio(b, s).transport()
	})
	b.Run("lines", func(b *testing.B) { // a pipe and a client that decodes nothing
		w := stdio(b, server.New(options(newShop())))
		out := bufio.NewReader(w.out)
		exchange := func(text string) {
			if _, err := io.WriteString(w.in, text); err != nil {
				b.Fatal(err)
			}
			if _, err := out.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
		}
		exchange(hello)
		call := request(2, "tools/call", `{"name":"echo","arguments":{"a":1}}`)
		b.ReportAllocs()
		for b.Loop() {
			exchange(call)
		}
	})
	over("process", func(b *testing.B, _ *server.Server) sdk.Transport {
		cmd := exec.CommandContext(context.WithoutCancel(b.Context()), os.Args[0])
		cmd.Env = append(os.Environ(), "FETTLE_TEST_STDIO_SERVER=1")
		return &sdk.CommandTransport{Command: cmd}
	})
	over("http", func(b *testing.B, s *server.Server) sdk.Transport {
		h := httptest.NewServer(s.Handler(server.HTTPOptions{}))
		b.Cleanup(h.Close)
		return &sdk.StreamableClientTransport{Endpoint: h.URL + server.Path}
	})
}
