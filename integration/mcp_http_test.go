package integration_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// httpServer is a running fettle mcp serve --http.
type httpServer struct {
	t   *testing.T
	url string
	dir string
	cmd *exec.Cmd
	end func() error // terminates the process and waits for it
	ids atomic.Int64 // of requests
}

// serveHTTP starts a server in a temporary directory, on a free port.
func serveHTTP(t *testing.T, env []string, args ...string) *httpServer {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "fettle", append(args, "--http", "127.0.0.1:0")...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "HOME="+t.TempDir()), env...)
	out, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	_, url, found := strings.Cut(strings.TrimSpace(line), "serving MCP at ")
	require.True(t, found, line)
	s := &httpServer{t: t, url: url, dir: dir, cmd: cmd}
	s.end = sync.OnceValue(func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if _, err := io.Copy(io.Discard, lines); err != nil {
			return err
		}
		return cmd.Wait()
	})
	t.Cleanup(func() { require.NoError(t, s.end()) }) // exit code 0
	return s
}

// post sends a message and returns the status and the body of the response, and the
// result of a call in it. header adds headers, such as the session.
func (s *httpServer) post(message string, header map[string]string) (*http.Response, map[string]any, error) {
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url, bytes.NewReader([]byte(message)))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(string(body)) {
		var m map[string]any
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &m) == nil && m["id"] != nil && m["method"] == nil {
			return resp, m, nil
		}
	}
	return resp, nil, nil
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// connect starts a session and returns its headers.
func (s *httpServer) connect(header map[string]string) (map[string]string, error) {
	resp, m, err := s.post(hello, header)
	if err != nil || m["result"] == nil {
		return nil, fmt.Errorf("initialize: %v, %v", m, err)
	}
	of := map[string]string{"Mcp-Session-Id": resp.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": "2025-11-25"}
	for name, value := range header {
		of[name] = value
	}
	_, _, err = s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, of)
	return of, err
}

// call calls a tool and returns its text and whether it is an error.
func (s *httpServer) call(header map[string]string, tool, args string) (text string, failed bool, err error) {
	_, m, err := s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, s.ids.Add(1), tool, args), header)
	if err != nil {
		return "", false, err
	}
	result, _ := m["result"].(map[string]any)
	if result == nil {
		return "", false, fmt.Errorf("call of %s: %v", tool, m)
	}
	failed, _ = result["isError"].(bool)
	for _, part := range result["content"].([]any) {
		blockText, _ := part.(map[string]any)["text"].(string)
		text += blockText + "\n"
	}
	return text, failed, nil
}

// many returns a number of clients or calls: few, or all in the full run.
func many(few, all int) int {
	if os.Getenv("FETTLE_FULL") != "" {
		return all
	}
	return few
}

// EX-20: each client has its own file state: a file that one client has read is
// unread for the others.
func TestHTTPClientsAreApart(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, nil, "--layout", "gemini", "--approval-mode", "auto_edit", "mcp", "serve")
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "all.txt"), []byte("shared\n"), 0o644))
	n := many(20, 100)
	headers := make([]map[string]string, n)
	problems := make(chan error, 8*n)
	each := func(f func(i int) error) {
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				if err := f(i); err != nil {
					problems <- fmt.Errorf("client %d: %w", i, err)
				}
			})
		}
		all.Wait()
		select {
		case err := <-problems:
			require.NoError(t, err)
		default:
		}
	}
	each(func(i int) (err error) {
		headers[i], err = s.connect(nil)
		return err
	})
	wants := func(i int, tool, args string, failed bool, says string) error {
		text, got, err := s.call(headers[i], tool, args)
		if err == nil && (got != failed || !strings.Contains(text, says)) {
			err = fmt.Errorf("%s gave %q, an error: %t", tool, text, got)
		}
		return err
	}
	// Every second client reads the file; for the others it stays unread.
	each(func(i int) error {
		if i%2 == 0 {
			return wants(i, "read_file", `{"file_path":"all.txt"}`, false, `"version":1,`)
		}
		return nil
	})
	each(func(i int) error {
		if i%2 == 0 {
			return wants(i, "read_file", `{"file_path":"all.txt"}`, false, "file_unchanged")
		}
		return wants(i, "replace", `{"file_path":"all.txt","old_string":"shared","new_string":"mine"}`, true, "never_read")
	})
	each(func(i int) error {
		own := fmt.Sprintf("own%d.txt", i)
		if err := wants(i, "write_file", fmt.Sprintf(`{"file_path":%q,"content":"mine"}`, own), false, "success"); err != nil {
			return err
		}
		return wants((i+1)%n, "replace", fmt.Sprintf(`{"file_path":%q,"old_string":"mine","new_string":"yours"}`, own), true, "never_read")
	})
}

// EX-20: a thousand concurrent calls are all answered.
func TestHTTPManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, nil, "mcp", "serve")
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("here\n"), 0o644))
	header, err := s.connect(nil)
	require.NoError(t, err)
	n := many(200, 1000)
	problems := make(chan error, n)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			text, failed, err := s.call(header, "read_file", `{"file_path":"a.txt","offset":0,"limit":1}`)
			if err == nil && (failed || !strings.Contains(text, "here")) {
				err = fmt.Errorf("%q, an error: %t", text, failed)
			}
			problems <- err
		})
	}
	all.Wait()
	for range n {
		require.NoError(t, <-problems)
	}
}

// EX-20: without sessions a hash proves a read, and a change without a hash is refused.
func TestHTTPStateless(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, nil, "--approval-mode", "auto_edit", "--core-tools", "read_file,write_file,safe_patch,edit", "mcp", "serve", "--stateless")
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("one\n"), 0o644))
	header := map[string]string{"Mcp-Protocol-Version": "2025-11-25"}
	for range 2 {
		text, failed, err := s.call(header, "read_file", `{"file_path":"a.txt"}`)
		require.NoError(t, err)
		require.False(t, failed)
		require.Contains(t, text, `"version":1,`)
		require.Contains(t, text, `one\n`)
	}
	text, failed, err := s.call(header, "edit", `{"file_path":"a.txt","old_string":"one","new_string":"two"}`)
	require.NoError(t, err)
	require.True(t, failed)
	require.Contains(t, text, "no_session")
	text, failed, err = s.call(header, "write_file", fmt.Sprintf(`{"file_path":"a.txt","content":"two\n","base_content_sha256":%q}`,
		"2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806"))
	require.NoError(t, err)
	require.False(t, failed, text)
}

// EX-20: server/discover describes the server as initialize does, with sessions and
// without.
func TestHTTPDiscover(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"mcp", "serve"}, {"mcp", "serve", "--stateless"}} {
		s := serveHTTP(t, nil, args...)
		_, m, err := s.post(hello, nil)
		require.NoError(t, err)
		initialized := m["result"].(map[string]any)
		_, m, err = s.post(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"})
		require.NoError(t, err)
		found := m["result"].(map[string]any)
		require.Equal(t, initialized["capabilities"], found["capabilities"], args)
		require.Equal(t, initialized["instructions"], found["instructions"], args)
		require.NotEmpty(t, found["instructions"])
		require.Equal(t, "private", found["cacheScope"])
	}
}

// EX-20: an approval of protocol revision 2026-07-28 is valid only for the request
// that it answers: sent again with the call but without the request state, it
// approves nothing.
func TestHTTPApprovalsAreNotReplayed(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, nil, "mcp", "serve", "--stateless")
	header := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "run_shell_command"}
	call := func(more string) map[string]any {
		_, m, err := s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_shell_command","arguments":{"command":"echo x >>made"}`+more+
			`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`, header)
		require.NoError(t, err)
		result, _ := m["result"].(map[string]any)
		require.NotNil(t, result, "%v", m)
		return result
	}
	asked := call("")
	questions, _ := asked["inputRequests"].(map[string]any)
	require.Len(t, questions, 1)
	var answers string
	for key := range questions {
		answers = fmt.Sprintf(`,"inputResponses":{%q:{"action":"accept","content":{"answer":"once"}}}`, key)
	}
	require.NotContains(t, call(fmt.Sprintf(`%s,"requestState":%q`, answers, asked["requestState"])), "inputRequests")
	made, err := os.ReadFile(filepath.Join(s.dir, "made"))
	require.NoError(t, err)
	require.Equal(t, "x\n", string(made))

	require.Len(t, call(answers)["inputRequests"], 1, "the server asks for approval again")
	made, err = os.ReadFile(filepath.Join(s.dir, "made"))
	require.NoError(t, err)
	require.Equal(t, "x\n", string(made))
}

// EX-20: only certain clients may use the server.
func TestHTTPAccess(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header map[string]string
		status int
	}{
		"the token":             {map[string]string{"Authorization": "Bearer let-me-in-please"}, http.StatusOK},
		"another token":         {map[string]string{"Authorization": "Bearer let-me-in"}, http.StatusUnauthorized},
		"no token":              {nil, http.StatusUnauthorized},
		"a page elsewhere":      {map[string]string{"Authorization": "Bearer let-me-in-please", "Origin": "https://evil.example"}, http.StatusForbidden},
		"a page that may":       {map[string]string{"Authorization": "Bearer let-me-in-please", "Origin": "https://good.example"}, http.StatusOK},
		"another name for it":   {map[string]string{"Authorization": "Bearer let-me-in-please", "Host": "evil.example"}, http.StatusForbidden},
		"a name that it may be": {map[string]string{"Authorization": "Bearer let-me-in-please", "Host": "good.example"}, http.StatusOK},
	}
	s := serveHTTP(t, []string{"SERVE_TOKEN=let-me-in-please"}, "--approval-mode", "yolo", "mcp", "serve",
		"--token-env", "SERVE_TOKEN", "--allow-host", "good.example", "--allow-origin", "https://good.example")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resp, _, err := s.post(hello, tt.header)
			require.NoError(t, err)
			require.Equal(t, tt.status, resp.StatusCode)
		})
	}
	header, err := s.connect(map[string]string{"Authorization": "Bearer let-me-in-please"})
	require.NoError(t, err)
	text, failed, err := s.call(header, "run_shell_command", `{"command":"env"}`)
	require.NoError(t, err)
	require.False(t, failed)
	require.NotContains(t, text, "let-me-in-please", "commands do not inherit the token")
}
