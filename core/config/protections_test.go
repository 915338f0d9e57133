package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// verdict returns the session's decision about a call of a tool.
func verdict(t *testing.T, c *config.Config, tool, args string) policy.Decision {
	t.Helper()
	call, _ := policy.WellKnown(tool)
	call.Tool, call.Params, call.Mode = tool, json.RawMessage(args), c.ApprovalMode()
	d, err := c.Policy().Decide(call)
	require.NoError(t, err)
	return d
}

// security.disableYoloMode refuses yolo from every source and at any time.
func TestNoYolo(t *testing.T) {
	const forbids = `{"security": {"disableYoloMode": true}}`
	s := configtest.New(t, withUser(t, forbids))
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(s.SetApprovalMode(policy.ModeYolo)))
	require.Equal(t, policy.ModeDefault, s.ApprovalMode())
	require.NoError(t, s.SetApprovalMode(policy.ModeAutoEdit))
	_, err := s.Derive(config.DeriveParameters{ApprovalMode: policy.ModeYolo})
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), "nor in a subagent")

	p := config.Parameters{TargetDir: t.TempDir(), Environment: config.Environment{HomeDir: t.TempDir()}, Policy: config.Policy{ApprovalMode: policy.ModeYolo}}
	withUser(t, forbids)(&p)
	c, err := config.New(p)
	require.NoError(t, err, "New reads no settings")
	defer c.Close()
	require.ErrorContains(t, c.Initialize(t.Context()), "security.disableYoloMode")

	// A project may forbid it, trusted or not, but not permit it.
	s = configtest.New(t, withUser(t, `{}`), func(p *config.Parameters) { settingsIn(t, p.TargetDir, forbids) })
	require.Error(t, s.SetApprovalMode(policy.ModeYolo))
	s = configtest.New(t, withUser(t, forbids), func(p *config.Parameters) {
		settingsIn(t, p.TargetDir, `{"security": {"disableYoloMode": false}}`)
	})
	require.Error(t, s.SetApprovalMode(policy.ModeYolo))
}

// AR-21: security.disableAlwaysAllow restricts approvals to one call, and
// security.enablePermanentToolApproval to the session.
func TestNoAlways(t *testing.T) {
	for _, tt := range []struct {
		name, settings string
		offered        []bus.Outcome
		before         policy.Verdict // of a call approved permanently in an earlier session
	}{
		{"nothing forbidden", `{}`, []bus.Outcome{bus.ProceedAlways, bus.ProceedAlwaysAndSave}, policy.Allow},
		{"no approval lasts", `{"security": {"disableAlwaysAllow": true}}`, nil, policy.AskUser},
		{"none is saved", `{"security": {"enablePermanentToolApproval": false}}`, []bus.Outcome{bus.ProceedAlways}, policy.Allow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var saved string
			s := configtest.New(t, withUser(t, tt.settings), func(p *config.Parameters) {
				saved = filepath.Join(p.Environment.HomeDir, ".fettle", "policies", "auto-saved.toml")
				require.NoError(t, os.MkdirAll(filepath.Dir(saved), 0o755))
				require.NoError(t, os.WriteFile(saved, []byte("[[rule]]\ntoolName = \"save_memory\"\ndecision = \"allow\"\npriority = 950\n"), 0o644))
			})
			require.Equal(t, tt.before, verdict(t, s.Config, "save_memory", `{"fact": "x"}`).Decision)
			s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.ProceedAlwaysAndSave }
			before, err := os.ReadFile(saved)
			require.NoError(t, err)
			s.Call("write_file", map[string]any{"file_path": "a.txt", "content": "a"})
			require.Len(t, s.Confirmations(), 1)
			offered := slices.DeleteFunc(s.Confirmations()[0].Outcomes, func(o bus.Outcome) bool {
				return o == bus.ProceedOnce || o == bus.ModifyWithEditor || o == bus.Cancel
			})
			require.ElementsMatch(t, tt.offered, offered)
			after, err := os.ReadFile(saved)
			require.NoError(t, err)
			require.Equal(t, slices.Contains(tt.offered, bus.ProceedAlwaysAndSave), string(before) != string(after), "even if it is answered all the same")
		})
	}
}

// An entry of tools.confirmationRequired requires approval whatever allows it,
// and stays denied if it is denied.
func TestConfirmationRequired(t *testing.T) {
	const text = `{"tools": {"confirmationRequired": ["read_file", "run_shell_command(git push)", "glob"],
		"allowed": ["read_file", "run_shell_command(git)"]}, "policyPaths": ["~/rules.toml"]}`
	s := configtest.New(t, withUser(t, text), func(p *config.Parameters) {
		rules := "[[rule]]\ntoolName = \"glob\"\ndecision = \"deny\"\npriority = 5\n" +
			"[[rule]]\ntoolName = \"read_file\"\ndecision = \"allow\"\npriority = 998\n"
		require.NoError(t, os.WriteFile(filepath.Join(p.Environment.HomeDir, "rules.toml"), []byte(rules), 0o644))
	})
	for _, mode := range []policy.ApprovalMode{policy.ModeDefault, policy.ModeAutoEdit, policy.ModeYolo} {
		require.NoError(t, s.SetApprovalMode(mode))
		for tool, tt := range map[string]struct {
			args string
			want policy.Verdict
		}{
			"read_file":         {`{"file_path": "a"}`, policy.AskUser},
			"glob":              {`{"pattern": "*"}`, policy.Deny},
			"run_shell_command": {`{"command": "git status && git push"}`, policy.AskUser},
		} {
			require.Equal(t, tt.want, verdict(t, s.Config, tool, tt.args).Decision, "%s in %s", tool, mode)
		}
		require.Equal(t, policy.Allow, verdict(t, s.Config, "run_shell_command", `{"command": "git status"}`).Decision)
	}
	d := verdict(t, s.Config, "read_file", `{"file_path": "a"}`)
	require.Equal(t, filepath.Join(storageOf(t, s.Config).GlobalDir, "settings.json"), d.Source)
	require.Equal(t, 1, d.Line)

	p := config.Parameters{TargetDir: t.TempDir(), Environment: config.Environment{HomeDir: t.TempDir()}}
	withUser(t, `{"tools": {"confirmationRequired": ["run_shell_command()"]}}`)(&p)
	c, err := config.New(p)
	require.NoError(t, err)
	defer c.Close()
	require.ErrorContains(t, c.Initialize(t.Context()), "o session is started", "an entry that cannot be used would protect")
}

// security.environmentVariableRedaction withholds variables from commands.
func TestRedaction(t *testing.T) {
	for name, value := range map[string]string{
		"FT_API_KEY": "1", "FT_TOKEN": "1", "ft_password": "1", "FT_PLAIN": "plain", "FT_LINK": "https://u:p@host/x", "FT_ODD": "ghp_abc",
		"FT_MONKEY": "1", "FT_KEPT_SECRET": "1", "FT_MINE": "1",
	} {
		t.Setenv(name, value)
	}
	run := func(text string) string {
		s := configtest.New(t, withUser(t, text), func(p *config.Parameters) { p.Policy.AllowedTools = []string{"run_shell_command"} })
		return s.Call("run_shell_command", map[string]any{"command": "env | grep -i ^FT_ | cut -d= -f1 | LC_ALL=C sort | tr '\\n' ' '; test -n \"$PATH\" -a -n \"$PWD\" && echo whole"}).Result.LLMContent.String()
	}
	require.Contains(t, run(`{}`), "FT_API_KEY FT_KEPT_SECRET FT_LINK FT_MINE FT_MONKEY FT_ODD FT_PLAIN FT_TOKEN ft_password whole")
	require.Contains(t, run(`{"security": {"environmentVariableRedaction": {"enabled": true, "allowed": ["FT_KEPT_SECRET", "FT_MINE"], "blocked": ["FT_MINE"]}}}`),
		"FT_KEPT_SECRET FT_MONKEY FT_PLAIN whole")
}

// An unreadable file that appears to request a confinement prevents a session
// without one.
func TestBrokenSettingsWithSandbox(t *testing.T) {
	begin := func(user, project string, change ...func(*config.Parameters)) error {
		p := config.Parameters{TargetDir: t.TempDir(), Environment: config.Environment{HomeDir: t.TempDir()}}
		withUser(t, user)(&p)
		settingsIn(t, p.TargetDir, project)
		for _, f := range change {
			f(&p)
		}
		c, err := config.New(p)
		require.NoError(t, err)
		defer c.Close()
		return c.Initialize(t.Context())
	}
	const broken = "{\n  \"tools\": {\"sandbox\": \"landlock\" \"exclude\": []}\n}"
	err := begin(broken, "{}")
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.ErrorContains(t, err, ":2:")
	require.ErrorContains(t, err, "sandbox")
	require.NoError(t, begin("{ oops", "{}"), "any other mistake stops only its file")
	require.NoError(t, begin("{}", broken), "a project's file keeps nobody from working")
	require.NoError(t, begin(broken, "{}", func(p *config.Parameters) { p.Settings = nil }))
}
