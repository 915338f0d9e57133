package display

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/tools"
)

// AR-27: a preview looks like the approval request that it replaces.
func TestRenderPreview(t *testing.T) {
	require.Equal(t, "\nPlan mode: preview of a tool; no changes were made.\nwork\n", RenderPreview("a\ntool", tools.TextDisplay("work"), false))
	require.Equal(t, "\nPlan mode: preview of write_file; no changes were made.\nnew file: /w/a  +1 \u22120\n  1 +x\n",
		RenderPreview("write_file", tools.Display{Diff: &tools.FileDiff{FilePath: "/w/a", FileDiff: "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n", IsNewFile: true}}, false))
}

// AR-18: each kind of display.
func TestRenderDisplay(t *testing.T) {
	for want, d := range map[string]tools.Display{
		"a<U+001B>b\n":         tools.TextDisplay("a\x1bb"),
		"\x1b[31mred\x1b[0m\n": {ANSI: &tools.ANSIOutput{ANSI: "\x1b[31mred\x1b[2J\x1b]0;x\a"}},
		"  pending      one\n  in_progress  t<U+0007>wo\n": {Todo: &tools.TodoList{Todos: []tools.Todo{{Description: "one", Status: tools.TodoPending}, {Description: "t\awo", Status: tools.TodoInProgress}}}},
	} {
		var b strings.Builder
		RenderDisplay(&b, d, true)
		require.Equal(t, want, b.String())
	}
}
