package integration_test

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// docs/comparison.md describes a change that another program saves between read and
// write, with the same size and times. The test checks the statement for fettle, and
// for a peer if its npm package is in the directory FETTLE_BENCH_NODE or in
// integration/dev/bench/node.
func TestComparisonStaleWrite(t *testing.T) {
	t.Parallel()
	page := textOf(t, "docs/comparison.md")
	row := func(name, write, replace string) string { return "| " + name + " | " + write + " | " + replace + " |" }

	t.Run("fettle", func(t *testing.T) {
		got := map[string]string{}
		for _, tool := range []string{"write_file", "safe_patch", "edit"} {
			got[tool] = staleWrite(t, tool)
		}
		require.Equal(t, map[string]string{"write_file": "refused", "safe_patch": "refused", "edit": "refused"}, got)
		require.Contains(t, page, row("fettle", "refused", "refused"))
	})
	packages := cmp.Or(os.Getenv("FETTLE_BENCH_NODE"), "dev/bench/node")
	for name, npm := range map[string]string{"gemini-cli-core": "@google/gemini-cli-core", "server-filesystem": "@modelcontextprotocol/server-filesystem"} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("node"); err != nil || !fileExists(filepath.Join(packages, "node_modules", npm)) {
				t.Skipf("%s is not installed: npm install --prefix DIR %s, and FETTLE_BENCH_NODE=DIR", npm, npm)
			}
			cmd := exec.CommandContext(t.Context(), "node", "comparison/stale.mjs", name, packages)
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
			out, err := cmd.Output()
			require.NoError(t, err, "%s", out)
			var got struct{ Write, Replace string }
			require.NoError(t, json.Unmarshal(out, &got))
			require.Contains(t, page, row(name, got.Write, got.Replace))
		})
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// staleWrite reads a file, lets another program save it, and changes it with a tool,
// as comparison/stale.mjs does with peers.
func staleWrite(t *testing.T, tool string) string {
	dir := t.TempDir()
	file := filepath.Join(dir, "prices.txt")
	require.NoError(t, os.WriteFile(file, []byte("milk 120\nbread 300\n"), 0o644))
	c, err := config.New(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: t.TempDir()}, Policy: config.Policy{ApprovalMode: policy.ModeAutoEdit}, Tools: config.Tools{Core: []string{"read_file", tool}}})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	defer func() { require.NoError(t, c.Close()) }()
	calls, err := c.Scheduler()
	require.NoError(t, err)
	read := calls.Run(t.Context(), scheduler.Request{CallID: "1", Tool: "read_file", Args: json.RawMessage(`{"file_path": "prices.txt"}`)})
	var state struct{ SHA256 string }
	require.NoError(t, json.Unmarshal([]byte(read.Result.LLMContent.String()), &state))

	before, err := os.Stat(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("milk 125\nbread 300\n"), 0o644))
	require.NoError(t, os.Chtimes(file, before.ModTime(), before.ModTime()))
	args, err := json.Marshal(map[string]map[string]string{
		"write_file": {"file_path": "prices.txt", "content": "milk 120\nbread 310\n", "base_content_sha256": state.SHA256},
		"safe_patch": {"file_path": "prices.txt", "unified_diff": "@@ -2 +2 @@\n-bread 300\n+bread 310\n", "base_content_sha256": state.SHA256},
		"edit":       {"file_path": "prices.txt", "old_string": "bread 300", "new_string": "bread 310"},
	}[tool])
	require.NoError(t, err)
	write := calls.Run(t.Context(), scheduler.Request{CallID: "2", Tool: tool, Args: args})
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	switch {
	case write.Status != scheduler.StatusSuccess && string(now) == "milk 125\nbread 300\n":
		return "refused"
	case strings.Contains(string(now), "milk 125"):
		return "kept"
	}
	return "lost"
}
