package integration_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// FK-05, FK-07: at a terminal a merge shows its diff and asks, and drop asks if changes would be lost.
func TestTerminalForks(t *testing.T) {
	t.Parallel()
	d := newTerminal(t)
	d.write("f.txt", "one\n")
	d.write("../turns.json", `{"turns": [
		{"calls": [{"tool": "write_file", "args": {"file_path": "new.txt", "content": "new\n"}}]}, {"text": "Done."}]}`)
	prompt := []string{"fettle", "--fork=x", "--approval-mode", "auto_edit", "--model", "script:../turns.json", "-p", "Add a file"}
	p := d.run(prompt...)
	p.shows("The changes are in the fork x.")
	require.Equal(t, "0", p.exitCode())
	added := filepath.Join(d.project, "new.txt")
	require.NoFileExists(t, added)

	answer := func(key, code string, command ...string) {
		t.Helper()
		p := d.run(append([]string{"fettle", "forks"}, command...)...)
		p.shows("[y]es")
		if command[0] == "merge" {
			p.shows("+new")
		}
		p.types(key)
		p.press("Enter")
		require.Equal(t, code, p.exitCode())
	}
	answer("n", "3", "merge", "x")
	require.NoFileExists(t, added)
	answer("n", "3", "drop", "x")
	answer("y", "0", "merge", "x")
	require.FileExists(t, added)
	require.NoError(t, os.Remove(added))
	p = d.run(append([]string{"fettle", "--fork=y"}, prompt[2:]...)...)
	p.shows("The changes are in the fork y.")
	answer("y", "0", "drop", "y")
	p = d.run("fettle", "forks", "list")
	require.NotContains(t, p.shows("x  "), "y  ")
}
