package policy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/policy"
)

// manyRules returns rules of every kind, none of them about write_file or about
// git status, and a few that are at the end.
func manyRules(n int) []policy.Rule {
	verdicts := []policy.Verdict{policy.Allow, policy.Deny, policy.AskUser}
	rules := make([]policy.Rule, 0, n)
	for i := len(rules); i < n-4; i++ {
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

// benchmark measures one decision with 10 to 10,000 rules.
func benchmark(b *testing.B, c policy.Call, want policy.Verdict) {
	for _, n := range []int{10, 100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			e := engine(b, manyRules(n)...)
			if d := e.Decide(c); d.Decision != want {
				b.Fatalf("%+v", d)
			}
			b.ReportAllocs()
			for b.Loop() {
				e.Decide(c)
			}
		})
	}
}

func BenchmarkDecidePlain(b *testing.B) {
	c, _ := policy.WellKnown("read_file")
	c.Params, c.Dir, c.Roots = json.RawMessage(`{"file_path":"/w/a.go"}`), "/w", []string{"/w"}
	benchmark(b, c, policy.Allow)
}

func BenchmarkDecidePattern(b *testing.B) {
	c, _ := policy.WellKnown("write_file")
	c.Params, c.Dir, c.Roots = json.RawMessage(`{"content":"package main\n\nfunc main() {}\n","file_path":"a.go"}`), "/w", []string{"/w"}
	benchmark(b, c, policy.Allow)
}

func BenchmarkDecideShell(b *testing.B) {
	c, _ := policy.WellKnown("run_shell_command")
	c.Params, c.Dir, c.Roots = json.RawMessage(`{"command":"git status --short | grep -v '^??' | wc -l"}`), "/w", []string{"/w"}
	benchmark(b, c, policy.Allow)
}

// BenchmarkDecideEdit is an edit that the mode allows, which looks at the table of
// protected paths.
func BenchmarkDecideEdit(b *testing.B) {
	c, _ := policy.WellKnown("edit")
	c.Params, c.Dir, c.Roots, c.Mode = json.RawMessage(`{"file_path":"/w/core/policy/shell/files.go"}`), "/w", []string{"/w"}, policy.ModeAutoEdit
	benchmark(b, c, policy.Allow)
}

// Patterns that deny are searched in each spelling of each part.
func BenchmarkDecideShellPatterns(b *testing.B) {
	for name, line := range map[string]string{
		"plain": "git status --short | grep -v '^??' | wc -l", "variable": `git log --author="$USER" -- '*.go' | wc -l`, "options": "rm -i -v a.txt",
	} {
		for _, n := range []int{10, 40, 10_000} {
			b.Run(fmt.Sprintf("%s/rules=%d", name, n), func(b *testing.B) {
				rules := []policy.Rule{{Tools: []string{"run_shell_command"}, Decision: policy.Allow, Tier: policy.TierUser}}
				for i := range n {
					r := policy.Rule{Tools: []string{"run_shell_command"}, Decision: policy.Deny, Priority: 900, CommandRegex: fmt.Sprintf("program%d .*--force", i), Tier: policy.TierUser}
					if i < len(usual) && !strings.HasPrefix(usual[i], "args ") {
						r.CommandRegex = usual[i]
					}
					rules = append(rules, r)
				}
				e := engine(b, rules...)
				c, _ := policy.WellKnown("run_shell_command")
				c.Params, _ = json.Marshal(map[string]string{"command": line})
				c.Dir, c.Roots = "/w", []string{"/w"}
				b.ReportAllocs()
				for b.Loop() {
					e.Decide(c)
				}
			})
		}
	}
}

// PB-06: decisions about lines of everyday work in auto mode, with patterns that
// deny.
func BenchmarkDecideAuto(b *testing.B) {
	e := table(b, policy.Rule{Tools: []string{"run_shell_command"}, Decision: policy.Deny, Priority: 900, CommandRegex: `(curl|wget) .*\| *(ba)?sh`, Tier: policy.TierUser},
		policy.Rule{Tools: []string{"run_shell_command"}, Decision: policy.Deny, Priority: 900, CommandRegex: `.*secret.*`, Tier: policy.TierUser})
	for name, line := range map[string]string{
		"one": "rg -n 'func New' core", "pipe": "git log --oneline -20 | head -5", "long": "cd core && grep -rn TODO --include='*.go' . | sort | uniq -c | sort -rn | head -20",
		"test": "go test ./... 2>&1 | tail -30", "commit": "git add -A && git commit -m 'fix: x'", "sed": "sed -i 's/a/b/g' src/a.go && gofmt -l src",
	} {
		b.Run(name, func(b *testing.B) {
			c := command(b, line, policy.ModeAuto)
			c.Confinable, c.Sealed = policy.Namespaces, true
			places(nil).look(e, &c)
			c.Line = nil
			b.ReportAllocs()
			for b.Loop() {
				e.Decide(c)
			}
		})
	}
}
