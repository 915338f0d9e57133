package integration_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// ST-03, ST-04: clients of servers in processes of their own insert lines into their sections of one file. Half of the
// servers carry stale changes over at once, the others offer a token, which the client uses. Each acknowledged line is
// in the file once, and no other line is.
func TestMCPClientsChangeOneFile(t *testing.T) {
	t.Parallel()
	clients, lines := 4, 8
	if os.Getenv("FETTLE_FULL") != "" {
		clients, lines = 8, 200
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	path := filepath.Join(dir, "shared.txt")
	var first strings.Builder
	for i := range clients {
		fmt.Fprintf(&first, "# %d\n%s", i, strings.Repeat("-\n", 8))
	}
	require.NoError(t, os.WriteFile(path, []byte(first.String()), 0o600))

	var wg sync.WaitGroup
	var mu sync.Mutex
	acknowledged, counts := map[string]bool{}, map[string]int{}
	errs := make(chan error, clients)
	begin := make(chan struct{})
	for i := range clients {
		mode := "rebase"
		if i%2 == 1 {
			mode = "refuse"
		}
		cmd := exec.CommandContext(t.Context(), "fettle", "--approval-mode", "auto_edit", "--stale-edits", mode, "--max-result-bytes", "200000", "mcp", "serve")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+t.TempDir())
		session, err := sdk.NewClient(&sdk.Implementation{Name: "writer", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, session.Close()) }()
		wg.Go(func() {
			<-begin
			w := &sectionWriter{session: session, path: path, mode: mode, count: func(what string) { mu.Lock(); counts[what]++; mu.Unlock() }}
			for n := range lines {
				line := fmt.Sprintf("%d.%d", i, n)
				landed, err := w.insert(t, fmt.Sprintf("# %d", i), line)
				if err != nil {
					errs <- err
					return
				}
				mu.Lock()
				acknowledged[line] = acknowledged[line] || landed
				mu.Unlock()
			}
		})
	}
	close(begin)
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	found := map[string]int{}
	for line := range strings.SplitSeq(string(content), "\n") {
		if strings.Contains(line, ".") {
			found[line]++
		}
	}
	landed := 0
	for line, ok := range acknowledged {
		want := 0
		if ok {
			want, landed = 1, landed+1
		}
		require.Equal(t, want, found[line], "line %s; acknowledged: %t", line, ok)
		delete(found, line)
	}
	require.Empty(t, found)
	t.Logf("%d of %d lines acknowledged; %v", landed, clients*lines, counts)
	require.Positive(t, landed)
	require.Positive(t, counts["carried over"])
}

// sectionWriter patches its section of a file.
type sectionWriter struct {
	session    *sdk.ClientSession
	path, mode string
	hash       string // of the latest state; "": unknown
	count      func(what string)
}

var retryOffer = regexp.MustCompile(`retry-\d+`)

// insert inserts a line below another one. After a refusal it uses the offered token, up to three times.
func (w *sectionWriter) insert(t *testing.T, below, line string) (landed bool, err error) {
	if w.hash == "" {
		if _, _, err := w.call(t, "read_file", map[string]any{"file_path": w.path}); err != nil {
			return false, err
		}
	}
	diff := fmt.Sprintf("@@ @@\n %s\n+%s\n", below, line)
	for range 4 {
		if w.hash == "" {
			return false, fmt.Errorf("%s: no hash", line)
		}
		text, failed, err := w.call(t, "safe_patch", map[string]any{"file_path": w.path, "unified_diff": diff, "base_content_sha256": w.hash})
		if err != nil || !failed {
			if strings.Contains(text, "carried over") {
				w.count("carried over")
			}
			return err == nil, err
		}
		if !strings.Contains(text, "State Mismatch") && !strings.Contains(text, "file_changed_since_read") {
			return false, fmt.Errorf("%s: %s", line, text)
		}
		w.count("refused with " + w.mode)
		if offer := retryOffer.FindString(text); offer != "" {
			diff = offer
			w.count("tokens")
		}
	}
	return false, nil
}

// call calls a tool, and keeps the hash of the state in its result.
func (w *sectionWriter) call(t *testing.T, tool string, args map[string]any) (text string, failed bool, err error) {
	r, err := w.session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", false, err
	}
	w.hash = ""
	for _, part := range r.Content {
		if part, ok := part.(*sdk.TextContent); ok {
			text += part.Text + "\n"
			var result struct {
				fileState
				LatestFileState fileState `json:"latest_file_state"`
			}
			if json.Unmarshal([]byte(part.Text), &result) == nil {
				w.hash = cmp.Or(result.LatestFileState.SHA256, result.SHA256, w.hash)
			}
		}
	}
	return text, r.IsError, nil
}
