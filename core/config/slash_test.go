package config_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// commandFile puts a command into a settings directory.
func commandFile(t *testing.T, dir, name, prompt string) {
	t.Helper()
	path := filepath.Join(dir, ".fettle", "commands", filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("prompt = '''"+prompt+"'''\n"), 0o600))
}

// said returns the message of a line to the model.
func said(t *testing.T, set *commands.Set, line string) string {
	t.Helper()
	r, err := set.Parse(line).Run(t.Context(), &commands.Context{})
	require.NoError(t, err)
	require.IsType(t, commands.SubmitPrompt{}, r)
	return r.(commands.SubmitPrompt).Content.String()
}

func slash(t *testing.T, c *config.Config, extra ...commands.Loader) (*commands.Set, []fault.Problem) {
	t.Helper()
	set, problems, err := c.SlashCommands(t.Context(), extra...)
	require.NoError(t, err)
	return set, problems
}

// CM-08: the user's commands are loaded, the project's only if its directory is
// trusted; they then take precedence.
func TestSlashCommandsOfDirectories(t *testing.T) {
	for state, want := range map[trust.State]string{trust.Trusted: "of the project", trust.Undecided: "of the user", trust.Untrusted: "of the user"} {
		home := t.TempDir()
		s := configtest.New(t, func(p *config.Parameters) { p.Environment.HomeDir, p.Policy.Trust = home, state })
		commandFile(t, home, "x.toml", "of the user")
		commandFile(t, home, "git/y.toml", "of the user too")
		commandFile(t, s.Dir, "x.toml", "of the project")
		set, problems := slash(t, s.Config)
		require.Equal(t, want, said(t, set, "/x"))
		require.Equal(t, "of the user too", said(t, set, "/git:y"))
		require.Len(t, problems, 1)
		if state == trust.Trusted {
			require.Contains(t, problems[0].Message, "replaces the command")
			require.Contains(t, problems[0].Message, home)
		} else {
			require.Contains(t, problems[0].Message, "not trusted")
		}
	}
}

// Later loaders take precedence, and those of the caller are the first.
func TestSlashCommandsExtra(t *testing.T) {
	home := t.TempDir()
	s := configtest.New(t, func(p *config.Parameters) { p.Environment.HomeDir = home })
	commandFile(t, home, "x.toml", "of the user")
	set, _ := slash(t, s.Config, extraCommands{})
	require.Equal(t, "of the user", said(t, set, "/x"))
	require.NotNil(t, set.Lookup("built-in.x"))
}

type extraCommands struct{ commands.Loader }

func (extraCommands) Name() string { return "extra" }

func (extraCommands) Load(ctx context.Context) ([]*commands.Command, []fault.Problem, error) {
	return []*commands.Command{{Name: "x", Kind: commands.KindBuiltIn}}, nil, nil
}

// Files that a prompt names are read by the session's own tools: they count as
// read, and policy and ignore rules apply.
func TestSlashCommandsFiles(t *testing.T) {
	home := t.TempDir()
	s := configtest.New(t, func(p *config.Parameters) {
		p.Environment.HomeDir = home
		p.Policy.Rules = []policy.Rule{{Tools: []string{"read_many_files"}, ArgsPattern: "denied", Decision: policy.Deny, Priority: 900, Tier: policy.TierUser}}
	})
	s.Write("a.txt", "alpha\n")
	require.NoError(t, os.Mkdir(s.Path("sub"), 0o755))
	s.Write("sub/b c.txt", "beta\n")
	s.Write("skip.txt", "never\n")
	s.Write("denied.txt", "never\n")
	s.Write(".fettleignore", "skip.txt\n")
	commandFile(t, home, "x.toml", "one @{a.txt} two @{sub} @{skip.txt} three @{gone.txt} @{../out.txt} @{denied.txt} @{sub/b c.txt}")
	set, _ := slash(t, s.Config)
	text := said(t, set, "/x")
	require.Regexp(t, `(?s)^one .*alpha.* two .*beta.* three @\{gone\.txt\} @\{\.\./out\.txt\} @\{denied\.txt\} .*beta`, text)
	require.NotContains(t, text, "never")
	r := s.Call("write_file", map[string]any{"file_path": "a.txt", "content": "new\n", "base_content_sha256": hashIn(t, text)})
	require.Equal(t, scheduler.StatusSuccess, r.Status)
}

// hashIn returns the first hash in a text.
func hashIn(t *testing.T, text string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, `"sha256":"`)
	require.True(t, ok, text)
	hash, _, _ := strings.Cut(rest, `"`)
	return hash
}

// Commands of a prompt go through policy as calls of run_shell_command, and the
// user's approval applies to the exact line, for these commands, and not to calls
// of the model.
func TestSlashCommandsShell(t *testing.T) {
	home := t.TempDir()
	s := configtest.New(t, func(p *config.Parameters) {
		p.Environment.HomeDir = home
		p.Policy.Rules = []policy.Rule{{Name: "no-rm", Tools: []string{"run_shell_command"}, CommandPrefix: []string{"rm"}, Decision: policy.Deny, Priority: 900, Tier: policy.TierUser, Source: "rules.toml", Line: 3}}
		p.Policy.AllowedTools = []string{"run_shell_command(echo)", "run_shell_command(exit)", "run_shell_command(kill)"}
	})
	commandFile(t, home, "allowed.toml", "it says !{echo {{args}}}.")
	commandFile(t, home, "fails.toml", "!{echo oh; exit 3}")
	commandFile(t, home, "killed.toml", "!{kill -TERM $$}")
	commandFile(t, home, "denied.toml", "!{echo a} !{rm -r x}")
	commandFile(t, home, "asked.toml", "!{touch {{args}}}done !{echo it}")
	set, problems := slash(t, s.Config)
	require.Empty(t, problems)
	require.Equal(t, "it says it's $(touch harm).", said(t, set, "/allowed it's $(touch harm)"))
	require.NoFileExists(t, s.Path("harm"))
	require.Equal(t, "oh\n[The command echo oh; exit 3 ended with exit code 3]", said(t, set, "/fails"))
	require.Equal(t, "[The command kill -TERM $$ was ended by the signal SIGTERM]", said(t, set, "/killed"))

	_, err := set.Parse("/denied").Run(t.Context(), &commands.Context{})
	require.Equal(t, fault.PolicyViolation, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Message, "no-rm")

	r, err := set.Parse("/asked f.txt").Run(t.Context(), &commands.Context{})
	require.NoError(t, err)
	require.Equal(t, commands.ConfirmShellCommands{Commands: []string{"touch 'f.txt'"}}, r)
	require.NoFileExists(t, s.Path("f.txt"))
	r, err = set.Parse("/asked f.txt").Run(t.Context(), &commands.Context{ApprovedCommands: []string{"touch 'f.txt'", "touch g.txt"}})
	require.NoError(t, err)
	require.Equal(t, "done it", r.(commands.SubmitPrompt).Content.String())
	require.FileExists(t, s.Path("f.txt"))
	require.Empty(t, s.Confirmations())

	set, _ = slash(t, s.Config) // the approval outlives a reload
	require.Equal(t, "done it", said(t, set, "/asked f.txt"))
	r, err = set.Parse("/asked g.txt").Run(t.Context(), &commands.Context{})
	require.NoError(t, err)
	require.IsType(t, commands.ConfirmShellCommands{}, r)
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.Cancel }
	require.Equal(t, scheduler.StatusDenied, s.Call("run_shell_command", map[string]any{"command": "touch 'f.txt'"}).Status)
	require.Len(t, s.Confirmations(), 1)
}

// Steps before a call apply to these commands too, and plan mode runs none that
// change something.
func TestSlashCommandsSteps(t *testing.T) {
	home := t.TempDir()
	var seen []string
	s := configtest.New(t, func(p *config.Parameters) {
		p.Environment.HomeDir, p.Policy.ApprovalMode = home, policy.ModeYolo
		p.Calls.Before = []scheduler.Before{func(_ context.Context, c scheduler.Proposal) (scheduler.Advice, error) {
			seen = append(seen, string(c.Args))
			if strings.Contains(string(c.Args), "bad") {
				return scheduler.Advice{Verdict: policy.Deny, Reason: "Not that."}, nil
			}
			return scheduler.Advice{}, nil
		}}
	})
	commandFile(t, home, "good.toml", "!{echo good}")
	commandFile(t, home, "bad.toml", "!{echo bad}")
	commandFile(t, home, "writes.toml", "!{touch x}")
	set, _ := slash(t, s.Config)
	require.Equal(t, "good", said(t, set, "/good"))
	_, err := set.Parse("/bad").Run(t.Context(), &commands.Context{})
	require.Equal(t, fault.PolicyViolation, fault.CodeOf(err))
	require.ErrorContains(t, err, "policy")
	require.Len(t, seen, 2)
	require.NoError(t, s.SetApprovalMode(policy.ModePlan))
	_, err = set.Parse("/writes").Run(t.Context(), &commands.Context{ApprovedCommands: []string{"touch x"}})
	require.Equal(t, fault.PolicyViolation, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Message, "Plan mode")
	require.NoFileExists(t, s.Path("x"))
}

// A skill is a command that makes the model work with it, and an agent one that
// delegates a task.
func TestSlashCommandsOfSkillsAndAgents(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".fettle", "skills", "poet", "SKILL.md")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("---\nname: poet\ndescription: Writes poems.\n---\nRhyme always.\n"), 0o600))
	change := func(p *config.Parameters) { p.Environment.HomeDir = home }
	s := configtest.New(t, change)
	set, problems := slash(t, s.Config)
	require.Empty(t, problems)
	poet := set.Lookup("poet")
	require.NotNil(t, poet)
	require.Equal(t, commands.KindSkill, poet.Kind)
	require.Equal(t, "about autumn", said(t, set, "/poet about autumn"))
	prompt, err := s.SystemPrompt(t.Context())
	require.NoError(t, err)
	require.Contains(t, prompt, "Rhyme always.") // EX-04
	require.Contains(t, said(t, set, "/poet"), "poet")
	require.NoError(t, s.Skills().SetEnabled("poet", false))
	set, _ = slash(t, s.Config)
	require.Nil(t, set.Lookup("poet"))

	denied := configtest.New(t, change, func(p *config.Parameters) { p.Tools.Exclude = []string{"activate_skill"} })
	set, _ = slash(t, denied.Config)
	_, err = set.Parse("/poet x").Run(t.Context(), &commands.Context{})
	require.Equal(t, fault.PolicyViolation, fault.CodeOf(err))
}

// CM-08: a prompt of a server is a command of its name, and of the server's with
// it.
func TestSlashCommandsOfServers(t *testing.T) {
	s := &servers{by: map[string]*fakeServer{"a": {info: mcp.Info{Version: "A"}}, "b": {info: mcp.Info{Version: "B"}}}}
	c := s.with(t, `{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}`)
	set, problems := slash(t, c.Config)
	require.Empty(t, problems)
	for line, want := range map[string]string{
		"/book-review Emma":                    "A book review of Emma",
		"/a.book-review Emma":                  "A book review of Emma",
		"/b.book-review --title=\"two words\"": "B book review of two words",
	} {
		require.Equal(t, want+"\nYour previous messages:\nI have read it.", said(t, set, line))
	}
	r, err := set.Parse("/book-review help").Run(t.Context(), &commands.Context{})
	require.NoError(t, err)
	require.Contains(t, r.(commands.Message).Text, "--title=")
	require.Equal(t, "A book review of help me", strings.Split(said(t, set, "/book-review help me"), "\n")[0])
	_, err = set.Parse("/book-review").Run(t.Context(), &commands.Context{})
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
	got, err := set.Complete(t.Context(), nil, "/book-review --t", 16)
	require.NoError(t, err)
	require.Equal(t, "--title=", got.Items[len(got.Items)-1].Value)
	require.Equal(t, commands.KindMCPPrompt, set.Lookup("book-review").Kind)
}

func TestSlashCommandsBeforeInitialize(t *testing.T) {
	c, err := config.New(config.Parameters{TargetDir: t.TempDir()})
	require.NoError(t, err)
	_, _, err = c.SlashCommands(t.Context())
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
}

// CM-08: an agent that the session may call is a command that delegates a task.
func TestSlashCommandsOfAgents(t *testing.T) {
	s := configtest.New(t, playing(t, "", script.Options{}))
	set, _ := slash(t, s.Config)
	c := set.Lookup("generalist")
	require.NotNil(t, c)
	require.Equal(t, commands.KindAgent, c.Kind)
	text := said(t, set, "/generalist count the lines")
	expanded, err := s.Expand(t.Context(), text)
	require.NoError(t, err)
	require.Equal(t, []string{"generalist"}, expanded.Agents)
	_, err = set.Parse("/generalist").Run(t.Context(), &commands.Context{})
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
}

// CM-12, AR-04: a saved conversation is restored with its highest version, and
// the next read is above it.
func TestSavedChats(t *testing.T) {
	s := configtest.New(t, playing(t, `{"text":"I see."}`, script.Options{}))
	s.Write("a.txt", "alpha\n")
	chats, err := config.NewSavedChats(s.Config, []string{"very-secret-value"})
	require.NoError(t, err)
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(chats.Save(t.Context(), "empty", false)))
	converse(t, s.Config, "Look at @a.txt, very-secret-value")
	require.NoError(t, chats.Save(t.Context(), "one", false))
	require.Equal(t, fault.AttemptToCreateExist, fault.CodeOf(chats.Save(t.Context(), "one", false)))
	require.NoError(t, chats.Save(t.Context(), "one", true))
	all, err := chats.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, 2, all[0].Turns)
	loaded, err := chats.Load(t.Context(), "one")
	require.NoError(t, err)
	require.Equal(t, int64(1), loaded.Highest)
	require.Len(t, loaded.History, 2)
	require.NotContains(t, string(loaded.History[0]), "very-secret")
	_, err = s.StartNewSession("", loaded.Highest)
	require.NoError(t, err)
	require.Contains(t, s.Call("read_file", map[string]any{"file_path": "a.txt"}).Result.LLMContent.String(), `"version":2`)
	require.NoError(t, chats.Delete(t.Context(), "one"))
	_, err = chats.Load(t.Context(), "one")
	require.Equal(t, fault.SessionNotFound, fault.CodeOf(err))
}
