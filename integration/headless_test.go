package integration_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// headless runs fettle in a temporary directory with its own home and only the given
// variables.
type headless struct {
	t    *testing.T
	dir  string
	home string
	env  []string
}

func newHeadless(t *testing.T, vars map[string]string) *headless {
	t.Helper()
	h := &headless{t: t, dir: t.TempDir(), home: t.TempDir()}
	h.env = append([]string{"HOME=" + h.home, "TMPDIR=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, brief...)
	for name, value := range vars {
		h.env = append(h.env, name+"="+value)
	}
	return h
}

func (h *headless) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(h.t.Context(), "fettle", args...)
	cmd.Dir, cmd.Env = h.dir, h.env
	return cmd
}

// run returns the output and the exit code of a run.
func (h *headless) run(args ...string) (stdout, stderr string, code int) {
	h.t.Helper()
	var out, err bytes.Buffer
	cmd := h.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &err
	code = exitCode(h.t, cmd.Run())
	return out.String(), err.String(), code
}

func (h *headless) write(name, text string) {
	h.t.Helper()
	require.NoError(h.t, os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o644))
}

func (h *headless) read(name string) string {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, name))
	require.NoError(h.t, err)
	return string(data)
}

// streamed holds the fields of a stream-json line that these tests use.
type streamed struct {
	Type, Role, Content, Status string
	SessionID                   string `json:"session_id"`
	Timestamp                   time.Time
	Model                       string
	Tool                        string `json:"tool_name"`
	Error                       *struct{ Type, Message string }
	Stats                       *struct {
		ToolCalls int `json:"tool_calls"`
		Total     int `json:"total_tokens"`
		Models    map[string]any
	}
}

func lines(t *testing.T, stdout string) (all []streamed) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		var s streamed
		require.NoError(t, json.Unmarshal([]byte(line), &s), line)
		require.NotEmpty(t, s.Type)
		require.False(t, s.Timestamp.IsZero(), line)
		all = append(all, s)
	}
	require.NotEmpty(t, all)
	require.Equal(t, "result", all[len(all)-1].Type, "the latest")
	return all
}

// TE-05, CM-13, FS-28, FS-29, GO-08: the program, with each provider's wire format. A
// file that is mentioned with @ is patched without a read; the patch is refused
// because another program has saved the file; the refusal is sufficient for the next
// patch.
func TestHeadlessAtEachProvider(t *testing.T) {
	t.Parallel()
	const before, outside, after = "one\ntwo\nthree\n", "zero\none\ntwo\nthree\n", "zero\none\nTWO\nthree\n"
	const key = "sk-0123456789-very-secret"
	for _, format := range wireFormats {
		t.Run(format.name, func(t *testing.T) {
			var h *headless
			patch := func(id, text string) wireCall {
				return wireCall{id, "safe_patch", mustJSON(map[string]string{
					"file_path": "f.txt", "unified_diff": "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n", "base_content_sha256": shaIn(t, text),
				})}
			}
			server := serveModel(t, format, func(n int, r wireRequest, w http.ResponseWriter) *wireReply {
				switch last := r.last(); n {
				case 0:
					h.write("f.txt", outside) // another program saves it before the model answers
					return &wireReply{thought: "Hm.", text: "I patch it.", calls: []wireCall{patch("call_1", last.text)}}
				case 1:
					require.Contains(t, last.answers[0].failure, "file_changed_since_read")
					return &wireReply{text: "Another program was faster.", calls: []wireCall{patch("call_2", last.answers[0].output)}}
				case 2:
					return &wireReply{thought: "Well.", text: "Done."}
				default:
					require.Contains(t, fmt.Sprint(r.turns), "Another program was faster.", "the request has the history")
					return &wireReply{text: "As I said."}
				}
			})
			vars := format.env(server.url)
			for name := range vars {
				if strings.HasSuffix(name, "_KEY") {
					vars[name] = key
				}
			}
			h = newHeadless(t, vars)
			h.write("f.txt", before)
			stdout, stderr, code := h.run("-m", format.name+":test-model", "--approval-mode", "auto_edit", "-o", "stream-json", "-p", "Make two loud in @f.txt.")
			t.Logf("%s: exit %d\n%s%s", format.name, code, stdout, stderr)
			require.Zero(t, code)
			require.Empty(t, stderr)
			require.Equal(t, after, h.read("f.txt"))
			var text string
			var results []string
			all := lines(t, stdout)
			for _, s := range all {
				switch {
				case s.Type == "message" && s.Role == "assistant":
					text += s.Content
				case s.Type == "tool_result" && s.Error != nil:
					results = append(results, s.Error.Type)
				case s.Type == "tool_result":
					results = append(results, s.Status)
				}
			}
			require.Equal(t, "I patch it.Another program was faster.Done.", text, "the output has no thoughts")
			require.Equal(t, []string{"file_changed_since_read", "success"}, results)
			require.Equal(t, "test-model", all[0].Model)
			require.Contains(t, all[len(all)-1].Stats.Models, "test-model")
			require.Equal(t, 2, all[len(all)-1].Stats.ToolCalls)

			stdout, stderr, code = h.run("-m", format.name+":test-model", "--resume", "-p", "Are you sure?")
			require.Zero(t, code, stderr)
			require.Equal(t, "As I said.\n", stdout)
			shown, _, code := h.run("sessions", "show")
			require.Zero(t, code)
			require.Contains(t, shown, "Are you sure?")
			requireNowhere(t, h.home, key)
		})
	}
}

// requireNowhere fails if a file below a directory contains a text.
func requireNowhere(t *testing.T, dir, text string) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		require.NotContains(t, string(data), text, path)
		return err
	}))
	require.NotZero(t, files)
}

// An error of a provider is reported verbatim, without the key: exit code 1.
func TestHeadlessProviderFails(t *testing.T) {
	t.Parallel()
	const key = "sk-0123456789-very-secret"
	for _, format := range wireFormats {
		t.Run(format.name, func(t *testing.T) {
			server := serveModel(t, format, func(_ int, _ wireRequest, w http.ResponseWriter) *wireReply {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = w.Write([]byte(format.fail(http.StatusUnauthorized, "authentication_error", "the key "+key+" is wrong")))
				return nil
			})
			vars := format.env(server.url)
			for name := range vars {
				if strings.HasSuffix(name, "_KEY") {
					vars[name] = key
				}
			}
			h := newHeadless(t, vars)
			stdout, stderr, code := h.run("-m", format.name+":test-model", "--debug", "-o", "json", "-p", "hi")
			require.Equal(t, 1, code, stderr)
			var answer struct {
				Error struct{ Type, Message string }
			}
			require.NoError(t, json.Unmarshal([]byte(stdout), &answer), stdout)
			require.Equal(t, "model_error", answer.Error.Type)
			require.Contains(t, answer.Error.Message, "401")
			require.NotContains(t, stdout+stderr, key)
		})
	}
}

// Ctrl-C during a request ends the run immediately and cleanly: the exit code is 130,
// the output is complete, and the finished work is recorded.
func TestHeadlessInterrupted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such signal")
	}
	for _, output := range []string{"json", "stream-json", "text"} {
		t.Run(output, func(t *testing.T) {
			asked, release := make(chan struct{}), make(chan struct{})
			defer close(release)
			server := serveModel(t, openaiFormat, func(n int, _ wireRequest, _ http.ResponseWriter) *wireReply {
				switch n {
				case 0:
					return &wireReply{text: "I look.", calls: []wireCall{{"call_1", "read_file", `{"file_path":"f.txt"}`}}}
				case 1:
					close(asked)
					<-release
					return nil
				}
				return &wireReply{text: "Here I am again."}
			})
			h := newHeadless(t, openaiFormat.env(server.url))
			h.write("f.txt", "one\n")
			var out, errs bytes.Buffer
			cmd := h.command("-m", "openai:test-model", "-o", output, "--session-id", "cut", "-p", "Read f.")
			cmd.Stdout, cmd.Stderr = &out, &errs
			require.NoError(t, cmd.Start())
			<-asked
			for _, args := range [][]string{{"-m", "openai:test-model", "-r", "cut", "-p", "Me too."}, {"sessions", "delete", "cut"}} {
				_, stderr, code := h.run(args...)
				require.Equal(t, 1, code, "one process records a session")
				require.Contains(t, stderr, "cut")
			}
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			require.Equal(t, 130, exitCode(t, cmd.Wait()), errs.String())
			switch output {
			case "json":
				var answer struct {
					Response string
					Error    struct {
						Type string
						Code int
					}
				}
				require.NoError(t, json.Unmarshal(out.Bytes(), &answer), out.String())
				require.Equal(t, "cancelled", answer.Error.Type)
				require.Equal(t, 130, answer.Error.Code)
				require.Equal(t, "I look.", answer.Response)
			case "stream-json":
				all := lines(t, out.String())
				require.Equal(t, "cancelled", all[len(all)-1].Error.Type)
			case "text":
				require.Equal(t, "I look.\n", out.String())
				require.Contains(t, errs.String(), "Interrupted.")
			}
			shown, _, code := h.run("sessions", "show", "cut")
			require.Zero(t, code)
			require.Contains(t, shown, "← read_file: done")
			stdout, stderr, code := h.run("-m", "openai:test-model", "-r", "cut", "-p", "Go on.")
			require.Zero(t, code, stderr)
			require.Equal(t, "Here I am again.\n", stdout)
		})
	}
}

// A session whose only prompt was interrupted before the first answer is listed,
// shown and resumed by its id, its index and as the latest.
func TestHeadlessInterruptedAtOnce(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such signal")
	}
	asked, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	server := serveModel(t, openaiFormat, func(n int, _ wireRequest, _ http.ResponseWriter) *wireReply {
		if n == 0 {
			close(asked)
			<-release
			return nil
		}
		return &wireReply{text: "Here I am."}
	})
	h := newHeadless(t, openaiFormat.env(server.url))
	cmd := h.command("-m", "openai:test-model", "--session-id", "cut", "-p", "Think long.")
	require.NoError(t, cmd.Start())
	<-asked
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 130, exitCode(t, cmd.Wait()))

	listed, _, code := h.run("sessions", "list")
	require.Zero(t, code)
	require.Regexp(t, `(?m)^1\. .* 0 turns, interrupted +Think long\. +\[cut\]$`, listed)
	for _, ref := range []string{"cut", "1", "latest"} {
		shown, _, code := h.run("sessions", "show", ref)
		require.Zero(t, code)
		require.Contains(t, shown, "\n> Think long.\n[interrupted before an answer]\n")
	}
	asJSON, _, code := h.run("sessions", "show", "cut", "--json")
	require.Zero(t, code)
	var session struct {
		Interrupted bool
		Turns       []any
		TakenBack   []struct {
			At      int
			Content struct{ Role string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(asJSON), &session))
	require.True(t, session.Interrupted)
	require.Empty(t, session.Turns)
	require.Len(t, session.TakenBack, 1)
	require.Equal(t, "user", session.TakenBack[0].Content.Role)

	for _, ref := range []string{"latest", "1", "cut"} {
		stdout, stderr, code := h.run("-m", "openai:test-model", "-r", ref, "-p", "Go on.")
		require.Zero(t, code, stderr)
		require.Equal(t, "Here I am.\n", stdout)
	}
	listed, _, _ = h.run("sessions", "list")
	require.Regexp(t, `(?m)^1\. .* 6 turns +Go on\. +\[cut\]$`, listed, "the title is the first prompt of the history")
	require.NotContains(t, listed, "2.")
}

// Ctrl-C during a command ends the command; its call has a result, which is recorded.
func TestHeadlessInterruptsCommand(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such signal")
	}
	h := newHeadless(t, nil)
	h.write("turns.json", `{"turns": [{"calls": [{"tool": "run_shell_command", "args": {"command": "echo $$ > begun; sleep 600"}}]}]}`)
	h.write("on.json", `{"turns": [{"text": "Here."}]}`)
	require.NoError(t, exec.CommandContext(t.Context(), "mkfifo", filepath.Join(h.dir, "begun")).Run())
	var out, errs bytes.Buffer
	cmd := h.command("-m", "script:turns.json", "--approval-mode", "yolo", "-o", "stream-json", "--session-id", "cut", "-p", "Wait.")
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Start())
	began := h.read("begun") // waits for the command
	require.NotEmpty(t, began)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 130, exitCode(t, cmd.Wait()), errs.String())
	all := lines(t, out.String())
	require.Equal(t, "cancelled", all[len(all)-1].Error.Type)
	result := all[len(all)-2]
	require.Equal(t, "tool_result", result.Type)
	require.Equal(t, "error", result.Status)
	require.Equal(t, "cancelled", result.Error.Type)
	require.NoDirExists(t, filepath.Join("/proc", strings.TrimSpace(began)), "the command has ended")
	shown, _, code := h.run("sessions", "show", "cut")
	require.Zero(t, code)
	require.Contains(t, shown, "← run_shell_command: ")
	stdout, stderr, code := h.run("-m", "script:on.json", "-r", "-p", "Go on.")
	require.Zero(t, code, stderr)
	require.Equal(t, "Here.\n", stdout)
}

// A reader that closes the pipe ends the run quietly, and the run is recorded.
func TestHeadlessReaderLeaves(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows reports a closed pipe differently")
	}
	gone := make(chan struct{})
	server := serveModel(t, openaiFormat, func(n int, _ wireRequest, _ http.ResponseWriter) *wireReply {
		if n == 2 {
			<-gone
		}
		return &wireReply{text: "More.", calls: []wireCall{{fmt.Sprint("call_", n), "read_file", fmt.Sprintf(`{"file_path":"f%d.txt"}`, n)}}}
	})
	h := newHeadless(t, openaiFormat.env(server.url))
	var errs bytes.Buffer
	cmd := h.command("-m", "openai:test-model", "-o", "stream-json", "--session-id", "left", "-p", "Go.")
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(out)
	for line := ""; !strings.Contains(line, `"tool_result"`); { // a turn has ended and is recorded
		line, err = lines.ReadString('\n')
		require.NoError(t, err)
	}
	require.NoError(t, out.Close())
	close(gone)
	require.Zero(t, exitCode(t, cmd.Wait()), errs.String())
	require.Empty(t, errs.String())
	_, _, code := h.run("sessions", "show", "left")
	require.Zero(t, code)
}

// GO-08, KH-13: a session killed at any moment can be resumed: acknowledged data is
// present, its history is valid, and no file is torn.
func TestHeadlessKilled(t *testing.T) {
	t.Parallel()
	rounds := 4
	if os.Getenv("FETTLE_FULL") != "" {
		rounds = 50
	}
	h := newHeadless(t, nil)
	h.write("turns.json", patchingScript(40))
	h.write("on.json", `{"turns": [{"calls": [{"tool": "read_file", "args": {"file_path": "f.txt"}}]}, {"expect": {"tool": "read_file", "ok": true}, "text": "Here."}]}`)
	begun := time.Now()
	h.write("f.txt", "0\n")
	_, stderr, code := h.run("-m", "script:turns.json", "--approval-mode", "auto_edit", "-p", "Count.")
	require.Zero(t, code, stderr)
	require.Equal(t, "40\n", h.read("f.txt"))
	whole := time.Since(begun)

	resumed := 0
	for i := range rounds {
		id := fmt.Sprint("killed-", i)
		h.write("f.txt", "0\n")
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.Int64N(int64(whole)))) // SIGKILL
		cmd := exec.CommandContext(ctx, "fettle", "-m", "script:turns.json", "--approval-mode", "auto_edit", "--session-id", id, "-o", "stream-json", "-p", "Count.")
		cmd.Dir, cmd.Env = h.dir, h.env
		out, _ := cmd.Output()
		cancel()
		reported := 0
		for line := range strings.Lines(string(out)) {
			if strings.HasSuffix(line, "\n") && strings.Contains(line, `"tool_result"`) {
				reported++
			}
		}
		require.Regexp(t, `^\d+\n$`, h.read("f.txt"))
		listed, _, code := h.run("sessions", "list")
		require.Zero(t, code)
		if !strings.Contains(listed, "["+id+"]") {
			require.Zero(t, reported, "each reported turn is recorded")
			continue
		}
		resumed++
		stdout, stderr, code := h.run("-m", "script:on.json", "-r", id, "-p", "Go on.")
		require.Zero(t, code, stderr)
		require.Equal(t, "Here.\n", stdout)
		shown, _, code := h.run("sessions", "show", id)
		require.Zero(t, code)
		require.GreaterOrEqual(t, strings.Count(shown, "\n← "), reported+1, "the new read is recorded, too")
		var session struct {
			Highest int64 `json:"highestVersion"`
		}
		shown, _, _ = h.run("sessions", "show", id, "--json")
		require.NoError(t, json.Unmarshal([]byte(shown), &session))
		require.Greater(t, session.Highest, int64(reported), "the version of the read is above all assigned ones")
	}
	t.Logf("%d killed, %d of them resumed; a whole run took %s", rounds, resumed, whole)
}

// patchingScript counts in f.txt from 0 to n, one patch per turn.
func patchingScript(n int) string {
	turns := []string{`{"calls": [{"tool": "read_file", "args": {"file_path": "f.txt"}}]}`}
	for i := range n {
		turns = append(turns, fmt.Sprintf(`{"calls": [{"tool": "safe_patch", "args": {"file_path": "f.txt", "base_content_sha256": "{{sha256 \"f.txt\"}}", "unified_diff": "@@\n-%d\n+%d\n"}}]}`, i, i+1))
	}
	turns = append(turns, `{"text": "Counted."}`)
	return `{"turns": [` + strings.Join(turns, ",\n") + `]}`
}
