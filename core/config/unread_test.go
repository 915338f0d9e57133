package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// CF-05: an unreadable file of the user removes no protection: nothing that it
// may have forbidden runs without approval.
func TestUnreadSettingsProtect(t *testing.T) {
	for name, breakIt := range map[string]func(t *testing.T, p *config.Parameters) string{
		"no JSON": func(t *testing.T, p *config.Parameters) string {
			return settingsIn(t, p.Environment.HomeDir, `{"security": `)
		},
		"no file": func(t *testing.T, p *config.Parameters) string {
			path := filepath.Join(p.Environment.HomeDir, ".fettle", "settings.json")
			require.NoError(t, os.MkdirAll(path, 0o755))
			return path
		},
		"the machine's": func(t *testing.T, p *config.Parameters) string {
			path := filepath.Join(p.Environment.Layout.SystemDir, "settings.json")
			require.NoError(t, os.MkdirAll(p.Environment.Layout.SystemDir, 0o755))
			require.NoError(t, os.WriteFile(path, []byte("[]"), 0o644))
			return path
		},
	} {
		t.Run(name, func(t *testing.T) {
			var path string
			s := configtest.New(t, func(p *config.Parameters) {
				p.Environment.Layout, p.Settings = quietLayout(t), &settings.Options{Flags: map[string]any{"general.defaultApprovalMode": "yolo"}}
				p.Policy.AllowedTools = []string{"write_file", "web_fetch", "run_shell_command", "read_file"}
				p.Policy.Rules = []policy.Rule{
					{Name: "all", Tools: []string{"*"}, Decision: policy.Allow, Priority: 998, Tier: policy.TierUser},
					{Name: "good", Tools: []string{"save_memory"}, Decision: policy.Allow, Priority: 950, Tier: policy.TierUser, Approval: true},
					{Name: "no", Tools: []string{"glob"}, Decision: policy.Deny, Priority: 999, Tier: policy.TierUser},
				}
				path = breakIt(t, p)
			})
			require.Equal(t, policy.ModeDefault, s.ApprovalMode(), "yolo counts as default")
			for _, mode := range []policy.ApprovalMode{policy.ModeYolo, policy.ModeAutoEdit} {
				err := s.SetApprovalMode(mode)
				require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
				require.ErrorContains(t, err, path)
				require.Equal(t, policy.ModeDefault, derive(t, s.Config, config.DeriveParameters{ApprovalMode: mode}).ApprovalMode())
			}
			for tool, tt := range map[string]struct {
				args string
				want policy.Verdict
			}{
				"write_file":        {`{"file_path": "a", "content": "a"}`, policy.AskUser},
				"run_shell_command": {`{"command": "git status"}`, policy.AskUser},
				"web_fetch":         {`{"prompt": "https://example.org"}`, policy.AskUser},
				"save_memory":       {`{"fact": "x"}`, policy.AskUser},
				"read_file":         {`{"file_path": "a"}`, policy.Allow},
				"glob":              {`{"pattern": "*"}`, policy.Deny},
			} {
				d := verdict(t, s.Config, tool, tt.args)
				require.Equal(t, tt.want, d.Decision, "%s: %s", tool, d.Reason)
				if tt.want == policy.AskUser {
					require.Equal(t, path, d.Source)
				}
			}
			d, err := s.Policy().Decide(policy.Call{Tool: "x__y", Server: "x", ServerTool: "y", Kind: "other", Mode: s.ApprovalMode()})
			require.NoError(t, err)
			require.Equal(t, policy.AskUser, d.Decision, "what a server's tool does nobody knows")
			s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.ProceedAlways }
			for n := range 2 {
				s.Call("write_file", map[string]any{"file_path": "a.txt", "content": "a"})
				require.Len(t, s.Confirmations(), n+1, "an answer holds for one call")
			}
			problems, err := s.Settings().Problems()
			require.NoError(t, err)
			require.Contains(t, problems[0].Message, "ne of its settings applies")
		})
	}
}

// A sandbox requested in such a file, or apparently by a mistyped name, is not
// missed.
func TestUnreadSandbox(t *testing.T) {
	for text, want := range map[string]string{
		`{"s\u0061ndbox": `:                     "o session is started",
		`{"sandbx": true}`:                      "Did you mean sandbox?",
		`{"Sandbox": true}`:                     "Did you mean sandbox?",
		`{"sandbox.enabled": true}`:             `{"sandbox": {"enabled": …}}`,
		`{"tools.sandbox": true}`:               `{"tools": {"sandbox": …}}`,
		`{"tools": {"sandbox": {"enabld": 1}}}`: "Did you mean tools.sandbox.enabled?",
	} {
		p := config.Parameters{TargetDir: t.TempDir(), Environment: config.Environment{HomeDir: t.TempDir()}}
		withUser(t, text)(&p)
		c, err := config.New(p)
		require.NoError(t, err)
		err = c.Initialize(t.Context())
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), text)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "o session is started", text)
		require.NoError(t, c.Close())
	}
	configtest.New(t, withUser(t, `{"Tools": {"core": ["read_file"]}, "disableYoloMod": true}`)) // reported, and nothing else
}
