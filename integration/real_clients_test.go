package integration_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ST-03, ST-08: real gemini-cli and qwen-code use fettle as their MCP server. Their model is a
// script: it reads a file, another program changes the file, its safe_patch is refused as stale, and
// it recovers by the retry token. It knows the hash and the token only from the texts that the client passed on.
// qwen-code declares the tools of servers only after a call of its tool_search.
// The npm packages are in the directory FETTLE_BENCH_NODE or in integration/dev/bench/node.
func TestRealClientsRetry(t *testing.T) {
	if os.Getenv("FETTLE_FULL") == "" {
		t.Skip("runs with FETTLE_FULL=1")
	}
	packages, err := filepath.Abs(cmp.Or(os.Getenv("FETTLE_BENCH_NODE"), "dev/bench/node"))
	require.NoError(t, err)
	for _, c := range []realClient{
		{npm: "@google/gemini-cli", program: "gemini", dir: ".gemini", args: []string{"--approval-mode", "yolo", "--model", "gemini-2.5-flash"},
			settings: `"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}}, "privacy": {"usageStatisticsEnabled": false}`,
			env:      []string{"GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL=SERVER"}},
		{npm: "@qwen-code/qwen-code", program: "qwen", dir: ".qwen", args: []string{"--approval-mode", "yolo", "--auth-type", "openai"},
			settings: `"security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": false}`,
			env:      []string{"OPENAI_API_KEY=x", "OPENAI_BASE_URL=SERVER/v1", "OPENAI_MODEL=scripted"}},
	} {
		t.Run(c.program, func(t *testing.T) {
			bin := filepath.Join(packages, "node_modules", ".bin", c.program)
			if _, err := exec.LookPath("node"); err != nil || !fileExists(bin) {
				t.Skipf("%s is not installed: npm install --prefix DIR %s, and FETTLE_BENCH_NODE=DIR", c.program, c.npm)
			}
			for _, lines := range []int{40, 95, 400} {
				t.Run(fmt.Sprint(lines, " lines"), func(t *testing.T) { c.retry(t, bin, lines) })
			}
		})
	}
}

// realClient is a program that is an MCP client.
type realClient struct {
	npm, program, dir, settings string
	args, env                   []string
}

// retry runs the client on a file of a number of lines.
func (c realClient) retry(t *testing.T, bin string, lines int) {
	dir, home := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "main.txt")
	text := func(second, late string) string {
		var b strings.Builder
		for i := 1; i <= lines; i++ {
			line := fmt.Sprintf("line %d of a file", i)
			switch i {
			case 2:
				line = cmp.Or(second, line)
			case lines - 10:
				line = cmp.Or(late, line)
			}
			b.WriteString(line + "\n")
		}
		return b.String()
	}
	require.NoError(t, os.WriteFile(file, []byte(text("", "")), 0o600))
	model := &retryingModel{t: t, file: file, outside: text("theirs", ""), line: lines - 10}
	srv := httptest.NewServer(model)
	defer srv.Close()

	fettle, err := exec.LookPath("fettle")
	require.NoError(t, err)
	fettle, err = filepath.Abs(fettle)
	require.NoError(t, err)
	settings := fmt.Sprintf(`{"mcpServers": {"fettle": {"command": %q, "args": ["--approval-mode", "auto_edit", "mcp", "serve"], "trust": true}}, %s}`, fettle, c.settings)
	require.NoError(t, os.MkdirAll(filepath.Join(home, c.dir), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, c.dir, "settings.json"), []byte(settings), 0o600))

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, append(c.args, "-p", "Change the line.")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "NO_COLOR=1")
	for _, v := range c.env {
		cmd.Env = append(cmd.Env, strings.Replace(v, "SERVER", srv.URL, 1))
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, model.report())
	require.Contains(t, string(out), "It is done.", model.report())
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, text("theirs", "ours"), string(got), model.report())
	t.Log(model.report())
}

// retryingModel is the scripted model, with the wire formats of Gemini and of OpenAI.
type retryingModel struct {
	t             *testing.T
	file, outside string
	line          int // that the model changes

	mu    sync.Mutex
	turns []string
}

func (m *retryingModel) report() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.turns, "\n")
}

// modelCall is a call of the scripted model.
type modelCall struct {
	tool string
	args map[string]any
}

var (
	hashInResult   = regexp.MustCompile(`\\*"sha256\\*": ?\\*"([0-9a-f]{64})`)
	offsetInResult = regexp.MustCompile(`\\*"next_offset\\*": ?(\d+)`)
	tokenInResult  = regexp.MustCompile(`retry-\d+`)
)

// next returns the next call, nil at the end. names are the declared tools, and results the
// results of the calls so far, as the client passed them on.
func (m *retryingModel) next(names, results []string) *modelCall {
	m.mu.Lock()
	defer m.mu.Unlock()
	fettle := func(name string) bool { return strings.Contains(name, "fettle") }
	tool := func(name string) string {
		for _, n := range names {
			if strings.HasSuffix(n, name) && fettle(n) {
				return n
			}
		}
		m.turns = append(m.turns, "no tool "+name+" in "+strings.Join(names, " "))
		return name
	}
	switch {
	case len(results) == 0 && !slices.ContainsFunc(names, fettle) && slices.Contains(names, "tool_search"):
		return &modelCall{"tool_search", map[string]any{"query": "select:mcp__fettle__read_file,mcp__fettle__safe_patch"}}
	case !slices.ContainsFunc(results, hashInResult.MatchString) && !slices.ContainsFunc(results, offsetInResult.MatchString):
		return &modelCall{tool("read_file"), map[string]any{"file_path": m.file}}
	}
	last := results[len(results)-1]
	m.turns = append(m.turns, fmt.Sprintf("%d bytes: %.1500s", len(last), last))
	hash := hashInResult.FindStringSubmatch(last)
	patch := func(diff string) *modelCall {
		if hash == nil {
			m.turns = append(m.turns, "no hash in "+last)
			return nil
		}
		return &modelCall{tool("safe_patch"), map[string]any{"file_path": m.file, "base_content_sha256": hash[1], "unified_diff": diff}}
	}
	if strings.Contains(last, "reported tool error") && !strings.Contains(last, "isError") {
		m.turns = append(m.turns, "the client cut the refusal")
		return nil
	}
	token := tokenInResult.FindString(last)
	switch next := offsetInResult.FindStringSubmatch(last); {
	case strings.Contains(last, "Patch applied successfully"):
		return nil
	case token != "":
		return patch(token)
	case next != nil && hash == nil:
		var offset int
		_, _ = fmt.Sscan(next[1], &offset)
		return &modelCall{tool("read_file"), map[string]any{"file_path": m.file, "offset": offset}}
	}
	if err := os.WriteFile(m.file, []byte(m.outside), 0o600); err != nil {
		m.turns = append(m.turns, err.Error())
	}
	return patch(fmt.Sprintf("@@ -%d,3 +%d,3 @@\n line %d of a file\n-line %d of a file\n+ours\n line %d of a file\n", m.line-1, m.line-1, m.line-1, m.line, m.line+1))
}

func (m *retryingModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var q modelRequest
	if err := json.Unmarshal(body, &q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	names, results := q.names(), q.results()
	gemini := strings.Contains(r.URL.Path, "enerateContent")
	var call *modelCall
	switch {
	case !gemini && !strings.HasSuffix(r.URL.Path, "/chat/completions"):
		_, _ = io.WriteString(w, `{"totalTokens": 100}`)
		return
	case len(names) > 0:
		call = m.next(names, results)
	}
	id := fmt.Sprint("call-", len(results))
	var answer any
	switch {
	case gemini:
		part := map[string]any{"text": "It is done."}
		if call != nil {
			part = map[string]any{"functionCall": map[string]any{"id": id, "name": call.tool, "args": call.args}}
		}
		answer = map[string]any{
			"candidates":    []any{map[string]any{"content": map[string]any{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}},
			"usageMetadata": map[string]any{"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
		}
	default:
		message := map[string]any{"role": "assistant", "content": "It is done."}
		reason := "stop"
		if call != nil {
			args, _ := json.Marshal(call.args)
			message = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
				"index": 0, "id": id, "type": "function", "function": map[string]any{"name": call.tool, "arguments": string(args)}}}}
			reason = "tool_calls"
		}
		choice := map[string]any{"index": 0, "finish_reason": reason}
		choice["message"] = message
		kind := "chat.completion"
		if q.Stream {
			delete(choice, "message")
			choice["delta"], kind = message, "chat.completion.chunk"
		}
		answer = map[string]any{"id": id, "object": kind, "created": 1, "model": "scripted", "choices": []any{choice},
			"usage": map[string]any{"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}}
	}
	data, _ := json.Marshal(answer)
	if !q.Stream && !strings.Contains(r.URL.Path, "stream") {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	if !gemini {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
}

// modelRequest is a request of a model in either wire format.
type modelRequest struct {
	Stream bool `json:"stream"`
	Tools  []struct {
		FunctionDeclarations []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
	Contents []struct {
		Parts []struct {
			FunctionResponse *struct {
				Response json.RawMessage `json:"response"`
			} `json:"functionResponse"`
		} `json:"parts"`
	} `json:"contents"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

func (q modelRequest) names() []string {
	var all []string
	for _, t := range q.Tools {
		for _, d := range t.FunctionDeclarations {
			all = append(all, d.Name)
		}
		if t.Function.Name != "" {
			all = append(all, t.Function.Name)
		}
	}
	return all
}

func (q modelRequest) results() []string {
	var all []string
	for _, c := range q.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				all = append(all, string(p.FunctionResponse.Response))
			}
		}
	}
	for _, m := range q.Messages {
		if m.Role == "tool" {
			all = append(all, string(m.Content))
		}
	}
	return all
}
