package integration_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// conversation is a running fettle call --batch.
type conversation struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
}

// reply holds the fields of a result that these tests use.
type reply struct {
	Status string
	Result struct {
		Success bool
		Message string
		SHA256  string
		Latest  struct {
			Version *int64
			SHA256  *string
			Content *string
		} `json:"latest_file_state"`
	}
	Error struct{ Type string }
}

func converse(t *testing.T, dir string) *conversation {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "fettle", "--cwd", dir, "--approval-mode", "auto_edit", "call", "--batch")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return &conversation{t, cmd, in, json.NewDecoder(bufio.NewReader(out))}
}

// call sends one call and waits for its result.
func (c *conversation) call(tool string, args map[string]any) reply {
	c.t.Helper()
	require.NoError(c.t, json.NewEncoder(c.in).Encode(map[string]any{"tool": tool, "args": args}))
	var r reply
	require.NoError(c.t, c.answers.Decode(&r))
	return r
}

// end closes stdin and returns the exit code.
func (c *conversation) end() int {
	c.t.Helper()
	require.NoError(c.t, c.in.Close())
	return exitCode(c.t, c.cmd.Wait())
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	require.NoError(t, err)
	return 0
}

func hashOfFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// FS-28, FS-29: a read, an edit by another program, the refusal, and the recovery
// with the state in the refusal, by the program and through pipes.
func TestPatchRefusalRecovery(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	require.NoError(t, os.WriteFile(file, []byte("one\ntwo\nthree\n"), 0o644))
	c := converse(t, dir)

	read := c.call("read_file", map[string]any{"file_path": "a.txt"})
	require.Equal(t, hashOfFile(t, file), read.Result.SHA256)

	require.NoError(t, os.WriteFile(file, []byte("ONE\ntwo\nthree\n"), 0o644))
	patch := map[string]any{
		"file_path":           "a.txt",
		"unified_diff":        "@@ -9,9 +9,9 @@\n two\n-three\n+four\n",
		"base_content_sha256": read.Result.SHA256,
	}
	refused := c.call("safe_patch", patch)
	require.Equal(t, "error", refused.Status)
	require.Equal(t, "file_changed_since_read", refused.Error.Type)
	require.True(t, strings.HasPrefix(refused.Result.Message, "State Mismatch: File has changed on disk since it was last read."), refused.Result.Message)
	require.Equal(t, "ONE\ntwo\nthree\n", *refused.Result.Latest.Content)
	require.Equal(t, int64(2), *refused.Result.Latest.Version)

	patch["base_content_sha256"] = *refused.Result.Latest.SHA256
	applied := c.call("safe_patch", patch)
	require.Equal(t, "success", applied.Status)
	require.True(t, applied.Result.Success)
	require.Equal(t, int64(3), *applied.Result.Latest.Version)
	require.Equal(t, hashOfFile(t, file), *applied.Result.Latest.SHA256)

	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "ONE\ntwo\nfour\n", string(data))
	require.Equal(t, 1, c.end(), "one call of the session was refused")

	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "FS-09: no other file remains in the project")
}

// AR-29: Ctrl-C ends the program with exit code 130, here while it waits for a call.
func TestInterruptedProgram(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot send an interrupt to a process")
	}
	c := converse(t, t.TempDir())
	c.call("list_directory", map[string]any{"dir_path": "."}) // it is running
	require.NoError(t, c.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 130, exitCode(t, c.cmd.Wait()))
}

// A demo whose reader closes the pipe still removes its scratch directory.
func TestDemoWithoutReader(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	defer w.Close()
	cmd := exec.CommandContext(t.Context(), "fettle", "demo")
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "TMP="+tmp)
	cmd.Stdout = w
	require.Equal(t, 1, exitCode(t, cmd.Run()))
	entries, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, entries)
}
