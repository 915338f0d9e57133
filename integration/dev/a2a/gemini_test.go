package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// geminiModel is a server with Gemini's API. It answers "write NAME" with a call, the result of a call with "Written by
// the agent.", and any other prompt with text in two pieces.
func geminiModel(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Contents []struct {
				Parts []map[string]json.RawMessage
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		last, answered := "", false
		if n := len(q.Contents); n > 0 {
			for _, part := range q.Contents[n-1].Parts {
				last += string(part["text"])
				answered = answered || part["functionResponse"] != nil
			}
		}
		name := regexp.MustCompile(`write (\S+\.txt)`).FindStringSubmatch(last)
		parts := []string{`{"text":"All of "}`, `{"text":"the answer."}`}
		switch {
		case answered:
			parts = []string{`{"text":"Written by the agent."}`}
		case name != nil:
			parts = []string{fmt.Sprintf(`{"functionCall":{"name":"write_file","args":{"file_path":%q,"content":"text\n"}}}`, name[1])}
		}
		stream := strings.Contains(r.URL.Path, "stream")
		if !stream {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"candidates":[{"content":{"role":"model","parts":[%s]},"finishReason":"STOP"}],"totalTokens":1}`, strings.Join(parts, ","))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i, part := range parts {
			finish := ""
			if i == len(parts)-1 {
				finish = `,"finishReason":"STOP"`
			}
			fmt.Fprintf(w, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[%s]}%s,\"index\":0}]}\n\n", part, finish)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// caller is the model of fettle: it asks the remote agent for text, then for a file, and approves the file.
type caller struct {
	mu      sync.Mutex
	answers []string // of the remote agent
}

func (c *caller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct {
			Role    string
			Content string
		}
	}
	body := new(bytes.Buffer)
	_, _ = body.ReadFrom(r.Body)
	_ = json.Unmarshal(body.Bytes(), &q)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = nil
	for _, m := range q.Messages {
		if m.Role == "tool" {
			c.answers = append(c.answers, m.Content)
		}
	}
	query := ""
	switch len(c.answers) {
	case 0:
		query = "Say all of it."
	case 1:
		query = "write note.txt"
	case 2:
		id := regexp.MustCompile(`callId[\\":]+([^"\\]+)`).FindStringSubmatch(c.answers[1])
		if id == nil {
			http.Error(w, "no callId", http.StatusBadRequest)
			return
		}
		query = fmt.Sprintf(`{"callId": %q, "outcome": "proceed_once"}`, id[1])
	}
	delta := `{"role":"assistant","content":"Finished."}`
	if query != "" {
		args, _ := json.Marshal(map[string]string{"query": query})
		text, _ := json.Marshal(string(args))
		delta = fmt.Sprintf(`{"role":"assistant","tool_calls":[{"index":0,"id":"c%d","type":"function","function":{"name":"coder","arguments":%s}}]}`, len(c.answers), text)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", delta)
}

// FD-04: gemini-cli's A2A server works as a remote agent: its whole answer arrives, and its request for an approval, which
// is data, can be answered. The npm package @google/gemini-cli-a2a-server is in the directory FETTLE_A2A_NODE.
func TestGeminiServer(t *testing.T) {
	if os.Getenv("FETTLE_FULL") == "" {
		t.Skip("runs with FETTLE_FULL=1")
	}
	server := filepath.Join(os.Getenv("FETTLE_A2A_NODE"), "node_modules/@google/gemini-cli-a2a-server/dist/a2a-server.mjs")
	if _, err := os.Stat(server); err != nil {
		t.Skip("the server is not installed: npm install --prefix DIR @google/gemini-cli-a2a-server, and FETTLE_A2A_NODE=DIR")
	}
	work, home := t.TempDir(), t.TempDir()
	l, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())

	gemini := exec.CommandContext(t.Context(), "node", server)
	gemini.Dir = work
	gemini.Env = append(os.Environ(), "HOME="+t.TempDir(), "CODER_AGENT_WORKSPACE_PATH="+work, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", fmt.Sprint("CODER_AGENT_PORT=", port), "GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL="+geminiModel(t))
	log := new(bytes.Buffer)
	gemini.Stdout, gemini.Stderr = log, log
	require.NoError(t, gemini.Start())
	t.Cleanup(func() { _ = gemini.Process.Kill(); _ = gemini.Wait() })
	card := fmt.Sprintf("http://localhost:%d/.well-known/agent-card.json", port)
	require.Eventually(t, func() bool {
		resp, err := http.Get(card)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	}, time.Minute, 100*time.Millisecond, "the server did not start")

	agents := filepath.Join(home, ".fettle", "agents")
	require.NoError(t, os.MkdirAll(agents, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(agents, "coder.md"), fmt.Appendf(nil, "---\nkind: remote\nname: coder\ndescription: Writes code.\nagent_card_url: %s\n---\n", card), 0o600))
	model := new(caller)
	s := httptest.NewServer(model)
	t.Cleanup(s.Close)
	cmd := exec.CommandContext(t.Context(), build(t), "--cwd", t.TempDir(), "-m", "openai:m", "--approval-mode", "yolo", "-p", "Let the coder work.")
	cmd.Env = append(os.Environ(), "HOME="+home, "OPENAI_API_KEY=test", "OPENAI_BASE_URL="+s.URL+"/v1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, log)
	require.Len(t, model.answers, 3, "%s", out)
	require.Contains(t, model.answers[0], "All of the answer.")
	require.Contains(t, model.answers[1], "awaiting_approval", "%s", log)
	require.Contains(t, model.answers[2], "Written by the agent.")
	require.FileExists(t, filepath.Join(work, "note.txt"))
}
