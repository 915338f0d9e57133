package policy_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// line returns a call of a command line.
func line(t testing.TB, command string) policy.Call {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": command})
	require.NoError(t, err)
	return called(t, "run_shell_command", string(args))
}

// PB-04: the fewest rules that would have answered questions, none broader than a
// saved approval, and none for calls that must keep asking.
func TestSuggest(t *testing.T) {
	server := called(t, "mcp_tickets_list", `{"page":1}`)
	server.Server, server.ServerTool = "tickets", "list"
	unconfined := called(t, "run_shell_command", `{"command":"go test ./...","unconfined":true,"reason":"network"}`)
	unconfined.Confinable, unconfined.Sealed = policy.Namespaces, true
	edits := line(t, "gofmt -w a.go")
	edits.Mode = policy.ModeAutoEdit
	yes := func(calls ...policy.Call) []policy.Call { return calls }
	for name, test := range map[string]struct {
		approved []policy.Call
		want     map[string]int // prompts by words
	}{
		"commands of one prefix": {yes(line(t, "go test ./..."), line(t, "go test ./a -run X"), line(t, "go vet ./...")),
			map[string]int{"commands that begin with go test": 2}},
		"parts of a line": {yes(line(t, "go test ./... && go vet ./..."), line(t, "go vet ./a"), line(t, "go test ./b")),
			map[string]int{"commands that begin with go test": 2, "commands that begin with go vet": 2}},
		"a line of which another part still asks": {yes(line(t, "go test ./... && rm -rf build"), line(t, "go test ./...")), map[string]int{}},
		"literal commands":                        {yes(line(t, "rm -rf build"), line(t, "rm -rf build"), line(t, "git push"), line(t, "git push")), map[string]int{}},
		"once":                                    {yes(line(t, "go test ./...")), map[string]int{}},
		"a file": {yes(called(t, "write_file", `{"file_path":"a.md","content":"x"}`), called(t, "write_file", `{"file_path":"/w/a.md","content":"y"}`)),
			map[string]int{"write_file on /w/a.md": 2}},
		"a protected file": {yes(called(t, "write_file", `{"file_path":".git/config","content":"x"}`), called(t, "write_file", `{"file_path":".git/config","content":"y"}`)),
			map[string]int{}},
		"a redirection to a protected file": {yes(line(t, "go version > .git/hooks/post-commit"), line(t, "go version > .git/hooks/post-commit")), map[string]int{}},
		"a server's tool":                   {yes(server, server, server), map[string]int{"the tool list of the MCP server tickets, with any arguments": 3}},
		"unconfined":                        {yes(unconfined, unconfined), map[string]int{}},
		"allowed already":                   {yes(called(t, "read_file", `{"file_path":"a"}`), called(t, "read_file", `{"file_path":"a"}`)), map[string]int{}},
		"a rule of a refused call": {yes(line(t, "go test ./..."), line(t, "go test ./a"), line(t, "go vet ./a"), line(t, "go vet ./b")),
			map[string]int{"commands that begin with go vet": 2}},
		"the mode of the approval": {yes(edits, edits), map[string]int{"commands that begin with gofmt, in auto_edit, auto, and yolo mode": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := policy.NewEngine(policy.Options{})
			require.NoError(t, err)
			before := e.Rules()
			var refused []policy.Call
			if name == "a rule of a refused call" {
				refused = append(refused, line(t, "go test ./secret"))
			}
			found, err := e.Suggest(test.approved, refused, 2)
			require.NoError(t, err)
			require.Equal(t, before, e.Rules(), "nothing is put in force")
			got := map[string]int{}
			for _, s := range found {
				got[s.Rule.Words()] = s.Prompts
				require.True(t, s.Rule.Approval)
				require.Equal(t, policy.TierUser, s.Rule.Tier)
				require.NoError(t, e.Add(s.Rule))
			}
			require.Equal(t, test.want, got)
			for _, s := range found {
				require.Len(t, s.Tests, 2)
				require.Equal(t, policy.Allow, s.Tests[0].Expect)
				require.Equal(t, policy.AskUser, s.Tests[1].Expect)
				for _, c := range s.Tests {
					require.Equal(t, c.Expect, e.Decide(c.Call).Decision, string(c.Call.Params))
				}
			}
			if name == "the mode of the approval" {
				require.False(t, slices.Contains(found[0].Rule.Modes, policy.ModeDefault))
			}
		})
	}
}

// PB-04: two approvals of one command in different modes need one rule.
func TestSuggestFewest(t *testing.T) {
	e, err := policy.NewEngine(policy.Options{})
	require.NoError(t, err)
	edits := line(t, "gofmt -l a.go")
	edits.Mode = policy.ModeAutoEdit
	found, err := e.Suggest([]policy.Call{edits, edits, edits, line(t, "gofmt -l b.go"), line(t, "gofmt -l c.go")}, nil, 2)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, 5, found[0].Prompts)
}

// PB-04: where lasting approvals are switched off, nothing is suggested.
func TestSuggestDisabled(t *testing.T) {
	e, err := policy.NewEngine(policy.Options{DisableAlwaysAllow: true})
	require.NoError(t, err)
	_, err = e.Suggest(nil, nil, 1)
	require.Equal(t, fault.NotRemembered, fault.CodeOf(err))
}
