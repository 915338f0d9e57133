package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/policy"
)

// AR-09: only the commands in the brackets of a core tool run, in every mode and
// whatever allows others.
func TestCoreCommands(t *testing.T) {
	for _, entry := range []string{"run_shell_command(git)", "run_shell_command(git *)", "run_shell_command(git:*)", "ShellTool(git)", "Bash(git:*)", "run_shell_command(git"} {
		s := configtest.New(t, func(p *config.Parameters) {
			p.Tools.Core, p.Policy.ApprovalMode, p.Policy.AllowedTools = []string{"read_file", entry}, policy.ModeYolo, []string{"run_shell_command"}
		})
		require.True(t, hasTool(t, s, "run_shell_command"), entry)
		for line, want := range map[string]policy.Verdict{
			"git status": policy.Allow, "cd . && git log": policy.Allow, "git log | git diff": policy.Allow,
			"ls": policy.Deny, "git status; ls": policy.Deny, "git log | sh": policy.Deny, "$X": policy.Deny, "> file": policy.Deny,
			"git status && $(ls)": policy.Deny, "./git status": policy.Deny, "timeout 5 ls": policy.Deny, "": policy.Deny,
			"bash -c 'rm x'": policy.Deny, "eval ls": policy.Deny, "git 'status": policy.Deny,
		} {
			require.Equal(t, want, explained(t, s.Config, "run_shell_command", command(line)).Decision, "%s: %s", entry, line)
		}
	}
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Core = []string{"run_shell_command(git)"} })
	require.Equal(t, policy.AskUser, explained(t, s.Config, "run_shell_command", command("git push")).Decision, "a restriction allows nothing")
	child, err := s.Derive(config.DeriveParameters{CoreTools: []string{"run_shell_command(ls)"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, child.Close()) })
	r, err := child.ToolRegistry()
	require.NoError(t, err)
	_, err = r.Lookup("run_shell_command")
	require.Error(t, err)
}

// AR-09: a core tool with invalid brackets is not registered.
func TestCoreRestrictionNotUnderstood(t *testing.T) {
	for entry, tool := range map[string]string{
		"run_shell_command()": "run_shell_command", "run_shell_command(git * main)": "run_shell_command", "run_shell_command(g*)": "run_shell_command",
		"read_file(src/*)": "read_file", "write_file(*.md)": "write_file", "Read(src)": "read_file",
		"run_shell_command(^git)": "run_shell_command", "run_shell_command(/git/)": "run_shell_command", "run_shell_command(git|hg)": "run_shell_command", "Bash git": "run_shell_command",
	} {
		s := configtest.New(t, func(p *config.Parameters) { p.Tools.Core = []string{entry, "glob"} })
		require.False(t, hasTool(t, s, tool), entry)
		require.True(t, hasTool(t, s, "glob"), entry)
	}
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Core = []string{"run_shell_command('git)"} })
	require.Equal(t, policy.Deny, explained(t, s.Config, "run_shell_command", command("git status")).Decision)
}

// AR-09, AR-27: exclusions are accepted in other programs' spellings, and
// otherwise deny more than written.
func TestExclusionSpellings(t *testing.T) {
	for _, entry := range []string{"run_shell_command(rm *)", "run_shell_command(rm:*)", "Bash(rm:*)", "Bash(rm *)", "bash(rm)", "Bash", "shell(r*m)", "run_shell_command(rm * x)", "run_shell_command(*rm*)", "run_shell_command('rm)",
		"Bash( rm : * )", "Bash rm", "Bash:rm", "!Bash", "-Bash", "tool:Bash", "run_shell_command, write_file", "run_shell_command; x", "BashTool(rm:*)", "shell_command(rm)",
		"execute_command(rm)", "Terminal", "RUN_SHELL_COMMAND", "run_shell_command(rm.*)", "run_shell_command(/rm/)", "run_shell_command(^rm)", `run_shell_command(\brm)`, "run_shell_command(rm|sudo)",
		"run_shell_command(regex:rm)", "run_shell_command(rm(dir)?)", "run_shell_command($RM)", "run_shell_command([rm])", "run_*", "*"} {
		s := configtest.New(t, func(p *config.Parameters) { p.Tools.Exclude, p.Policy.ApprovalMode = []string{entry}, policy.ModeYolo })
		require.Equal(t, policy.Deny, explained(t, s.Config, "run_shell_command", command("rm -rf x")).Decision, entry)
	}
	s := configtest.New(t, func(p *config.Parameters) {
		p.Tools.Exclude, p.Policy.ApprovalMode = []string{"github-read", "my.bash", "Bash(rmdir -p:*)", "Bash([ -f:*)"}, policy.ModeYolo
	})
	require.Equal(t, policy.Allow, explained(t, s.Config, "run_shell_command", command("rm -rf x")).Decision, "another tool's name")
	require.Equal(t, policy.Deny, explained(t, s.Config, "run_shell_command", command("[ -f x ]")).Decision)
	for entry, tool := range map[string]string{"Read": "read_file", "WriteFileTool": "write_file", "Read(secret)": "read_file", "WebFetch(domain:a.b)": "web_fetch"} {
		s := configtest.New(t, func(p *config.Parameters) { p.Tools.Exclude = []string{entry} })
		require.False(t, hasTool(t, s, tool), entry)
		require.Equal(t, policy.Deny, explained(t, s.Config, tool, `{}`).Decision, entry)
	}
	for _, entry := range []string{"writefile", "write-file", "WRITE_FILE"} {
		s := configtest.New(t, func(p *config.Parameters) { p.Tools.Exclude, p.Policy.ApprovalMode = []string{entry}, policy.ModeYolo })
		require.Equal(t, policy.Deny, explained(t, s.Config, "write_file", `{"file_path":"a","content":""}`).Decision, entry)
	}
}

// CR-26: only the written calls are allowed, and none if the entry is invalid.
func TestAllowedSpellings(t *testing.T) {
	for _, entry := range []string{"run_shell_command(git log *)", "Bash(git log:*)"} {
		s := configtest.New(t, func(p *config.Parameters) { p.Policy.AllowedTools = []string{entry} })
		require.Equal(t, policy.Allow, explained(t, s.Config, "run_shell_command", command("git log -1")).Decision, entry)
		require.Equal(t, policy.AskUser, explained(t, s.Config, "run_shell_command", command("git push")).Decision, entry)
	}
	for _, entry := range []string{"Bash(git * main)", "run_shell_command(git*)", "Read(src)", "run_shell_command(^git)", "run_shell_command(.+)", "run_shell_command(git.+)"} {
		c := newConfig(t, config.Parameters{Policy: config.Policy{AllowedTools: []string{entry}}})
		require.ErrorContains(t, c.Initialize(t.Context()), entry)
	}
}

// AR-09: an excluded tool is denied in every mode, whoever allows it.
func TestListsRestrictEveryTier(t *testing.T) {
	every := []policy.ApprovalMode{policy.ModePlan, policy.ModeDefault, policy.ModeAutoEdit, policy.ModeYolo}
	for name, change := range map[string]func(*config.Parameters){
		"tools.core":    func(p *config.Parameters) { p.Tools.Core = []string{"run_shell_command(git)", "web_fetch"} },
		"tools.exclude": func(p *config.Parameters) { p.Tools.Exclude = []string{"Bash(ls:*)", "shell(rm *)"} },
	} {
		s := configtest.New(t, func(p *config.Parameters) {
			change(p)
			p.Policy.AllowedTools = []string{"*", "run_shell_command(ls, rm)"}
			for tier := policy.TierDefault; tier <= policy.TierAdmin; tier++ {
				p.Policy.Rules = append(p.Policy.Rules, policy.Rule{Tools: []string{"*"}, Decision: policy.Allow, Tier: tier, Priority: 999, Modes: every},
					policy.Rule{Tools: []string{"run_shell_command"}, CommandPrefix: []string{"ls", "rm"}, Decision: policy.Allow, Tier: tier, Priority: 999, Modes: every})
			}
		})
		for _, mode := range every {
			require.NoError(t, s.SetApprovalMode(mode))
			for _, line := range []string{"ls", "rm x", "git status && ls", "cd . && rm -rf x"} {
				require.Equal(t, policy.Deny, explained(t, s.Config, "run_shell_command", command(line)).Decision, "%s: %s in %s", name, line, mode)
			}
			require.Equal(t, policy.Allow, explained(t, s.Config, "run_shell_command", command("git status")).Decision, "%s in %s", name, mode)
		}
	}
}

// CF-05: an invalid value of a restricting list may have named any tool: calls
// that change something require approval, in yolo too.
func TestListsNotUnderstood(t *testing.T) {
	for _, text := range []string{
		`{"tools":{"exclude":5}}`, `{"tools":{"exclude":null}}`, `{"tools":{"exclude":{"Bash":["rm"]}}}`, `{"tools":{"exclude":[["Bash(rm:*)"]]}}`, `{"tools":{"exclude":["glob",5]}}`,
		`{"tools":{"exclude":["/write/"]}}`, `{"tools":{"exclude":["^write"]}}`, `{"tools":{"exclude":["write|patch?"]}}`,
		`{"tools":{"confirmationRequired":[null]}}`, `{"mcp":{"excluded":{"s":true}}}`,
	} {
		s := configtest.New(t, func(p *config.Parameters) {
			dir := filepath.Join(p.Environment.HomeDir, ".fettle")
			require.NoError(t, os.MkdirAll(dir, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "settings.json"), []byte(text), 0o600))
			p.Settings, p.Policy.ApprovalMode, p.Policy.AllowedTools = &settings.Options{}, policy.ModeYolo, []string{"*"}
		})
		require.Equal(t, policy.AskUser, explained(t, s.Config, "run_shell_command", command("rm x")).Decision, text)
		require.Equal(t, policy.Allow, explained(t, s.Config, "read_file", `{"file_path":"a"}`).Decision, text)
	}
}

func hasTool(t *testing.T, s *configtest.Session, name string) bool {
	t.Helper()
	r, err := s.ToolRegistry()
	require.NoError(t, err)
	_, err = r.Lookup(name)
	return err == nil
}
