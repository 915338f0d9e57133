package tui

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/tools"
)

// UI-04: on the page of an output, the same key lists the calls with output, the last one
// first. Choosing one opens its page.
func TestOutputsOfEarlierCalls(t *testing.T) {
	r := newRig(t, newFake())
	for _, name := range []string{"first", "second", "silent", "third"} {
		shown, err := json.Marshal(tools.TextDisplay(lines(3, name)))
		require.NoError(t, err)
		if name == "silent" {
			shown = nil
		}
		r.send(bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{{CallID: name, Name: "run_shell_command", Description: "make " + name, Status: bus.StatusSuccess, Display: shown}}})
	}
	r.press("alt+o")
	require.Contains(t, r.text(), "1  third 1\n")
	require.Contains(t, r.text(), "alt+o lists other outputs")
	r.press("alt+o")
	require.Regexp(t, `(?s)Output of calls.*make third.*make second.*make first`, r.text())
	require.NotContains(t, r.m.View().Content[strings.Index(r.m.View().Content, "Output of calls"):], "silent")
	require.Contains(t, r.text(), "3 lines")
	r.press("down", "enter")
	require.Contains(t, r.text(), "1  second 1\n")
	r.press("alt+o")
	r.typeIn("first")
	r.press("enter")
	require.Contains(t, r.text(), "1  first 1\n")
	r.press("/", "alt+o", "esc", "esc")
	require.Nil(t, r.m.pager)
	require.Nil(t, r.m.picker)
	require.Empty(t, r.s.texts(), "nothing is submitted")
	r.press("?", "alt+o")
	require.Nil(t, r.m.picker, "the page of keys is no output")
}

// UI-04: a file that is large is read while its page is displayed. A search and the move to
// the end wait for that, without delaying a frame, and a closed page ends both.
func TestLargeOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output.txt")
	f, err := os.Create(path)
	require.NoError(t, err)
	_, err = f.WriteString("the beginning\n")
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("\nlast words\n"), 64<<20) // with a hole before it
	require.NoError(t, err)
	require.NoError(t, f.Close())
	shown, err := json.Marshal(tools.Display{ANSI: &tools.ANSIOutput{ANSI: "...", SavedPath: path}})
	require.NoError(t, err)
	r := newRig(t, newFake())
	r.send(bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{{CallID: "1", Name: "run_shell_command", Description: "make", Status: bus.StatusSuccess, Display: shown}}})
	r.send(keyOf("alt+o"))
	require.Contains(t, r.text(), "1  the beginning\n")
	require.Contains(t, r.text(), "reading: 6 %")
	r.send(keyOf("G"))
	require.Contains(t, r.text(), "1  the beginning\n", "the end is not known yet")
	r.sees("last words")
	r.press("g", "/")
	r.typeIn("LAST WORDS")
	r.send(keyOf("enter"))
	require.Contains(t, r.text(), "searching…")
	r.send(keyOf("down")) // ends the search
	require.NotContains(t, r.text(), "searching…")
	r.until(func() bool { return r.m.reading == nil })
	require.NotContains(t, r.text(), "last words")
	r.press("n")
	require.Contains(t, r.text(), "3  last words\n")
	r.press("g")
	r.send(keyOf("n"))
	r.send(keyOf("q"))
	require.Nil(t, r.m.reading)
}

// UI-04: the output of a call opens as a page with line numbers and a search, also the
// lines that the conversation never shows.
func TestOutputPager(t *testing.T) {
	r := newRig(t, newFake())
	r.press("alt+o")
	require.Contains(t, r.text(), "no call has output yet")
	shown, err := json.Marshal(tools.TextDisplay(lines(2000, "output")))
	require.NoError(t, err)
	r.send(bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{{CallID: "1", Name: "run_shell_command", Description: "go test", Status: bus.StatusSuccess, Display: shown}}})
	r.press("alt+o")
	require.Contains(t, r.text(), "   1  output 1\n")
	r.press("G")
	require.Contains(t, r.text(), "2000  output 2000\n")
	r.press("/")
	r.typeIn("PUT 77")
	r.press("enter")
	require.Contains(t, r.text(), "  77  output 77\n")
	r.press("n")
	require.Contains(t, r.text(), " 770  output 770\n")
	r.press("N")
	require.Contains(t, r.text(), "  77  output 77\n")
	r.press("g", "/")
	r.typeIn("nothing")
	r.press("enter")
	require.Contains(t, r.text(), "not found: nothing")
	r.press("esc")
	require.Nil(t, r.m.pager)
}
