package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/policy"
)

// ruleCounts are the sizes of the cases policy/KIND-N.
func ruleCounts() []int { return []int{10, 100, 1_000, 10_000} }

func policyCases() []Case {
	var all []Case
	for _, kind := range []struct {
		key, title, what, tool, params string
		most                           map[int]float64 // the budgets by number of rules
	}{
		{"plain", "a decision on a plain tool", "A decision about a tool whose arguments no rule examines.",
			"read_file", `{"file_path":"/w/a.go"}`, map[int]float64{10: 2e3, 10_000: 5e3}},
		{"pattern", "a decision on a tool with an `argsPattern`", "A decision about a tool whose arguments a rule matches.",
			"write_file", `{"content":"package main\n\nfunc main() {}\n","file_path":"a.go"}`, nil},
		{"shell", "a decision on a command line of three programs", "A decision about a command line, which is parsed first.",
			"run_shell_command", `{"command":"git status --short | grep -v '^??' | wc -l"}`,
			map[int]float64{10: 50e3, 100: 50e3, 1_000: 50e3, 10_000: 50e3}},
	} {
		for _, n := range ruleCounts() {
			c := Case{ID: fmt.Sprintf("policy/%s-%d", kind.key, n), Title: kind.title + ", " + thousands(n) + " rules",
				Description: kind.what + " The rules are for other tools and other commands.",
				Growth:      &Growth{Plot: "policy", Line: kind.title, X: float64(n)},
				Contestants: []Contestant{{"fettle", Ours, decision(n, kind.tool, kind.params)}}}
			if most, ok := kind.most[n]; ok {
				c.Budgets = []Budget{{Kind: Absolute, Most: most}}
			}
			all = append(all, c)
		}
	}
	return all
}

func decision(n int, tool, params string) func(context.Context, *Lab) (*Prepared, error) {
	return func(context.Context, *Lab) (*Prepared, error) {
		e, err := policy.NewEngine(policy.Options{Rules: manyRules(n)})
		if err != nil {
			return nil, err
		}
		c, ok := policy.WellKnown(tool)
		if !ok {
			return nil, fmt.Errorf("the policy has no tool %s", tool)
		}
		c.Params, c.Dir, c.Roots = json.RawMessage(params), "/w", []string{"/w"}
		if d := e.Decide(c); d.Decision != policy.Allow {
			return nil, fmt.Errorf("the decision about %s is %s: %s", tool, d.Decision, d.Reason)
		}
		return &Prepared{InProcess: true, Run: timed(func(context.Context) error { e.Decide(c); return nil })}, nil
	}
}

// manyRules returns n rules of every kind. Only the last four apply to write_file or to the
// measured commands.
func manyRules(n int) []policy.Rule {
	verdicts := []policy.Verdict{policy.Allow, policy.Deny, policy.AskUser}
	rules := make([]policy.Rule, 0, n)
	for i := range n - 4 {
		r := policy.Rule{Decision: verdicts[i%3], Priority: i % 900, Tier: policy.TierUser, Source: "many.toml", Line: i + 1}
		switch i % 4 {
		case 0:
			r.Tools = []string{fmt.Sprintf("tool_%d", i)}
		case 1:
			r.Tools, r.CommandPrefix = []string{"run_shell_command"}, []string{fmt.Sprintf("program%d sub", i)}
		case 2:
			r.Tools, r.Server = []string{"*"}, fmt.Sprintf("server_%d", i)
		default:
			r.Tools, r.ArgsPattern = []string{fmt.Sprintf("other_%d", i)}, `"path":"[a-z]+"`
		}
		rules = append(rules, r)
	}
	return append(rules,
		policy.Rule{Tools: []string{"write_file"}, Decision: policy.Deny, ArgsPattern: `\.env`, Priority: 10, Tier: policy.TierUser},
		policy.Rule{Tools: []string{"write_file"}, Decision: policy.Allow, Priority: 5, Tier: policy.TierUser},
		policy.Rule{Tools: []string{"run_shell_command"}, Decision: policy.Deny, CommandPrefix: []string{"git push", "rm -rf"}, Priority: 10, Tier: policy.TierUser},
		policy.Rule{Tools: []string{"run_shell_command"}, Decision: policy.Allow, CommandPrefix: []string{"git status", "grep", "wc"}, Priority: 10, Tier: policy.TierUser})
}

// thousands formats n with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	var parts []string
	for len(s) > 3 {
		parts, s = append([]string{s[len(s)-3:]}, parts...), s[:len(s)-3]
	}
	return strings.Join(append([]string{s}, parts...), ",")
}
