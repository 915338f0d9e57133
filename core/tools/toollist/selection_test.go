package toollist_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/toollist"
)

// AR-09: selection.
func TestSelection(t *testing.T) {
	read := tools.Spec{Name: "read_file", Aliases: []string{"cat"}}
	shell := tools.Spec{Name: "run_shell_command"}
	patch := tools.Spec{Name: "safe_patch", GovernedBy: []string{"edit", "replace"}}
	mcp := tools.Spec{Name: "search", Origin: tools.Origin{Group: tools.GroupMCP, Server: "s"}}
	clash := tools.Spec{Name: "mcp_my_server_do_it_0badcafe", Origin: tools.Origin{Group: tools.GroupMCP, Server: "my server", Tool: "do it"}}
	tests := map[string]struct {
		selection toollist.Selection
		spec      tools.Spec
		inDefault bool
		want      bool
	}{
		"default set":                  {toollist.Selection{}, read, true, true},
		"not in default set":           {toollist.Selection{}, read, false, false},
		"named":                        {toollist.Selection{Core: []string{"read_file"}}, read, false, true},
		"not named":                    {toollist.Selection{Core: []string{"read_file"}}, shell, true, false},
		"by alias":                     {toollist.Selection{Core: []string{"cat"}}, read, false, true},
		"with blanks":                  {toollist.Selection{Core: []string{" read_file "}}, read, false, true},
		"with a pattern":               {toollist.Selection{Core: []string{"read_file", "run_shell_command(git)"}}, shell, false, true},
		"with an open pattern":         {toollist.Selection{Core: []string{"run_shell_command(git"}}, shell, false, true},
		"a prefix of a name":           {toollist.Selection{Core: []string{"run_shell"}}, shell, true, false},
		"an empty list":                {toollist.Selection{Core: []string{}}, read, true, false},
		"an empty name":                {toollist.Selection{Core: []string{"", "()"}}, tools.Spec{}, true, false},
		"excluded":                     {toollist.Selection{Exclude: []string{"read_file"}}, read, true, false},
		"excluded by alias":            {toollist.Selection{Exclude: []string{"cat"}}, read, true, false},
		"excluded and named":           {toollist.Selection{Core: []string{"read_file"}, Exclude: []string{"read_file"}}, read, true, false},
		"excluded in part":             {toollist.Selection{Exclude: []string{"read_file(src)"}}, read, true, false},
		"commands excluded":            {toollist.Selection{Exclude: []string{"run_shell_command(rm)"}}, shell, true, true},
		"by its other name":            {toollist.Selection{Exclude: []string{" ShellTool (rm, mv)"}}, shell, true, true},
		"no commands excluded":         {toollist.Selection{Exclude: []string{"run_shell_command( , )"}}, shell, true, false},
		"the shell and another":        {toollist.Selection{Exclude: []string{"run_shell_command(rm)", "run_shell_command"}}, shell, true, false},
		"other excluded":               {toollist.Selection{Exclude: []string{"read"}}, read, true, true},
		"governing name excluded":      {toollist.Selection{Exclude: []string{"replace"}}, patch, true, false},
		"governing name in core":       {toollist.Selection{Core: []string{"edit"}}, patch, true, false},
		"MCP, independent of core":     {toollist.Selection{Core: []string{"read_file"}}, mcp, false, true},
		"MCP by its own name":          {toollist.Selection{Exclude: []string{"do it"}}, clash, false, false},
		"MCP by the composed one":      {toollist.Selection{Exclude: []string{"mcp_my server_do it"}}, clash, false, false},
		"MCP by the qualified":         {toollist.Selection{Exclude: []string{"mcp_my_server_do_it"}}, clash, false, false},
		"MCP by another server's name": {toollist.Selection{Exclude: []string{"mcp_my_server", "do", "server_do_it"}}, clash, false, true},
		"MCP excluded":                 {toollist.Selection{Exclude: []string{"search"}}, mcp, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, tt.selection.Includes(tt.spec, tt.inDefault))
		})
	}
}
