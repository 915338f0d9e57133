package integration

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

// GO-11: the rules in the manual are valid, and its tests pass.
func TestPolicyExample(t *testing.T) {
	t.Parallel()
	_, rest, found := strings.Cut(readFile(t, "docs/policy.md"), "```toml\n")
	example, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatal("docs/policy.md has no example in TOML")
	}
	file, problems := rulefile.Parse("docs/policy.md", []byte(example), rulefile.Options{Tier: policy.TierUser})
	for _, p := range problems {
		t.Error(p)
	}
	engine, err := policy.NewEngine(policy.Options{Rules: file.Rules, Checkers: file.Checkers})
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Tests) < 2 {
		t.Errorf("the example has %d tests", len(file.Tests))
	}
	for _, test := range file.Tests {
		if test.Call.Dir == "" {
			test.Call.Dir, test.Call.Roots = "/project", []string{"/project"}
		}
		if err := test.Run(engine.Decide); err != nil {
			t.Error(err)
		}
	}
}
