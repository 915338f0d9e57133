package toollist_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/tools/toollist"
)

// Every name that other programs use for a built-in tool refers to that tool.
func TestNamesElsewhere(t *testing.T) {
	for name, tool := range map[string]string{"bash": "run_shell_command", "read": "read_file", "multiedit": "safe_patch", "edittool": "edit", "task": "invoke_agent", "ls": "list_directory"} {
		require.Contains(t, toollist.NamesElsewhere(tool), name)
		require.Contains(t, toollist.Entry{Name: name, Patterned: true}.Foreign(), tool)
	}
	require.Empty(t, toollist.NamesElsewhere("mcp_a_b"))
}
