package rulefile_test

import (
	"bytes"
	"testing"

	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

// FuzzParse: for any input nothing panics, an engine accepts the rules, problems have a
// position, and a tightening file never loosens.
func FuzzParse(f *testing.F) {
	fuzzseed.Add(f)
	for _, tt := range mistakes {
		f.Add([]byte(tt.text + good))
	}
	f.Add([]byte(command(`commandPrefix = ["git status", "ls"]`) + test(`args = {a = 1}`) + check(`checker = {type = "external", name = "x"}`)))
	f.Add([]byte("\ufeff[[rule]]\r\n"))
	f.Add([]byte("[[rule]]\ntoolName = [\"run_shell_command\", \"write_file\"]\nconfined = true\ndecision = \"deny\"\npriority = 1\n" +
		"[[rule]]\nconfined = false\ndecision = \"ask_user\"\npriority = 1\n[[test]]\ncommand = \"ls\"\nconfined = \"container\"\ndecision = \"allow\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := bytes.Count(data, []byte("\n")) + 1
		for _, o := range []rulefile.Options{
			{Tier: policy.TierUser}, {Tier: policy.TierWorkspace, TightenOnly: true}, {Tier: policy.TierExtension, Label: "extension e"},
		} {
			file, problems := rulefile.Parse("p.toml", data, o)
			rules := append(file.Rules, file.StandIns...)
			if _, err := policy.NewEngine(policy.Options{Rules: rules, Checkers: file.Checkers}); err != nil {
				t.Fatalf("the engine refuses what was read: %v", err)
			}
			for _, rule := range rules {
				if rule.Line < 1 || rule.Line > lines || rule.Tier != o.Tier {
					t.Errorf("rule %v in line %d of %d", rule, rule.Line, lines)
				}
				if o.Tier != policy.TierUser && rule.Decision == policy.Allow {
					t.Errorf("allowed: %v", rule)
				}
			}
			for _, p := range problems {
				if p.Message == "" || p.Line < 0 || p.Line > lines || p.Kind == "" || p.Severity == "" || len(p.String()) > 2000 {
					t.Errorf("%#v", p)
				}
			}
			if len(problems) == 0 && len(file.StandIns) > 0 {
				t.Errorf("in place of nothing: %v", file.StandIns)
			}
		}
	})
}

// FuzzMerge: adding an approval keeps all other bytes in order, and adding it again
// changes nothing.
func FuzzMerge(f *testing.F) {
	fuzzseed.Add(f)
	for _, tt := range mistakes {
		f.Add([]byte(tt.text+good), "ls", true)
	}
	f.Add([]byte("[[rule]]\ndecision = \"allow\"\npriority = 950\ntoolName = \"run_shell_command\"\ncommandPrefix = \"ls\"\nmodes = [\"plan\"]"), "ls", true)
	f.Fuzz(func(t *testing.T, data []byte, prefix string, redirect bool) {
		rule := approval(prefix)
		rule.AllowRedirection = redirect
		if rule.Validate() != nil {
			return
		}
		once, err := rulefile.Merge("p.toml", data, rule)
		if err != nil {
			return
		}
		file, _ := rulefile.Parse("p.toml", once, rulefile.Options{Tier: policy.TierUser})
		before, _ := rulefile.Parse("p.toml", data, rulefile.Options{Tier: policy.TierUser})
		if added := len(file.Rules) - len(before.Rules); added == 1 && !bytes.HasPrefix(once, data) || added < 0 || added > 1 {
			t.Fatalf("%d rules more\n%q\n%q", added, data, once)
		}
		twice, err := rulefile.Merge("p.toml", once, rule)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("again: %v\n%q\n%q", err, once, twice)
		}
	})
}
