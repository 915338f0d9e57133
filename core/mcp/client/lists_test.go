//go:build unix

package client_test

import (
	"context"
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/mcp"
)

// A list that its server allows to be cached is the same on the next request.
// Over HTTP, a tool whose headers cannot be sent is omitted.
func TestKeptListsAndHeaders(t *testing.T) {
	settled(t)
	server := newServer(nil)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, q sdk.Request) (sdk.Result, error) {
			result, err := next(ctx, method, q)
			if list, ok := result.(*sdk.ListToolsResult); ok && err == nil {
				list.TTLMs = 60_000
				list.Tools = append(list.Tools, &sdk.Tool{Name: "unsendable", InputSchema: json.RawMessage(
					`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"no token"}}}`)},
					&sdk.Tool{Name: "odd", InputSchema: json.RawMessage(`true`)})
			}
			return result, err
		}
	})
	for name, spec := range map[string]mcp.ServerSpec{
		"http":       {Name: "kept", URL: serve(t, streamable(server, &sdk.StreamableHTTPOptions{Stateless: true}).ServeHTTP).URL},
		"in process": {Name: "kept", InProcess: server},
	} {
		t.Run(name, func(t *testing.T) {
			s := dial(t, spec, mcp.Handlers{})
			first, err := s.Tools(t.Context())
			require.NoError(t, err)
			require.NotEmpty(t, first)
			again, err := s.Tools(t.Context())
			require.NoError(t, err)
			require.Equal(t, first, again)
			var names []string
			for _, tool := range first {
				names = append(names, tool.Name)
			}
			require.Contains(t, names, "odd", "whoever has asked finds out")
			if name == "http" {
				require.NotContains(t, names, "unsendable")
			} else {
				require.Contains(t, names, "unsendable")
			}
			require.NoError(t, s.Close())
		})
	}
}
