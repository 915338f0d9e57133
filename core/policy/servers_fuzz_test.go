package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// EX-17, AR-27: whatever the names of servers and their tools, an allowance for
// one server does not apply to another, and a denial for a server applies, also
// in the spelling of the tool's name.
func FuzzServers(f *testing.F) {
	fuzzseed.Add(f)
	for _, s := range [][3]string{
		{"a", "b", "x"}, {"a", "a_b", "c"}, {"a_b", "a", "b_c"}, {"a.b", "a_b", "c"}, {"a", "A", "x"}, {"a", "a*", "x"}, {"s", "s_", "_x"}, {"a_", "a", "_x"},
		{"ü", "__", "x"}, {strings.Repeat("s", 70), strings.Repeat("s", 69), "s_x"},
	} {
		f.Add(s[0], s[1], s[2], true)
		f.Add(s[0], s[1], s[2], false)
	}
	f.Fuzz(func(t *testing.T, allowed, server, tool string, known bool) {
		if allowed == "" || server == "" || tool == "" || allowed == server || strings.Contains(allowed+server+tool, "*") {
			return // invalid names of servers, and a rule's * is a wildcard
		}
		call := policy.Call{Tool: tools.QualifiedName(server, tool), Kind: "other", Server: server, ServerTool: tool}
		decide := func(rule policy.Rule) policy.Verdict {
			rule.Priority, rule.Tier = 900, policy.TierUser
			o := policy.Options{Rules: []policy.Rule{rule}}
			if known {
				o.Servers = []string{allowed, server}
			}
			e, err := policy.NewEngine(o)
			if err != nil {
				return policy.AskUser
			}
			return e.Decide(call).Decision
		}
		for _, rule := range []policy.Rule{{Tools: []string{"mcp_" + allowed + "_*"}}, {Tools: []string{"*"}, Server: allowed}, {Tools: []string{tool}, Server: allowed}} {
			rule.Decision = policy.Allow
			if got := decide(rule); known || rule.Server != "" {
				require.Equal(t, policy.AskUser, got, "%+v allows %+v", rule, call)
			}
		}
		for _, rule := range []policy.Rule{
			{Tools: []string{"mcp_" + server + "_*"}}, {Tools: []string{"*"}, Server: server}, {Tools: []string{call.Tool}}, {Tools: []string{"mcp_*"}}, {Tools: []string{"mcp_" + server + "_" + tool}},
		} {
			if strings.TrimSpace(rule.Tools[0]) != rule.Tools[0] || strings.TrimSpace(rule.Server) != rule.Server {
				continue
			}
			rule.Decision = policy.Deny
			require.Equal(t, policy.Deny, decide(rule), "%+v does not deny %+v", rule, call)
		}
	})
}
