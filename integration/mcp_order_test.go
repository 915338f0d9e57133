package integration_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ST-07: over MCP the hash is in the first block of a result, near its start, also in
// a refusal; the error with its code follows.
func TestMCPResultsLeadWithTheHash(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, nil, "--approval-mode", "auto_edit", "--core-tools", "read_file,read_many_files,safe_patch,write_file,edit", "mcp", "serve")
	header, err := s.connect(nil)
	require.NoError(t, err)
	blocks := func(tool string, args map[string]any) []string {
		encoded, err := json.Marshal(args)
		require.NoError(t, err)
		_, m, err := s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, s.ids.Add(1), tool, encoded), header)
		require.NoError(t, err)
		var texts []string
		for _, part := range m["result"].(map[string]any)["content"].([]any) {
			texts = append(texts, part.(map[string]any)["text"].(string))
		}
		return texts
	}
	path := filepath.Join(s.dir, "a.txt")
	leads := func(got []string) {
		t.Helper()
		at := strings.Index(got[0], hashOfFile(t, path))
		require.Greater(t, at, 0, "%q", got)
		require.LessOrEqual(t, at+64-len(s.dir), 300, "%q", got)
	}
	require.NoError(t, os.WriteFile(path, []byte("one\ntwo\nthree\n"), 0o644))
	leads(blocks("read_many_files", map[string]any{"paths": []string{"a.txt", "absent"}}))
	for range 2 { // the second result is a placeholder
		leads(blocks("read_file", map[string]any{"file_path": "a.txt"}))
	}
	patch := map[string]any{"file_path": "a.txt", "unified_diff": "@@ @@\n one\n-two\n+2\n three\n", "base_content_sha256": hashOfFile(t, path)}
	leads(blocks("safe_patch", patch))
	stale := blocks("safe_patch", patch)
	leads(stale)
	require.True(t, strings.HasPrefix(stale[0], `{"success":false,"message":"State Mismatch: File has changed on disk since it was last read.`), stale[0])
	require.True(t, strings.HasPrefix(stale[1], "Error file_changed_since_read (changed)"), "%q", stale)
	leads(blocks("write_file", map[string]any{"file_path": "a.txt", "content": "x"}))
	leads(blocks("write_file", map[string]any{"file_path": "a.txt", "content": "x", "base_content_sha256": hashOfFile(t, path)}))
	leads(blocks("edit", map[string]any{"file_path": "a.txt", "old_string": "y", "new_string": "z"}))
	leads(blocks("edit", map[string]any{"file_path": "a.txt", "old_string": "x", "new_string": "y"}))

	// ED-05: the first digits are enough.
	leads(blocks("write_file", map[string]any{"file_path": "a.txt", "content": "z", "base_content_sha256": hashOfFile(t, path)[:12]}))
	unknown := blocks("write_file", map[string]any{"file_path": "a.txt", "content": "x", "base_content_sha256": "000000000000"})
	require.True(t, strings.HasPrefix(unknown[0], "Error invalid_tool_params"), "%q", unknown)
}
