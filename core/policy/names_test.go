package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// mcp returns a call of a tool at a server, with the name given by the registry.
func mcp(server, tool string) policy.Call {
	return policy.Call{Tool: "mcp_" + server + "_" + tool, Server: server, ServerTool: tool, Kind: "other"}
}

// AR-26: the names that a rule covers. Wildcards are literal, and a known
// server's name is never derived from a composed one, whatever underscores it
// contains (complaints 21727, 27981).
func TestNames(t *testing.T) {
	known := func(name string) policy.Call {
		c, ok := policy.WellKnown(name)
		require.True(t, ok, name)
		return c
	}
	spelt := policy.Call{Tool: "mcp_my_server_do_it_0badcafe", Server: "my server", ServerTool: "do it", Kind: "other"}
	long := strings.Repeat("x", 80)
	cut := policy.Call{Tool: "mcp_s_" + long[:48] + "_0badcafe", Server: "s", ServerTool: long, Kind: "other"}
	tests := []struct {
		server, tool string // of the rule
		call         policy.Call
		denies       bool
		allows       bool
	}{
		{"", "*", known("glob"), true, true},
		{"", "*", mcp("git", "log"), true, true},
		{"", "glob", known("glob"), true, true},
		{"", "glo", known("glob"), false, false},
		{"", "Glob", known("glob"), false, false},
		{"", "gl*", known("glob"), true, true},
		{"", "*lob", known("glob"), true, true},
		{"", "g*o*b", known("glob"), true, true},
		{"", "g*x*b", known("glob"), false, false},
		{"", "glob*", known("glob"), true, true},
		{"", "*glob*", known("glob"), true, true},
		{"", "gl*ob*b", known("glob"), false, false},
		{"", "discovered_tool_*", policy.Call{Tool: "discovered_tool_lint"}, true, true},
		{"", "tracker_*", known("tracker_get_task"), true, true},

		// Other names, both ways.
		{"", "grep_search", known("search_file_content"), true, true},
		{"", "search_file_content", policy.Call{Tool: "grep_search"}, true, true},
		{"", "replace", known("edit"), true, true},
		{"", "edit", policy.Call{Tool: "replace"}, true, true},
		{"", "repl*", known("edit"), true, true},
		{"", "google_web_search", known("web_search"), true, true},
		{"", "ShellTool", policy.Call{Tool: "own", Aliases: []string{"ShellTool"}, Params: []byte(`{"command":"x"}`)}, true, true},
		{"", "theirs", policy.Call{Tool: "own", Aliases: []string{"theirs"}}, true, true},

		// Names that govern a tool tighten and do not loosen.
		{"", "edit", known("safe_patch"), true, false},
		{"", "replace", known("safe_patch"), true, false},
		{"", "rep*", known("safe_patch"), true, false},
		{"", "governor", policy.Call{Tool: "own", GovernedBy: []string{"governor"}}, true, false},

		// Delegation is governed by the agent's name.
		{"", "investigator", policy.Call{Tool: "invoke_agent", Params: []byte(`{"agent_name":"investigator"}`)}, true, true},
		{"", "investigator", policy.Call{Tool: "invoke_agent", Params: []byte(`{"agent_name":"other"}`)}, false, false},
		{"", "investigator", policy.Call{Tool: "other", Params: []byte(`{"agent_name":"investigator"}`)}, false, false},

		// Servers.
		{"", "mcp_*", mcp("git", "log"), true, true},
		{"", "mcp_*", known("glob"), false, false},
		{"", "mcp_*", policy.Call{Tool: "mcp_unknown_x"}, true, true},
		{"", "mcp_git_*", mcp("git", "log"), true, true},
		{"", "mcp_git_*", mcp("github", "log"), false, false},
		{"", "mcp_git*", mcp("github", "log"), true, true},
		{"", "mcp_my_*", mcp("my", "server_log"), true, true},
		{"", "mcp_my_*", mcp("my_server", "log"), false, false},
		{"", "mcp_my_server_*", mcp("my_server", "log"), true, true},
		{"", "mcp_my_server_*", mcp("my", "log"), false, false},
		{"", "mcp_my_server_*", mcp("my", "server_log"), true, false}, // a server chooses the names of its tools
		{"", "mcp_my_server_log", mcp("my_server", "log"), true, true},
		{"", "mcp_my_server_log", mcp("my", "server_log"), true, false},
		{"", "mcp_my_server_log", policy.Call{Tool: "mcp_my_server_log_0badcafe", Server: "my", ServerTool: "server_log"}, true, false},
		{"", "mcp_my_server_log_0badcafe", policy.Call{Tool: "mcp_my_server_log_0badcafe", Server: "my", ServerTool: "server_log"}, true, false},
		{"", "mcp_my_serve*", mcp("my", "server_log"), true, false},
		{"", "mcp_my_other_*", mcp("my", "other_log"), true, true},
		{"", "mcp_*_search", mcp("my_server", "search"), true, true},
		{"", "mcp_*_search", mcp("my", "re_search"), false, false},
		{"", "mcp_*_get_*", mcp("my_server", "get_it"), true, true},
		{"", "mcp_git_log", mcp("git", "log"), true, true},
		{"", "mcp_git_lo*", mcp("git", "log"), true, true},
		{"", "mcp_git_log", policy.Call{Tool: "log", Server: "git", ServerTool: "log"}, true, true},

		// A name for models has "_" in place of other characters, or a hash at
		// its end: a denial by the displayed spelling applies, an allowance
		// belongs to the server with exactly that spelling.
		{"my server", "*", spelt, true, true},
		{"my server", "do it", spelt, true, true},
		{"my server", "do *", spelt, true, true},
		{"my server", "mcp_my server_do it", spelt, true, true},
		{"*", "do it", spelt, true, true},
		{"", "mcp_my server_*", spelt, true, true},
		{"", "mcp_my server_do it", spelt, true, true},
		{"", "mcp_*_do it", spelt, true, true},
		{"", "mcp_*", spelt, true, true},
		{"", "mcp_my_server_do_it_0badcafe", spelt, true, true},
		{"", "mcp_my_server_*", spelt, true, false},
		{"", "mcp_my_server_do_it", spelt, true, false},
		{"", "mcp_*_do_it", spelt, true, false},
		{"my_server", "*", spelt, true, false},
		{"my server", "do_it", spelt, true, false},
		{"*", "do_it", spelt, true, false},
		{"", "mcp_my_*", spelt, false, false},
		{"my", "*", spelt, false, false},
		{"other", "do it", spelt, false, false},
		{"s", long, cut, true, true},
		{"s", "*", cut, true, true},
		{"*", long, cut, true, true},
		{"", "mcp_s_*", cut, true, true},
		{"", "mcp_*_" + long, cut, true, true},
		{"", "mcp_s_" + long, cut, true, true},
		{"s", long[:60], cut, false, false},

		{"GIT", "*", mcp("git", "log"), true, false},
		{"git", "*", mcp("git", "log"), true, true},
		{"git", "*", mcp("github", "log"), false, false},
		{"git", "*", known("glob"), false, false},
		{"git", "log", mcp("git", "log"), true, true},
		{"git", "mcp_git_log", mcp("git", "log"), true, true},
		{"git", "l*", mcp("git", "log"), true, true},
		{"git", "status", mcp("git", "log"), false, false},
		{"*", "log", mcp("git", "log"), true, true},
		{"*", "log", mcp("git", "re_log"), false, false},
		{"*", "*", mcp("git", "log"), true, true},
		{"*", "*", known("glob"), false, false},
		{"my", "*", mcp("my_server", "log"), false, false},
		{"my_server", "*", mcp("my", "server_log"), false, false},

		// A tool that is not registered: my and my_server are known.
		{"my_server", "*", policy.Call{Tool: "mcp_my_server_log"}, true, true},
		{"my", "*", policy.Call{Tool: "mcp_my_server_log"}, true, false}, // the longest applies; the other might
		{"my", "server_log", policy.Call{Tool: "mcp_my_server_log"}, true, false},
		{"", "mcp_my_*", policy.Call{Tool: "mcp_my_server_log"}, true, false},
		{"", "mcp_my_server_*", policy.Call{Tool: "mcp_my_server_log"}, true, true},
		{"", "mcp_my_*", policy.Call{Tool: "mcp_my_log"}, true, true},
		{"", "mcp_my_server_log", policy.Call{Tool: "mcp_my_server_log"}, true, true},
		{"", "mcp_unknown_*", policy.Call{Tool: "mcp_unknown_log"}, true, true},
		{"*", "log", policy.Call{Tool: "mcp_unknown_log"}, true, true},
		{"other", "*", policy.Call{Tool: "mcp_unknown_log"}, false, false},
	}
	for _, tt := range tests {
		for _, verdict := range []policy.Verdict{policy.Deny, policy.Allow} {
			r := policy.Rule{Name: "the rule", Tools: []string{tt.tool}, Server: tt.server, Decision: verdict, Tier: policy.TierUser}
			e, err := policy.NewEngine(policy.Options{Rules: []policy.Rule{r}, Servers: []string{"git", "github", "my", "my_server", "my server", "s"}})
			require.NoError(t, err)
			want := tt.denies
			if verdict == policy.Allow {
				want = tt.allows
			}
			for range 2 { // found, and cached
				d := e.Decide(tt.call)
				require.Equal(t, want, d.Rule == "the rule", "%s %s/%s: %+v", verdict, tt.server, tt.tool, tt.call)
			}
		}
	}
}

// An allowance by a composed name belongs to one server, whatever other servers
// call their tools. If unknown servers may exist, only unambiguous names allow;
// denials are unaffected.
func TestComposedNames(t *testing.T) {
	for name, tt := range map[string]struct {
		servers []string
		tool    string
		call    policy.Call
		allows  bool
	}{
		"the longest":                {[]string{"a", "a_b"}, "mcp_a_b_*", mcp("a_b", "delete"), true},
		"not the shorter":            {[]string{"a", "a_b"}, "mcp_a_b_*", mcp("a", "b_delete"), false},
		"by name":                    {[]string{"a", "a_b"}, "mcp_a_b_delete", mcp("a_b", "delete"), true},
		"by name, the shorter":       {[]string{"a", "a_b"}, "mcp_a_b_delete", mcp("a", "b_delete"), false},
		"the only one":               {[]string{"a"}, "mcp_a_b_delete", mcp("a", "b_delete"), true},
		"all of the only one's":      {[]string{"a"}, "mcp_a_b_*", mcp("a", "b_delete"), true},
		"all of the shorter one's":   {[]string{"a", "a_b"}, "mcp_a_*", mcp("a", "b_delete"), true},
		"one that is spelt so":       {[]string{"a", "a b"}, "mcp_a_b_*", mcp("a", "b_delete"), false},
		"one that is spelt so, own":  {[]string{"a b"}, "mcp_a_b_delete", policy.Call{Tool: "mcp_a_b_delete", Server: "a b", ServerTool: "delete"}, true},
		"two that are spelt so":      {[]string{"a b", "a.b"}, "mcp_a_b_delete", policy.Call{Tool: "mcp_a_b_delete", Server: "a b", ServerTool: "delete"}, false},
		"one of two, by its name":    {[]string{"a b", "a_b"}, "mcp_a_b_*", mcp("a_b", "delete"), true},
		"the end of a server's name": {[]string{"a", "ab"}, "mcp_a*", mcp("ab", "delete"), true},
		"or of a tool's":             {[]string{"a", "a_b"}, "mcp_a_b*", mcp("a", "b_delete"), false},
		"or of a server's":           {[]string{"a", "a_b"}, "mcp_a_b*", mcp("a_b", "delete"), false},
		"any server":                 {[]string{"a", "a_b"}, "mcp_*_delete", mcp("a_b", "delete"), true},

		"unknown":                        {nil, "mcp_a_delete", mcp("a", "delete"), true},
		"unknown, all":                   {nil, "mcp_a_*", mcp("a", "b_delete"), true},
		"unknown, in two ways":           {nil, "mcp_a_b_delete", mcp("a", "b_delete"), false},
		"unknown, in two ways, longer":   {nil, "mcp_a_b_delete", mcp("a_b", "delete"), false},
		"unknown, all of the longer":     {nil, "mcp_a_b_*", mcp("a_b", "delete"), false},
		"unknown, many":                  {nil, "mcp_a*", mcp("ab", "delete"), true},
		"unknown, the end of a name":     {nil, "mcp_a_b*", mcp("a", "b_delete"), false},
		"unknown, any server":            {nil, "mcp_*", mcp("a_b", "delete"), true},
		"not among those that are known": {[]string{"a"}, "mcp_x_y_delete", mcp("x", "y_delete"), false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, verdict := range []policy.Verdict{policy.Allow, policy.Deny, policy.AskUser} {
				r := policy.Rule{Name: "the rule", Tools: []string{tt.tool}, Decision: verdict, Tier: policy.TierUser}
				e, err := policy.NewEngine(policy.Options{Rules: []policy.Rule{r}, Servers: tt.servers})
				require.NoError(t, err)
				if !strings.Contains(tt.tool, "*") && tt.tool == tt.call.Tool {
					require.Equal(t, !tt.allows, e.Decide(tt.call).Unnamed)
				}
				require.Equal(t, tt.allows || verdict != policy.Allow, e.Decide(tt.call).Rule == "the rule", verdict)
			}
			own := policy.Rule{Name: "own", Tools: []string{tt.call.ServerTool}, Server: tt.call.Server, Decision: policy.Allow, Tier: policy.TierUser}
			e, err := policy.NewEngine(policy.Options{Rules: []policy.Rule{own}, Servers: tt.servers})
			require.NoError(t, err)
			require.Equal(t, policy.Allow, e.Decide(tt.call).Decision, "a rule that names server and tool")
		})
	}
}

// Checkers apply to a call's other names too: an alias does not evade them.
func TestCheckersByAlias(t *testing.T) {
	e, err := policy.NewEngine(policy.Options{
		Rules: []policy.Rule{{Tools: []string{"glob"}, Decision: policy.Deny, Tier: policy.TierUser}},
		Checkers: []policy.Checker{
			{Name: "low", Rule: policy.Rule{Tools: []string{"*"}, Priority: 5, Tier: policy.TierUser}},
			{Name: "alias", Rule: policy.Rule{Tools: []string{"replace"}, Priority: 2000, Tier: policy.TierUser}},
			{Name: "pattern", Rule: policy.Rule{Tools: []string{"edit"}, ArgsPattern: `\.env`, Priority: 7, Tier: policy.TierUser}},
			{Name: "plan", Rule: policy.Rule{Tools: []string{"edit"}, Modes: []policy.ApprovalMode{policy.ModePlan}, Priority: 9, Tier: policy.TierUser}},
			{Name: "push", Rule: policy.Rule{Tools: []string{"run_shell_command"}, CommandPrefix: []string{"git push"}, Priority: 9, Tier: policy.TierUser}},
			{Name: "admin", Rule: policy.Rule{Tools: []string{"write_file"}, Tier: policy.TierAdmin}},
		},
	})
	require.NoError(t, err)
	names := func(c policy.Call) (names []string) {
		for _, ch := range e.Decide(c).Checkers {
			names = append(names, ch.Name)
		}
		return names
	}
	require.Equal(t, []string{"alias", "low"}, names(policy.Call{Tool: "edit"}))
	require.Equal(t, []string{"alias", "pattern", "low"}, names(policy.Call{Tool: "edit", Params: []byte(`{"file_path":".env"}`)}))
	require.Equal(t, []string{"alias", "pattern", "low"}, names(policy.Call{Tool: "edit", Params: []byte(`no JSON`)}))
	require.Equal(t, []string{"alias", "low"}, names(policy.Call{Tool: "safe_patch"}))
	require.Equal(t, []string{"admin", "low"}, names(policy.Call{Tool: "write_file"}))
	require.Empty(t, names(policy.Call{Tool: "glob"}))
	require.Equal(t, []string{"low"}, names(policy.Call{Tool: "run_shell_command", Params: []byte(`{"command":"git status"}`)}))
	require.Equal(t, []string{"push", "low"}, names(policy.Call{Tool: "run_shell_command", Params: []byte(`{"command":"ls && git push"}`)}))

	for _, bad := range []policy.Checker{
		{Rule: policy.Rule{Tools: []string{"*"}, Tier: policy.TierUser}},
		{Name: "x", Rule: policy.Rule{Tier: policy.TierUser}},
		{Name: "x", Rule: policy.Rule{Tools: []string{"*"}, Priority: -1, Tier: policy.TierUser}},
		{Name: "x", Rule: policy.Rule{Tools: []string{"*"}, ArgsPattern: "(", Tier: policy.TierUser}},
	} {
		require.Error(t, bad.Validate())
		_, err := policy.NewEngine(policy.Options{Checkers: []policy.Checker{bad}})
		require.Error(t, err)
	}
}
