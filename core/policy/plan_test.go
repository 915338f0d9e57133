package policy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// CR-22: plan mode previews calls that change something, except for Markdown
// files directly in the plans directory and for rules that name the mode.
func TestPlanMode(t *testing.T) {
	const dir = "/w/.fettle/plans"
	write := func(tool, path string) policy.Call {
		c, ok := policy.WellKnown(tool)
		require.True(t, ok)
		c.Mode, c.Dir, c.Roots = policy.ModePlan, "/w", []string{"/w"}
		c.Params = fmt.Appendf(nil, `{"file_path":%q}`, path)
		return c
	}
	tests := map[string]struct {
		call policy.Call
		real map[string]string
		want policy.Verdict // allow, or ask_user: a preview
	}{
		"a plan":              {write("write_file", dir+"/a.md"), nil, policy.Allow},
		"a relative plan":     {write("write_file", ".fettle/plans/a.md"), nil, policy.Allow},
		"by safe_patch":       {write("safe_patch", dir+"/a-b_c.md"), nil, policy.Allow},
		"by edit":             {write("edit", dir+"/a.md"), nil, policy.Allow},
		"by replace":          {write("replace", dir+"/a.md"), nil, policy.Allow},
		"by another":          {write("save_memory", dir+"/a.md"), nil, policy.AskUser},
		"no Markdown":         {write("write_file", dir+"/a.sh"), nil, policy.AskUser},
		"nameless":            {write("write_file", dir+"/.md"), nil, policy.AskUser},
		"deeper":              {write("write_file", dir+"/b/a.md"), nil, policy.AskUser},
		"elsewhere":           {write("write_file", "/w/a.md"), nil, policy.AskUser},
		"a directory like it": {write("write_file", "/w/.fettle/plans2/a.md"), nil, policy.AskUser},
		"with ..":             {write("write_file", dir+"/../plans/a.md"), nil, policy.AskUser},
		"no path":             {write("write_file", ""), nil, policy.AskUser},
		"a link out":          {write("write_file", dir+"/a.md"), map[string]string{dir + "/a.md": "/w/README.md"}, policy.AskUser},
		"a link to no .md":    {write("write_file", dir+"/a.md"), map[string]string{dir + "/a.md": dir + "/run.sh"}, policy.AskUser},
		"a linked directory":  {write("write_file", dir+"/a.md"), map[string]string{dir + "/a.md": "/p/a.md"}, policy.AskUser},
		"linked to its own":   {write("write_file", dir+"/a.md"), map[string]string{dir + "/a.md": "/w/a.md"}, policy.AskUser},
		"a linked target":     {write("write_file", dir+"/a.md"), map[string]string{dir + "/a.md": "/p/.fettle/plans/a.md", "/w": "/p"}, policy.Allow},
		"both":                {write("write_file", dir+"/a.md"), map[string]string{dir + "/a.md": "/p/a.md", "/w": "/p"}, policy.AskUser},
	}
	rule := policy.Rule{Name: "it", Tools: []string{"*"}, Decision: policy.Allow, Tier: policy.TierUser}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			decide := func(rules ...policy.Rule) policy.Decision {
				e, err := policy.NewEngine(policy.Options{PlansDir: dir, Rules: rules})
				require.NoError(t, err)
				c := tt.call
				c.RealPaths = tt.real
				for path := range tt.real {
					require.Contains(t, e.Paths(c), path)
				}
				return e.Decide(c)
			}
			d := decide()
			require.Equal(t, tt.want, d.Decision)
			require.Equal(t, tt.want == policy.AskUser, d.Previews)
			if d.Decision == policy.Allow {
				require.Equal(t, "plans directory", d.Rule)
			} else {
				require.Equal(t, "plan mode", d.Rule)
			}
			require.Equal(t, tt.want, decide(rule).Decision, "a rule without modes")

			other := rule
			other.Modes = []policy.ApprovalMode{policy.ModeYolo}
			require.Equal(t, tt.want, decide(other).Decision, "a rule for another mode")

			named := rule
			named.Modes = []policy.ApprovalMode{policy.ModePlan}
			d = decide(named)
			require.Equal(t, policy.Allow, d.Decision)
			require.False(t, d.Previews)

			deny := rule
			deny.Decision, deny.Priority = policy.Deny, 10
			require.Equal(t, policy.Deny, decide(named, deny).Decision)
			deny.Tier, deny.Priority = policy.TierDefault, 20 // below the rule of yolo; nothing overrides it here
			require.Equal(t, policy.Deny, decide(rule, deny).Decision)

			ask := rule
			ask.Decision = policy.AskUser
			d = decide(ask)
			require.Equal(t, policy.AskUser, d.Decision, "a user's ask holds for plans too")
			require.Equal(t, tt.want == policy.AskUser, d.Previews)
		})
	}
	e, err := policy.NewEngine(policy.Options{PlansDir: dir})
	require.NoError(t, err)
	strangers := write("write_file", dir+"/a.md")
	strangers.PlanByUntrusted = true
	require.True(t, e.Decide(strangers).Previews, "plan mode that a stranger's project asks for")
	none := engine(t).Decide(write("write_file", "/a.md"))
	require.True(t, none.Previews, "no plans directory")
	c := write("write_file", dir+"/a.md")
	c.Mode = policy.ModeDefault
	require.Equal(t, []string{dir + "/a.md", "/w"}, e.Paths(c))
}

// CR-22: a preview in plan mode names the rule that would allow it.
func TestPlanNamesItsModes(t *testing.T) {
	e := engine(t)
	write := called(t, "write_file", `{"file_path":"a.txt"}`)
	write.Mode = policy.ModePlan
	for _, call := range []policy.Call{command(t, "git status", policy.ModePlan), write} {
		require.Contains(t, e.Decide(call).Remedy, `modes = ["plan"]`)
	}
}
