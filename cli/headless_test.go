package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/providers"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/redact"
)

// impatient opens sessions that do not wait before they retry a request.
func impatient(ctx context.Context, o program.SessionOptions) (program.Session, error) {
	adjust := o.Adjust
	o.Adjust = func(p *config.Parameters) {
		adjust(p)
		p.Conversation.Retry = agent.Retry{First: 1, StreamFirst: 1, Longest: 1}
	}
	return program.Open(ctx, o)
}

// chatWith runs a command line in a temporary project against a server that speaks
// the OpenAI protocol.
func chatWith(t *testing.T, stdout io.Writer, serve http.HandlerFunc, args ...string) (code int, stderr string) {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	home, project := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("OPENAI_BASE_URL", server.URL+"/v1")
	t.Setenv("OPENAI_API_KEY", "sk-of-the-test")
	require.NoError(t, os.WriteFile(filepath.Join(project, "f.txt"), []byte("one\n"), 0o644))
	var errs bytes.Buffer
	p := &program.Program{In: strings.NewReader(""), Out: stdout, Err: &errs, Open: impatient, Providers: providers.All{}}
	code = execute(t.Context(), p, append([]string{"--cwd", project, "-m", "openai:test-model"}, args...))
	return code, errs.String()
}

func delta(text string) string {
	chunk, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": text}}}})
	return "data: " + string(chunk) + "\n\n"
}

const done = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

// A key that a provider repeats in an error message is masked on stderr and in the
// JSON formats, also if it does not look like a key.
func TestErrorsHoldNoKeys(t *testing.T) {
	require.Equal(t, "sk-of-the-test", redact.Text("sk-of-the-test"), "the test shows nothing")
	for _, format := range []string{conversation.FormatText, conversation.FormatJSON, conversation.FormatStream} {
		t.Run(format, func(t *testing.T) {
			var out bytes.Buffer
			code, errs := chatWith(t, &out, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"error":{"message":"the key sk-of-the-test has no credit"}}`)
			}, "-p", "x", "-o", format)
			require.NotZero(t, code)
			require.Contains(t, errs+out.String(), "[masked]")
			require.NotContains(t, errs+out.String(), "sk-of-the-test")
		})
	}
}

// Without a session, errors mask the keys of the environment.
func TestErrorsWithoutSession(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-the-test")
	var errs bytes.Buffer
	p := &program.Program{In: strings.NewReader(""), Out: io.Discard, Err: &errs, Providers: providers.All{}}
	require.Equal(t, int(program.ExitUsage), execute(t.Context(), p, []string{"sk-of-the-test"}))
	require.Contains(t, errs.String(), "[masked]")
	require.NotContains(t, errs.String(), "sk-of-the-test")
}

// A provider is busy, then fails, then drops the connection, then answers: the answer
// is printed once, and stderr reports the attempts.
func TestHeadlessRetries(t *testing.T) {
	for _, format := range []string{conversation.FormatText, conversation.FormatJSON, conversation.FormatStream} {
		t.Run(format, func(t *testing.T) {
			n := 0
			serve := func(w http.ResponseWriter, _ *http.Request) {
				n++
				switch n {
				case 1:
					w.WriteHeader(http.StatusTooManyRequests)
					_, _ = io.WriteString(w, `{"error":{"message":"busy"}}`)
				case 2:
					w.WriteHeader(http.StatusInternalServerError)
				case 3:
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, delta("Half an ans"))
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				default:
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, delta("A whole ")+delta("answer.")+done)
				}
			}
			var out bytes.Buffer
			code, stderr := chatWith(t, &out, serve, "-o", format, "-p", "Hi")
			require.Zero(t, code, stderr)
			require.Equal(t, 3, strings.Count(stderr, "Retrying the model in"), stderr)
			switch format {
			case conversation.FormatText:
				require.Equal(t, "A whole answer.\n", out.String())
			case conversation.FormatJSON:
				var a struct {
					Response string
					Warnings []string
					Stats    struct {
						Models map[string]struct {
							API struct {
								Requests int            `json:"totalRequests"`
								Errors   int            `json:"totalErrors"`
								ByType   map[string]int `json:"errorsByType"`
							}
						}
					}
				}
				require.NoError(t, json.Unmarshal(out.Bytes(), &a))
				require.Equal(t, "A whole answer.", a.Response)
				require.Len(t, a.Warnings, 3)
				api := a.Stats.Models["test-model"].API
				require.Equal(t, 4, api.Requests)
				require.Equal(t, 3, api.Errors)
				require.Equal(t, map[string]int{"rate_limited": 1, "unavailable": 1, "connection": 1}, api.ByType)
			case conversation.FormatStream:
				require.Equal(t, 3, strings.Count(out.String(), `"severity":"warning"`))
				void := strings.LastIndex(out.String(), `"severity":"warning"`)
				require.Greater(t, void, strings.Index(out.String(), "Half an ans"))
				require.Less(t, void, strings.Index(out.String(), "A whole "), "what is told before the warning is void")
			}
		})
	}
}

// A model that returns no output on every attempt: exit code 1.
func TestHeadlessSaysNothing(t *testing.T) {
	n := 0
	var out bytes.Buffer
	code, stderr := chatWith(t, &out, func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, done)
	}, "-o", "json", "-p", "Hi")
	require.Equal(t, 1, code, stderr)
	require.Equal(t, 4, n)
	require.Contains(t, out.String(), `"type": "invalid_stream"`)
	require.Contains(t, out.String(), `"response": ""`)
}

// brokenPipe is an output whose reader is gone.
type brokenPipe struct{ err error }

func (b brokenPipe) Write([]byte) (int, error) { return 0, fmt.Errorf("write stdout: %w", b.err) }

// A reader that closes the pipe ends the run successfully; a full disk does not.
func TestHeadlessWriteFails(t *testing.T) {
	serve := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, delta("Hello.")+done)
	}
	code, stderr := chatWith(t, brokenPipe{syscall.EPIPE}, serve, "-o", "stream-json", "-p", "Hi")
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	code, stderr = chatWith(t, brokenPipe{errors.New("no space left")}, serve, "-p", "Hi")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "no space left")
}
