package tui

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/tools"
)

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
