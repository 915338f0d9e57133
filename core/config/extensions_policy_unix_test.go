//go:build unix

package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/policy"
)

// CF-05, EX-01: an invalid policy of an extension is reported, and restricts only
// the tools of its own servers.
func TestBrokenPolicyOfAnExtension(t *testing.T) {
	for _, text := range []string{
		"[policy]\ndefault_action = \"deny\"\n[[policy.rules]]\ntool = \"*\"\naction = \"deny\"\n",
		"[[policy.rule]]\ndecision = \"deny\"\n", "[[rule]\ndecision = \"deny\"\npriority = 1\n", "[[rule]]\ndecision = \"deny\"\npriority = 1\n",
	} {
		home := t.TempDir()
		dir := library(t, home)
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "policies")))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "policies"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "policies", "p.toml"), []byte(text), 0o600))
		s := configtest.New(t, func(p *config.Parameters) { p.Environment.HomeDir, p.Policy.ApprovalMode = home, policy.ModeYolo })
		require.Equal(t, policy.Allow, explained(t, s.Config, "run_shell_command", command("ls")).Decision, text)
		require.Equal(t, policy.Allow, explained(t, s.Config, "read_file", `{"file_path":"a"}`).Decision, text)
		d, err := s.Policy().Decide(policy.Call{Tool: "lend", Server: "shelf", ServerTool: "lend", Mode: policy.ModeYolo})
		require.NoError(t, err)
		require.Equal(t, policy.AskUser, d.Decision, "a tool of its own server: %s", text)
		d, err = s.Policy().Decide(policy.Call{Tool: "other", Server: "others", ServerTool: "other", Mode: policy.ModeYolo})
		require.NoError(t, err)
		require.Equal(t, policy.Allow, d.Decision, "a tool of another server: %s", text)
		problems, err := s.Policy().Problems()
		require.NoError(t, err)
		require.Contains(t, fmt.Sprint(problems), "None of its rules applies", text)
	}
}
