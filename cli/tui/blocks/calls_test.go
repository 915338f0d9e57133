package blocks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/tools"
)

func shown(b *Call) string {
	return ansi.Strip(strings.Join(b.Render(Style{Columns: 80, Theme: &theme.Theme{}}), "\n"))
}

// A call that plan mode only previewed does not look completed.
func TestPreviewIsNotDone(t *testing.T) {
	b := &Call{}
	b.Update(bus.ToolCallState{Name: "write_file", Description: "Write x", Status: bus.StatusSuccess, Preview: true})
	require.Equal(t, "· write_file Write x (plan: not run)", shown(b))
}

// A result that repeats the title takes no row.
func TestResultThatIsTheTitle(t *testing.T) {
	tests := map[string]bool{`"Read f.txt"`: false, `"f.txt"`: false, `"Read 3 lines of f.txt"`: true, `"Read f.txt\nand more"`: true}
	for display, row := range tests {
		b := &Call{}
		b.Update(bus.ToolCallState{Name: "read_file", Description: "f.txt", Status: bus.StatusSuccess, Display: []byte(display)})
		require.Equal(t, row, strings.Contains(shown(b), "╰"), "%s: %s", display, shown(b))
	}
}

// The output of a cancelled command stays visible.
func TestCancelledKeepsOutput(t *testing.T) {
	b := &Call{}
	b.Print("half of it\n", false)
	b.Update(bus.ToolCallState{Name: "run_shell_command", Status: bus.StatusCancelled, Display: []byte(`"gone"`), Error: &bus.Failure{Message: "The command was cancelled."}})
	require.Contains(t, shown(b), "half of it")
	require.Contains(t, shown(b), "The command was cancelled.")
}

// Steps of a subagent are shown once, without the braces of their arguments.
func TestStepsAreToldOnce(t *testing.T) {
	b := &Call{}
	b.Update(bus.ToolCallState{Name: "helper", Status: bus.StatusExecuting})
	for _, args := range []string{`{"file_path":"a \"b\".txt","limit":3}`, `{"limit":3`, `{"pattern": "cut of`} {
		b.Print("tool "+args+"\n", false)
		b.Activity(bus.Activity{Type: bus.ActivityToolCall, Content: "tool " + args})
	}
	require.NotContains(t, shown(b), "{")
	for _, want := range []string{`tool a "b".txt`, "tool cut of"} {
		require.Equal(t, 1, strings.Count(shown(b), want), shown(b))
	}
}

// TX-04: the result of a set has a title and the diff of each file; with hidden details
// the first lines of the diffs, and a number of files.
func TestResultOfASet(t *testing.T) {
	file := func(kind, name string, lines int) string {
		return fmt.Sprintf("%s %s\n--- a/%s\n+++ b/%s\n@@ -0,0 +1,%d @@\n%s\n", kind, name, name, name, lines, strings.Repeat("+line\n", lines))
	}
	set := func(text string) *Call {
		data, err := json.Marshal(tools.TextDisplay(text))
		require.NoError(t, err)
		return &Call{State: bus.ToolCallState{Name: "apply_patch", Status: bus.StatusSuccess, Display: data}}
	}
	few := shown(set(file("update", "a.txt", 2) + file("create", "b.txt", 1) + "delete c.bin (not text)\n"))
	require.Contains(t, few, "update a.txt +2 −0\n")
	require.Contains(t, few, "create b.txt +1 −0\n")
	require.Contains(t, few, "delete c.bin (not text) +0 −0")
	require.Equal(t, 3, strings.Count(few, "line"))
	require.NotContains(t, few, "@@")
	require.NotContains(t, few, "more")

	many := set(strings.Repeat(file("update", "a.txt", 5), 12))
	short := shown(many)
	require.Equal(t, shownResult, strings.Count(short, "line\n"))
	require.Equal(t, shownFiles, strings.Count(short, "update a.txt"))
	require.Contains(t, short, "… 4 more files")
	require.Contains(t, short, "… 52 more lines")
	whole := strings.Join(many.Render(Style{Columns: 80, Detail: true, Theme: &theme.Theme{}}), "\n")
	require.Equal(t, 60, strings.Count(whole, "line"))
	require.Equal(t, 12, strings.Count(whole, "update a.txt"))
}
