package chat

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/script"
)

// chatting runs a session in a temporary project on a scripted model whose turns are
// the text of a file, and calls use to drive it.
func chatting(t *testing.T, turns string, use func(ctx context.Context, c *chat, project string), prepare ...func(home string)) {
	t.Helper()
	home, project := t.TempDir(), t.TempDir()
	for _, do := range prepare {
		do(home)
	}
	t.Setenv("HOME", home)
	for _, name := range []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"} {
		t.Setenv(name, "")
	}
	script := filepath.Join(home, "turns.json")
	require.NoError(t, os.WriteFile(script, []byte(turns), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(project, "f.txt"), []byte("one\ntwo\nthree\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(project, "f two.txt"), []byte("x\n"), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(project, "sub"), 0o755))
	p := &program.Program{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Open: program.Open, Providers: scripts{}}
	g := &program.Flags{Cwd: project, Model: "script:" + script}
	used := false
	err := runInteractive(t.Context(), p, g, &conversation.Flags{}, func(ctx context.Context, c *chat, _ settings.Settings) error {
		used = true
		for e := range c.Start(ctx) {
			require.NotEqual(t, interactive.LevelError, e.Level, e.Text)
		}
		use(ctx, c, project)
		return nil
	})
	require.NoError(t, err)
	require.True(t, used)
}

// scripts provides scripted models only, and no MCP servers.
type scripts struct{ program.Providers }

func (scripts) Parameters(p config.Parameters) config.Parameters {
	p.Conversation.Providers = func(config.Variables) model.Source {
		played := map[string]model.Generator{}
		return func(_ context.Context, name string) (model.Generator, error) {
			if played[name] == nil {
				turns, err := script.Load(strings.TrimPrefix(name, "script:"))
				if err != nil {
					return nil, err
				}
				played[name] = script.New(turns, script.Options{})
			}
			return played[name], nil
		}
	}
	return p
}

func (scripts) Models(config.Variables) program.Models       { return scripts{} }
func (scripts) List(config.Variables) []program.ProviderInfo { return nil }
func (scripts) ModelNames(context.Context, config.Variables, string) ([]string, error) {
	return nil, nil
}
func (scripts) Aliases() map[string]model.Name { return nil }

func (scripts) Resolve(name string) (model.Name, error) {
	return model.ParseName(name, []string{script.Provider})
}

func (scripts) Defaults() []string { return nil }

func (scripts) Secrets() []string { return nil }

func (scripts) Origin(string) program.KeyOrigin { return program.KeyOrigin{} }

func (scripts) Servers(program.ServerOptions) func(config.MCPEnvironment) mcp.Dialer { return nil }

// submit submits a line and returns the events by kind.
func submit(ctx context.Context, c *chat, line string) (all []interactive.Event) {
	for e := range c.Submit(ctx, line) {
		all = append(all, e)
	}
	return all
}

// textsOf joins the texts of the events of a kind.
func textsOf(all []interactive.Event, kind interactive.EventKind) string {
	var b strings.Builder
	for _, e := range all {
		if e.Kind == kind {
			b.WriteString(e.Text + "\n")
		}
	}
	return b.String()
}

// answered returns the output of the model.
func answered(all []interactive.Event) string {
	var b strings.Builder
	for _, e := range all {
		if e.Kind == interactive.EventAgent && e.Agent.Type == agent.EventText {
			b.WriteString(e.Agent.Text)
		}
	}
	return b.String()
}

const threeAnswers = `{"turns": [{"text": "First."}, {"text": "Second."}, {"text": "Third."}]}`

// CM-02: prompts reach the model; commands do not, not even unknown ones.
func TestChatPromptsAndCommands(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, _ string) {
		all := submit(ctx, c, "Say something.")
		require.Equal(t, "Say something.\n", textsOf(all, interactive.EventPrompt))
		require.Equal(t, "First.", answered(all))
		all = submit(ctx, c, "/nope")
		require.Contains(t, textsOf(all, interactive.EventMessage), "There is no command /nope.")
		require.Empty(t, answered(all))
		require.Contains(t, textsOf(submit(ctx, c, "/help"), interactive.EventMessage)+textsOf(submit(ctx, c, "/?"), interactive.EventDialog), "/clear")
		require.Equal(t, "Second.", answered(submit(ctx, c, "// not a command")))
		require.Len(t, c.conversation().History(), 4)
		require.Equal(t, []string{"Say something.", "/nope", "/help", "/?", "// not a command"}, c.Inputs())
	})
}

// CM-11: after /clear the conversation is empty and has a new id and its own
// recording; the old session can be resumed.
func TestChatClear(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, _ string) {
		submit(ctx, c, "Say something.")
		old := c.config.SessionID()
		all := submit(ctx, c, "/clear")
		require.NotEmpty(t, all)
		require.Equal(t, interactive.EventClear, all[len(all)-1].Kind)
		require.NotEqual(t, old, c.config.SessionID())
		require.Empty(t, c.conversation().History())
		require.Zero(t, c.Status().Tokens)
		require.Zero(t, chatStats{c}.Stats().Prompts)
		require.Empty(t, chatStats{c}.Stats().Models, "the numbers are the new session's")
		require.Equal(t, "Second.", answered(submit(ctx, c, "And now?")))
		require.Equal(t, 1, chatStats{c}.Stats().Prompts)
		list, _, err := c.kept.Store.List(ctx)
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, old, list[0].ID)
		require.Equal(t, c.config.SessionID(), list[1].ID)
	})
}

// A shell line of the user runs, and the model receives it with the next prompt.
func TestChatShellLine(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, project string) {
		all := submit(ctx, c, "!echo hello; exit 3")
		require.Equal(t, "hello\n[exit code 3]\n", textsOf(all, interactive.EventShell))
		submit(ctx, c, "What was that?")
		first := c.conversation().History()[0]
		require.Equal(t, "What was that?", first.Parts[0].Text) // first, as the title of the session
		require.Contains(t, first.Parts[1].Text, "<command>echo hello; exit 3</command>")
		require.Contains(t, first.Parts[1].Text, "hello\n\n[exit code 3]")
		require.Contains(t, textsOf(submit(ctx, c, "!pwd"), interactive.EventShell), filepath.Base(project))
	})
}

// Approval requests go over the bus for every kind of front end.
func TestChatConfirmation(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, project string) {
		submit(ctx, c, "Say something.")
		file := filepath.Join(project, "talk.md")
		submit(ctx, c, "/export talk.md")
		require.FileExists(t, file)
		require.NoError(t, os.WriteFile(file, []byte("mine"), 0o600))

		all := submit(ctx, c, "/export talk.md")
		require.Contains(t, textsOf(all, interactive.EventMessage), "No approver is available")
		for _, answer := range []string{"no", "yes"} {
			s := bus.Subscribe(ctx, c.Bus(), func(_ context.Context, q bus.AskUserRequest) {
				_ = c.Bus().Publish(bus.AskUserResponse{CorrelationID: q.CorrelationID, Answers: map[string]string{"0": answer}})
			})
			submit(ctx, c, "/export talk.md")
			s.Unsubscribe()
			<-s.Done()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, answer == "no", string(text) == "mine", answer)
		}
	})
}

func TestChatCompletesPaths(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, _ string) {
		texts := func(text string) (list []string) {
			done := c.Complete(ctx, text, len(text))
			for _, item := range done.Items {
				list = append(list, text[:done.From]+item.Text)
			}
			return list
		}
		require.Equal(t, []string{`look at @f\ two.txt `, "look at @f.txt "}, texts("look at @f"))
		require.Equal(t, []string{`@f\ two.txt `}, texts(`@f\ t`))
		require.Equal(t, []string{"(@sub/"}, texts("(@s"))
		require.Empty(t, texts("me@f"))
		require.Empty(t, texts(`\@f`))
		require.Empty(t, texts("@../"))
		require.Contains(t, texts("/cle"), "/clear")
	})
}

func TestChatStatus(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, project string) {
		require.NoError(t, os.Mkdir(filepath.Join(project, ".git"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(project, ".git", "HEAD"), []byte("ref: refs/heads/topic/one\n"), 0o644))
		submit(ctx, c, "Say something.")
		s := c.Status()
		require.Equal(t, "topic/one", s.Branch)
		require.Equal(t, "default", s.Mode)
		require.Equal(t, "undecided", s.Trust)
		require.Positive(t, s.Limit)
		for _, want := range []string{"autoEdit", "auto", "plan", "default"} {
			mode, err := c.CycleMode()
			require.NoError(t, err)
			require.Equal(t, want, mode)
			require.Equal(t, want, c.Status().Mode)
		}
	})
}

// Inputs are available in the next session of the project, in a file that only the
// user can read.
func TestInputsAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var one inputs
	one.open(dir)
	one.add("first")
	one.add("two\nlines")
	one.add("two\nlines")
	info, err := os.Stat(filepath.Join(dir, inputsFile))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, os.WriteFile(filepath.Join(dir, inputsFile), append(mustRead(t, filepath.Join(dir, inputsFile)), "{torn"...), 0o600))
	var two inputs
	two.open(dir)
	require.Equal(t, []string{"first", "two\nlines"}, two.all())
	for i := range 3 * mostInputs {
		two.add(strings.Repeat("x", i%7+1))
	}
	require.Len(t, two.all(), mostInputs)
	var three inputs
	three.open(dir)
	require.Equal(t, two.all(), three.all())
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// CM-12: a chat saved under a tag is resumed as a session of its own; without a tag
// there is an error, and tags are completed.
func TestChatSaveAndResume(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, _ string) {
		submit(ctx, c, "Say something.")
		require.Empty(t, levels(submit(ctx, c, "/chat save one"), interactive.LevelError))
		submit(ctx, c, "/clear")
		require.Contains(t, textsOf(submit(ctx, c, "/chat resume"), interactive.EventMessage), "Missing tag")
		done := c.Complete(ctx, "/chat resume o", len("/chat resume o"))
		require.Len(t, done.Items, 1)
		require.Equal(t, "one", strings.TrimSpace(done.Items[0].Text))
		before := c.config.SessionID()
		var shown []interactive.Item
		for _, e := range submit(ctx, c, "/chat load one") {
			if e.Kind == interactive.EventHistory {
				shown = e.History
			}
		}
		require.Equal(t, []interactive.Item{{Role: "user", Text: "Say something."}, {Role: "assistant", Text: "First."}}, shown)
		require.NotEqual(t, before, c.config.SessionID())
		require.Equal(t, "Second.", answered(submit(ctx, c, "And now?")))
		require.Len(t, c.conversation().History(), 4)
	})
}

// levels returns the messages of a level.
func levels(all []interactive.Event, level interactive.Level) (texts []string) {
	for _, e := range all {
		if e.Kind == interactive.EventMessage && e.Level == level {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

// CM-11: the hooks for session end and session start run, and the start message
// follows the clearing of the screen.
func TestChatClearRunsHooks(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, project string) {
		all := submit(ctx, c, "/clear")
		require.Equal(t, interactive.EventClear, all[0].Kind)
		require.Contains(t, textsOf(all, interactive.EventMessage), "begun by clear")
		text, err := os.ReadFile(filepath.Join(project, "ends"))
		require.NoError(t, err)
		require.Equal(t, "clear\n", string(text))
	}, func(home string) {
		require.NoError(t, os.MkdirAll(filepath.Join(home, ".fettle"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "hooks.toml"), []byte(`
[hooks.SessionEnd]
hooks = [{type = "command", command = "grep -o clear >> ends"}]
[hooks.SessionStart]
matcher = "clear"
hooks = [{type = "command", command = "echo '{\"systemMessage\": \"begun by clear\"}'"}]
`), 0o600))
	})
}
