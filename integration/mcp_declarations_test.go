package integration_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The declarations that an MCP client receives, and adds to each request of its model, are small:
// the whole answer to tools/list has at most 10,000 bytes. With --output-schemas they also describe the results.
func TestMCPDeclarationsAreSmall(t *testing.T) {
	t.Parallel()
	type declared struct {
		Result struct {
			Tools []struct {
				Name         string          `json:"name"`
				Description  string          `json:"description"`
				InputSchema  json.RawMessage `json:"inputSchema"`
				OutputSchema json.RawMessage `json:"outputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	for name, args := range map[string][]string{"default": nil, "outputs": {"--output-schemas"}, "sets": {"--edit-dialect", "apply_patch"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := toolsList(t, args...)
			var d declared
			require.NoError(t, json.Unmarshal(answer, &d))
			described := 0
			for _, tool := range d.Result.Tools {
				require.NotEmpty(t, tool.Description)
				if tool.OutputSchema != nil {
					described++
				}
			}
			t.Logf("%d bytes, %d tools", len(answer), len(d.Result.Tools))
			require.GreaterOrEqual(t, len(d.Result.Tools), 13)
			if name == "outputs" {
				require.Equal(t, 8, described)
				return
			}
			require.LessOrEqual(t, len(answer), 10_000)
			require.Zero(t, described)
		})
	}
}

// toolsList returns the line with which mcp serve answers tools/list.
func toolsList(t *testing.T, args ...string) []byte {
	t.Helper()
	all := append([]string{"mcp", "serve"}, args...)
	cmd := exec.CommandContext(t.Context(), "fettle", all...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "HOME="+t.TempDir())
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	}()
	lines := bufio.NewReader(out)
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`+"\n")
	require.NoError(t, err)
	_, err = lines.ReadBytes('\n')
	require.NoError(t, err)
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`+"\n")
	require.NoError(t, err)
	answer, err := lines.ReadBytes('\n')
	require.NoError(t, err)
	return answer
}
