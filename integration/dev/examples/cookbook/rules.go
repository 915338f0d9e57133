package cookbook

// code: rules
import (
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
)

// withRules runs edits without approval, and denies those of generated files.
func withRules(dir string) config.Parameters {
	return config.Parameters{TargetDir: dir, Policy: config.Policy{
		ApprovalMode: policy.ModeAutoEdit,
		Rules: []policy.Rule{{
			Name: "generated files", Tools: []string{"write_file", "safe_patch"},
			ArgsPattern: `"file_path":"[^"]*\.gen\.go"`,
			Decision:    policy.Deny, DenyMessage: "Change the template, and run go generate.",
			Tier: policy.TierUser, Priority: 900,
		}},
	}}
}

// code: end
