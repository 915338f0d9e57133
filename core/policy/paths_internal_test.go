package policy

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// BE-02: the short way of Engine.Paths decides the same as the whole one.
func TestShortWayOfPaths(t *testing.T) {
	pattern := Rule{Name: "p", Tools: []string{"read_file"}, ArgsPattern: `"file_path":"docs/`, Decision: Allow, Tier: TierUser}
	commands := Rule{Name: "c", Tools: []string{"run_shell_command"}, CommandPrefix: []string{"cat"}, Decision: Allow, Tier: TierUser}
	found := 0
	for _, rules := range [][]Rule{nil, {pattern}, {commands}, {pattern, commands}} {
		e, err := NewEngine(Options{PlansDir: "/plans", Rules: rules})
		require.NoError(t, err)
		for _, tool := range []string{"read_file", "write_file", "safe_patch", "run_shell_command", "invoke_agent", "other"} {
			for _, server := range []string{"", "files"} {
				for _, kind := range []string{"", "read", "edit", "execute"} {
					for _, mode := range []ApprovalMode{ModeDefault, ModeAutoEdit, ModeAuto, ModePlan, ModeYolo} {
						for _, aliases := range [][]string{nil, {"write_file"}, {"run_shell_command"}} {
							for _, args := range []string{`{"file_path":"docs/a.md"}`, `{"file_path":"/plans/a.md","content":""}`, `{"command":"cd /x && cat y > z"}`, `{"agent_name":"a"}`, `{}`} {
								c := Call{Tool: tool, Server: server, Kind: kind, Mode: mode, Aliases: aliases, Params: json.RawMessage(args), Dir: "/w"}
								want := e.now.Load().paths(c)
								require.Equal(t, want, e.Paths(c), "%+v", c)
								found += len(want)
							}
						}
					}
				}
			}
		}
	}
	require.NotZero(t, found)
}
