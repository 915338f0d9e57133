package policy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// approved adds the rules that remember the approval of a call.
func approved(t testing.TB, e *policy.Engine, c policy.Call, s policy.Scope) {
	t.Helper()
	rules, err := e.Narrow(c, s)
	require.NoError(t, err)
	require.NotEmpty(t, rules)
	for _, r := range rules {
		require.True(t, r.Approval)
	}
	require.NoError(t, e.Add(rules...))
	require.Equal(t, policy.Allow, e.Decide(c).Decision)
}

// AR-27: an approval overrides no written rule: one that denies applies, and so
// does one that asks about less than was approved. One that asks about more is
// answered.
func TestApprovalBelowWrittenRules(t *testing.T) {
	const allow, ask, deny = policy.Allow, policy.AskUser, policy.Deny
	rule := func(v policy.Verdict, priority int, tool, pattern string) policy.Rule {
		return policy.Rule{Tools: []string{tool}, Decision: v, Priority: priority, ArgsPattern: pattern, Tier: policy.TierUser, Source: "p.toml"}
	}
	remembered := func(prefixes ...string) policy.Rule {
		r := shellRule(allow, 950, prefixes...)
		r.Approval = true
		return r
	}
	session := remembered("git push")
	session.Session, session.Tier = true, policy.TierWorkspace
	project := shellRule(deny, 10, "git push --force")
	project.Tier = policy.TierWorkspace
	regex := policy.Rule{Tools: []string{"run_shell_command"}, Decision: ask, CommandRegex: "git push.*force", Priority: 1, Tier: policy.TierUser}
	tightens := shellRule(ask, 10, "git push --force")
	tightens.TightensOnly = true
	asSubagent := shellRule(ask, 10, "git")
	asSubagent.Subagent = "reviewer"
	exact := rule(allow, 950, "run_shell_command", `\x00"command":"git push --force"\x00`)
	exact.Approval = true
	const force = "git push --force"
	for name, tt := range map[string]struct {
		rules []policy.Rule
		line  string
		want  policy.Verdict
	}{
		"denied":                             {[]policy.Rule{remembered("git push"), shellRule(deny, 200, force)}, "git push origin --force", deny},
		"not denied":                         {[]policy.Rule{remembered("git push"), shellRule(deny, 200, force)}, "git push origin", allow},
		"as wide as what is denied":          {[]policy.Rule{remembered("git push"), shellRule(deny, 200, "git push")}, "git push", deny},
		"narrower than what is denied":       {[]policy.Rule{remembered("git push"), rule(deny, 1, "*", "")}, "git push", deny},
		"it may be denied":                   {[]policy.Rule{remembered("git push"), shellRule(deny, 200, force)}, `git push "$x"`, ask},
		"denied, for the session":            {[]policy.Rule{session, project}, force, deny},
		"not denied, for the session":        {[]policy.Rule{session, project}, "git push", allow},
		"asked, narrower":                    {[]policy.Rule{remembered("git push"), shellRule(ask, 200, force)}, force, ask},
		"asked, as wide":                     {[]policy.Rule{remembered("git push"), shellRule(ask, 200, "git push")}, force, allow},
		"asked, wider":                       {[]policy.Rule{remembered("git push"), shellRule(ask, 200, "git")}, force, allow},
		"asked, the tool":                    {[]policy.Rule{remembered("git push"), rule(ask, 200, "run_shell_command", "")}, force, allow},
		"asked, by a pattern":                {[]policy.Rule{remembered("git push"), regex}, force, ask},
		"asked, by a pattern that is missed": {[]policy.Rule{remembered("git push"), regex}, "git push", allow},
		"asked, by who may only tighten":     {[]policy.Rule{remembered("git push"), tightens}, force, ask},
		"asked, of a subagent":               {[]policy.Rule{remembered("git push"), asSubagent}, "git push", allow},
		"asked, and denied below":            {[]policy.Rule{remembered("git push"), shellRule(ask, 300, "git"), shellRule(deny, 200, force)}, force, ask},
		"allowed in front of what denies":    {[]policy.Rule{remembered("git push"), shellRule(allow, 300, force), shellRule(deny, 200, "git push")}, force, allow},
		"another approval is as narrow":      {[]policy.Rule{remembered("git"), remembered(force), shellRule(ask, 200, force)}, force, allow},
		"another approval is exact":          {[]policy.Rule{remembered("git"), exact, shellRule(ask, 200, force)}, force, allow},
		"an exact approval, and denied":      {[]policy.Rule{exact, shellRule(deny, 200, "git push")}, force, deny},
		"a written rule, not an approval":    {[]policy.Rule{shellRule(allow, 950, "git push"), shellRule(deny, 200, force)}, force, allow},
		"what a wrapper runs":                {[]policy.Rule{remembered("git push"), shellRule(deny, 200, force)}, "timeout 5 git push --force", deny},
	} {
		t.Run(name, func(t *testing.T) {
			d := engine(t, tt.rules...).Decide(command(t, tt.line, policy.ModeDefault))
			require.Equal(t, tt.want, d.Decision, "%+v", d)
			if tt.want == deny {
				require.NotContains(t, d.Rule, "allow")
			}
		})
	}
	c := command(t, "git push", policy.ModeDefault)
	c.Subagent = "reviewer"
	require.Equal(t, ask, engine(t, remembered("git push"), asSubagent).Decide(c).Decision)

	// A rule that covers a command brought by another one is an approval there
	// too.
	line := "find . -name x -delete"
	found := rule(allow, 950, "run_shell_command", `\x00"command":"find \. -name x -delete"\x00`)
	found.Approval = true
	require.Equal(t, allow, engine(t, found).Decide(command(t, line, policy.ModeDefault)).Decision)
	require.Equal(t, deny, engine(t, found, shellRule(deny, 1, "rm")).Decide(command(t, line, policy.ModeDefault)).Decision)

	file := rule(allow, 950, "write_file", "")
	file.Approval = true
	server := policy.Rule{Tools: []string{"*"}, Server: "git", Decision: allow, Priority: 950, Session: true, Approval: true}
	log := policy.Rule{Tools: []string{"log"}, Server: "git", Decision: deny, Tier: policy.TierWorkspace}
	whole := policy.Rule{Tools: []string{"*"}, Server: "git", Decision: ask, Tier: policy.TierWorkspace}
	with := func(r policy.Rule, v policy.Verdict) policy.Rule { r.Decision = v; return r }
	for name, tt := range map[string]struct {
		rules []policy.Rule
		call  policy.Call
		want  policy.Verdict
	}{
		"a file, denied":                 {[]policy.Rule{file, rule(deny, 1, "*", `\.env`)}, called(t, "write_file", `{"file_path":".env"}`), deny},
		"a file, asked":                  {[]policy.Rule{file, rule(ask, 1, "write_file", `\.env`)}, called(t, "write_file", `{"file_path":".env"}`), ask},
		"another file":                   {[]policy.Rule{file, rule(ask, 1, "write_file", `\.env`)}, called(t, "write_file", `{"file_path":"a"}`), allow},
		"a file that is redirected into": {[]policy.Rule{file, rule(deny, 1, "write_file", `\.env`)}, command(t, "echo > .env", policy.ModeDefault), deny},
		"a tool of a server, denied":     {[]policy.Rule{server, log}, mcp("git", "log"), deny},
		"a tool of a server, asked":      {[]policy.Rule{server, with(log, ask)}, mcp("git", "log"), ask},
		"another tool of the server":     {[]policy.Rule{server, log}, mcp("git", "add"), allow},
		"a server, asked":                {[]policy.Rule{server, whole}, mcp("git", "log"), allow},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, engine(t, tt.rules...).Decide(tt.call).Decision)
		})
	}
}

// AR-27: whatever is approved, nothing is allowed then that a rule denies now,
// and nothing becomes stricter.
func TestApprovalsAnswerOnly(t *testing.T) {
	lines := []string{"git push", "git push origin main", "git push --force", "git push origin --force", "git status", "make", "make test",
		"timeout 5 git push", "bash -c 'git push -f; make'", "echo hi > notes.txt", "echo hi > .env", "rm -rf build", "find . -delete", `git push "$x"`, "git -C x push"}
	sets := map[string][]policy.Rule{}
	for _, above := range []policy.Verdict{policy.Allow, policy.AskUser} {
		for _, wide := range []string{"git", "git push", "git push origin"} {
			for _, narrow := range []policy.Verdict{policy.Deny, policy.AskUser} {
				sets[fmt.Sprint(above, wide, narrow)] = []policy.Rule{
					shellRule(above, 300, wide), shellRule(narrow, 200, "git push --force", "rm", "make test"),
					{Tools: []string{"write_file"}, Decision: narrow, ArgsPattern: `\.env`, Priority: 200, Tier: policy.TierUser},
				}
			}
		}
	}
	strict := map[policy.Verdict]int{policy.Allow: 0, policy.AskUser: 1, policy.Deny: 2}
	remembered := 0
	for name, rules := range sets {
		for _, line := range lines {
			for _, scope := range []policy.Scope{policy.ScopeSession, policy.ScopeSaved} {
				before := engine(t, rules...)
				made, err := before.Narrow(command(t, line, policy.ModeDefault), scope)
				if err != nil {
					continue
				}
				remembered += len(made)
				after := engine(t, append(made, rules...)...)
				for _, other := range lines {
					c := command(t, other, policy.ModeDefault)
					was, is := before.Decide(c).Decision, after.Decide(c).Decision
					require.LessOrEqual(t, strict[is], strict[was], "%s: %q approved, %q", name, line, other)
					require.False(t, was == policy.Deny && is != policy.Deny, "%s: %q approved, %q", name, line, other)
				}
			}
		}
	}
	require.Greater(t, remembered, 100)
}
