package acp

import (
	"encoding/json"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/mcp"
)

// FD-02: servers of each transport are converted, and their secrets are known; a server
// that cannot be used is refused.
func TestServersOf(t *testing.T) {
	for name, tt := range map[string]struct {
		given   string
		want    mcp.ServerSpec
		secrets []string
	}{
		"stdio": {`{"name":"a","command":"/bin/a","args":["x"],"env":[{"name":"A_TOKEN","value":"t0k3n-of-the-server-XYZ"},{"name":"MODE","value":"fast"}]}`,
			mcp.ServerSpec{Name: "a", Command: "/bin/a", Args: []string{"x"}, Env: map[string]string{"A_TOKEN": "t0k3n-of-the-server-XYZ", "MODE": "fast"}}, []string{"t0k3n-of-the-server-XYZ"}},
		"named stdio": {`{"type":"stdio","name":"a","command":"/bin/a","args":[],"env":[]}`, mcp.ServerSpec{Name: "a", Command: "/bin/a", Args: []string{}, Env: map[string]string{}}, nil},
		"http": {`{"type":"http","name":"h","url":"https://x/mcp","headers":[{"name":"Authorization","value":"Bearer abc"}]}`,
			mcp.ServerSpec{Name: "h", URL: "https://x/mcp", Transport: mcp.TransportHTTP, Headers: map[string]string{"Authorization": "Bearer abc"}}, []string{"Bearer abc"}},
		"sse": {`{"type":"sse","name":"s","url":"https://x/sse","headers":[]}`, mcp.ServerSpec{Name: "s", URL: "https://x/sse", Transport: mcp.TransportSSE}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var given sdk.McpServer
			require.NoError(t, json.Unmarshal([]byte(tt.given), &given))
			specs, secrets, err := serversOf([]sdk.McpServer{given})
			require.NoError(t, err)
			tt.want.Source = serverSource
			require.Equal(t, []mcp.ServerSpec{tt.want}, specs)
			require.Equal(t, tt.secrets, secrets)
		})
	}
	for _, bad := range []sdk.McpServer{{}, {Stdio: &sdk.McpServerStdio{Name: "a"}}, {Stdio: &sdk.McpServerStdio{Name: "", Command: "x"}}, {Http: &sdk.McpServerHttpInline{Name: "a*", Url: "https://x"}}} {
		_, _, err := serversOf([]sdk.McpServer{bad})
		require.ErrorContains(t, err, "-32602")
	}
}
