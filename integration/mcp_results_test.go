package integration_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// cutter describes how a client truncates a long result before its model sees it.
type cutter struct {
	name string
	pass func(text string) string
}

// cutters are clients that were measured.
var cutters = []cutter{
	{"gemini-cli-mcp-client-fettle", func(text string) string {
		r := []rune(text)
		if len(r) <= 40_000 {
			return text
		}
		return string(r[:8000]) + "\n... [CONTENT TRUNCATED] ...\n" + string(r[len(r)-32_000:])
	}},
	{"qwen-cli-mcp-client-fettle", func(text string) string {
		r := []rune(text)
		return string(r[:min(len(r), 2500)])
	}},
	{"unmeasured", func(text string) string {
		r := []rune(text)
		return string(r[:min(len(r), 8000)])
	}},
}

// ST-08: a client never receives text that it would truncate, so that its model sees
// everything that counts as read, and a change succeeds.
func TestClientsTruncateNothing(t *testing.T) {
	t.Parallel()
	for _, c := range cutters {
		t.Run(c.name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			cmd := exec.CommandContext(t.Context(), "fettle", "--approval-mode", "auto_edit", "mcp", "serve")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+t.TempDir())
			client := sdk.NewClient(&sdk.Implementation{Name: c.name, Version: "1"}, nil)
			session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, session.Close()) }()

			call := func(tool string, args map[string]any) (text string, failed bool) {
				t.Helper()
				r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
				require.NoError(t, err)
				var all []string
				for _, part := range r.Content {
					if part, ok := part.(*sdk.TextContent); ok {
						all = append(all, part.Text)
					}
				}
				text = strings.Join(all, "\n")
				require.Equal(t, c.pass(text), text, "%s: the client truncates it", tool)
				return all[len(all)-1], r.IsError
			}
			type state struct {
				SHA256     *string `json:"sha256"`
				Content    *string `json:"content"`
				NextOffset *int    `json:"next_offset"`
			}
			read := func(path string, known bool) (content, hash string) {
				t.Helper()
				for next := 0; ; {
					var st state
					text, failed := call("read_file", map[string]any{"file_path": path, "offset": next})
					require.False(t, failed, text)
					require.NoError(t, json.Unmarshal([]byte(text), &st))
					content += *st.Content
					if st.NextOffset == nil {
						require.NotNil(t, st.SHA256)
						return content, *st.SHA256
					}
					require.Equal(t, known, st.SHA256 != nil)
					next = *st.NextOffset
				}
			}
			lines := 3500 // more than each client passes
			if os.Getenv("FETTLE_FULL") != "" {
				lines = 9000
			}
			want := strings.Repeat("say(\"hello\")\t// \u00e9\u202e\n", lines)
			path := filepath.Join(dir, "long.txt")
			require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
			text, failed := call("read_file", map[string]any{"file_path": path})
			require.False(t, failed, text)
			got, hash := read(path, false)
			require.Equal(t, want, got)

			foreign := "foreign\n" + want
			require.NoError(t, os.WriteFile(path, []byte(foreign), 0o600))
			text, failed = call("write_file", map[string]any{"file_path": path, "content": "x", "base_content_sha256": hash})
			require.True(t, failed)
			require.Contains(t, text, "file_changed_since_read")
			got, hash = read(path, true) // by the refusal, which shows the change
			require.Equal(t, foreign, got)
			text, failed = call("safe_patch", map[string]any{"file_path": path, "unified_diff": "@@ -1,1 +1,1 @@\n-foreign\n+ours\n", "base_content_sha256": hash})
			require.False(t, failed, text)
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, "ours\n"+want, string(after))

			for i := range 200 {
				require.NoError(t, os.WriteFile(filepath.Join(dir, strings.Repeat("n", 40)+string(rune('a'+i%26))+strings.Repeat("m", i)), []byte("hello\n"), 0o600))
			}
			for tool, args := range map[string]map[string]any{
				"list_directory":      {"dir_path": dir},
				"glob":                {"pattern": "**/*"},
				"search_file_content": {"pattern": "hello", "total_max_matches": 5000},
				"read_many_files":     {"paths": []string{"*"}},
			} {
				text, failed = call(tool, args)
				require.False(t, failed, text)
			}
		})
	}
}
