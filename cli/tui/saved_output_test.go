package tui

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/tools"
)

// UI-04: the whole output of a call opens from its file, by window: a search finds lines
// that the result omits, long lines and both ends are complete, and a file that is gone
// leaves the result.
func TestSavedOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output-1.txt")
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "\x1b[31moutput\x1b[0m %d\n", i+1)
	}
	b.WriteString(strings.Repeat("日本語 ", 2000) + "the end\x1b[2J")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	shown, err := json.Marshal(tools.Display{ANSI: &tools.ANSIOutput{ANSI: "output 1\n...\n", SavedPath: path}})
	require.NoError(t, err)
	r := newRig(t, newFake())
	r.send(bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{{CallID: "1", Name: "run_shell_command", Description: "make", Status: bus.StatusSuccess, Display: shown}}})
	r.press("alt+o")
	require.Contains(t, r.text(), "     1  output 1\n     2  output 2\n")
	r.press("down")
	require.NotContains(t, r.text(), " 1  output 1\n")
	r.press("up", "pgdown", "pgup")
	require.Contains(t, r.text(), "     1  output 1\n")
	r.press("/")
	r.typeIn("PUT 54321")
	r.press("enter")
	require.Contains(t, r.text(), " 54321  output 54321\n 54322  output 54322\n")
	r.press("n")
	require.Contains(t, r.text(), " 54321  output 54321\n")
	r.press("pgup", "N")
	require.Contains(t, r.text(), " 54321  output 54321\n")
	r.press("G")
	require.Contains(t, r.text(), "the end")
	require.Contains(t, r.text(), "100 % of 100,001 lines")
	end := r.text()
	r.press("down", "pgdown")
	require.Equal(t, end, r.text())
	for range 200 {
		r.press("up")
	}
	require.Contains(t, r.text(), "output 99")
	r.press("end")
	require.Equal(t, end, r.text())
	r.check()
	r.press("g", "/")
	r.typeIn("nothing")
	r.press("enter")
	require.Contains(t, r.text(), "not found: nothing")
	require.Contains(t, r.text(), "     1  output 1\n")
	r.press("q")
	require.NoError(t, os.Remove(path))
	r.press("alt+o")
	require.Contains(t, r.text(), "1  output 1\n2  ...\n")
}
