package builtin_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/fault"
)

// world is a session that records its calls.
type world struct {
	did   []string
	hook  string // output of the start hooks
	fails string // the failing call
	tags  map[string]bool
	mode  string
	model string
	diff  string
	paths []string
	file  bool // the context file exists
}

var errTest = fault.New(fault.ExecutionFailed, "test", "It failed.", "Try again.")

func (w *world) do(what string) error {
	w.did = append(w.did, what)
	if w.fails == what {
		return errTest
	}
	return nil
}

func taken() error { return fault.New(fault.AttemptToCreateExist, "test", "It is there.", "") }

type (
	catalog     struct{ *world }
	hooks       struct{ *world }
	chat        struct{ *world }
	tokens      struct{ *world }
	toolList    struct{ *world }
	models      struct{ *world }
	chats       struct{ *world }
	transcripts struct{ *world }
	compressor  struct{ *world }
	skills      struct{ *world }
	servers     struct{ *world }
	trust       struct{ *world }
	policies    struct{ *world }
	memory      struct{ *world }
	numbers     struct{ *world }
	checkpoints struct{ *world }
	about       struct{ *world }
	agents      struct{ *world }
	hookList    struct{ *world }
	extensions  struct{ *world }
	dirs        struct{ *world }
	contextFile struct{ *world }
	modes       struct{ *world }
)

func (w catalog) List() []*commands.Command {
	return []*commands.Command{
		{Name: "ask_me", Kind: commands.KindFile, Description: "Asks *me*", Source: "/a.toml"}, {Name: "help", AltNames: []string{"?"}, Kind: commands.KindBuiltIn, Description: "Helps", SubCommands: []*commands.Command{{Name: "sub", Description: "below"}}},
		{Name: "hidden", Kind: commands.KindFile, Hidden: true}, {Name: "poet", Kind: commands.KindSkill, Description: "Rhymes"},
	}
}

func (w catalog) Reload(context.Context) ([]fault.Problem, error) {
	return []fault.Problem{{Path: "x.toml", Line: 3, Message: "It is broken."}}, w.do("reload commands")
}

func (w hooks) SessionEnd(_ context.Context, reason string) { _ = w.do("session end: " + reason) }

func (w hooks) SessionStart(_ context.Context, source string) string {
	_ = w.do("session start: " + source)
	return w.hook
}

func (w chat) Reset(context.Context) error { return w.do("reset chat") }

func (w chat) StartNewSession(context.Context) (string, error) { return "id", w.do("new session") }

func (w tokens) SetTokens(n int) { _ = w.do("tokens: " + string(rune('0'+n))) }

func (w toolList) List() []builtin.Tool {
	return []builtin.Tool{{Name: "mcp_shelf_find", Server: "shelf", Description: "Finds a book."}, {Name: "safe_patch", Display: "Patch", Description: "Changes a file. Never half of it."}}
}

func (w models) Model() string   { return w.model }
func (w models) Known() []string { return []string{"auto", "big", "small"} }
func (w models) SetModel(_ context.Context, name string, save bool) error {
	w.model = name
	if save {
		name += " for good"
	}
	return w.do("model " + name)
}

func (w chats) List(context.Context) (all []builtin.SavedChat, _ error) {
	for tag := range w.tags {
		all = append(all, builtin.SavedChat{Tag: tag, Turns: 2, Saved: time.Unix(0, 0)})
	}
	slices.SortFunc(all, func(a, b builtin.SavedChat) int { return strings.Compare(a.Tag, b.Tag) })
	return all, w.do("list chats")
}

func (w chats) Save(_ context.Context, tag string, overwrite bool) error {
	if w.tags[tag] && !overwrite {
		return taken()
	}
	w.tags[tag] = true
	return w.do("save " + tag)
}

func (w chats) Load(_ context.Context, tag string) (commands.LoadHistory, error) {
	return commands.LoadHistory{History: []json.RawMessage{[]byte(`1`)}, Highest: 9}, w.do("load " + tag)
}

func (w chats) Delete(_ context.Context, tag string) error { return w.do("delete " + tag) }

func (w transcripts) LastAnswer() string { return strings.TrimPrefix(w.hook, "none") }
func (w transcripts) Export(_ context.Context, file string, overwrite bool) (string, error) {
	if file == "there.md" && !overwrite {
		return "", taken()
	}
	return "/dir/" + file, w.do("export " + file)
}

func (w compressor) Compress(context.Context) (builtin.Compressed, error) {
	return builtin.Compressed{Before: 12345, After: 7, Why: w.hook}, w.do("compress")
}

func (w skills) List() []builtin.Skill {
	return []builtin.Skill{{Name: "poet", Description: "Rhymes", Source: "user", Enabled: true, Active: true}, {Name: "off", Source: "project"}}
}
func (w skills) Activate(_ context.Context, name string) error { return w.do("activate " + name) }
func (w skills) SetEnabled(_ context.Context, name string, on bool) error {
	return w.do(onOff("skill "+name, on))
}
func (w skills) Reload(context.Context) ([]string, error) { return nil, w.do("reload skills") }

func onOff(what string, on bool) string {
	if on {
		return what + " on"
	}
	return what + " off"
}

func (w servers) List() []builtin.Server {
	return []builtin.Server{{
		Name: "shelf", State: "connected", Description: "Books.", Confinement: "confined", Prompts: []string{"book review"}, Resources: 2,
		Tools: []builtin.Tool{{Name: "mcp_shelf_find", Description: "Finds a book.", Schema: json.RawMessage(`{"type":"object"}`)}},
	}, {Name: "gone", State: "failed", Problem: "It did not answer."}}
}
func (w servers) SignIn(_ context.Context, name string) (string, error) {
	return "You are signed in.", w.do("sign in " + name)
}
func (w servers) Reload(context.Context) error { return w.do("reload servers") }
func (w servers) SetEnabled(_ context.Context, name string, on bool) error {
	return w.do(onOff("server "+name, on))
}

func (w trust) State() (string, string) { return "/dir", "undecided" }
func (w trust) SetTrust(_ context.Context, dir string, trusted bool) (string, error) {
	return "It holds from the next session on.", w.do(onOff("trust "+dir, trusted))
}

func (w policies) Rules() []builtin.Rule {
	return []builtin.Rule{{Decision: "deny", About: "run_shell_command(rm) in yolo", Name: "no-rm", Priority: 2.1, Tier: "user", Source: "rules.toml:3"}}
}

func (w memory) Files(context.Context) ([]builtin.MemoryFile, error) {
	return []builtin.MemoryFile{{Path: "/dir/FETTLE.md", Text: "Use ``` fences."}}, w.do("memory")
}
func (w memory) Reload(context.Context) error { return w.do("reload memory") }
func (w memory) CanAdd() bool                 { return true }

func (w numbers) Stats() builtin.Numbers {
	return builtin.Numbers{
		SessionID: "id", Started: time.Unix(0, 0), Elapsed: 90 * time.Second, Prompts: 3, Added: 12, Removed: 4,
		Models: []builtin.ModelNumbers{{Model: "big", Requests: 5, Input: 1234567, Output: 89, Cost: "cost 0.12"}},
		Tools:  []builtin.ToolNumbers{{Tool: "safe_patch", Calls: 2, Failed: 1, Accepted: 1}},
	}
}

func (w checkpoints) List(context.Context) ([]builtin.Checkpoint, error) {
	return []builtin.Checkpoint{{ID: "t1", Time: time.Unix(0, 0), Prompt: "Change it", Calls: []builtin.CheckpointCall{{ID: "t1.c1", Tool: "safe_patch", Paths: []string{"a.txt"}}}}}, nil
}
func (w checkpoints) Preview(_ context.Context, id string, partial bool) (builtin.Preview, error) {
	p := builtin.Preview{Diff: w.diff, Paths: w.paths, Notes: []string{"b.txt cannot be restored."}}
	if id == "late" && !partial {
		p.Refused = "a.txt was changed since."
	}
	return p, w.do("preview " + id)
}
func (w checkpoints) Restore(_ context.Context, id string, _ bool) (string, error) {
	return "Restored.", w.do("restore " + id)
}

func (w about) About() []builtin.Fact { return []builtin.Fact{{Name: "Version", Value: "1.0"}} }

func (w agents) List() []builtin.Agent {
	return []builtin.Agent{{Name: "reviewer", Description: "Reviews", Source: "user", Remote: true}}
}
func (w agents) Reload(context.Context) ([]string, error) {
	return []string{"x.md: It is broken."}, w.do("reload agents")
}

func (w hookList) List() []builtin.Hook {
	return []builtin.Hook{{Name: "lint", Event: "AfterTool", Matcher: "edit", Command: "make lint", Source: "hooks.toml"}}
}
func (w hookList) SetEnabled(_ context.Context, name string, on bool) error {
	return w.do(onOff("hook "+name, on))
}
func (w hookList) Trust(context.Context) (string, error) { return "Trusted.", w.do("trust hooks") }

func (w extensions) List() []builtin.Extension {
	return []builtin.Extension{{Name: "ext", Version: "1.2", Path: "/ext", Problem: "It is old."}}
}
func (w extensions) SetEnabled(_ context.Context, name string, on bool) error {
	return w.do(onOff("extension "+name, on))
}
func (w extensions) Reload(context.Context) ([]string, error) { return nil, w.do("reload extensions") }

func (w dirs) List() []string                           { return []string{"/dir", "/other"} }
func (w dirs) Add(_ context.Context, path string) error { return w.do("add " + path) }
func (w modes) Mode() string                            { return w.mode }
func (w modes) SetMode(_ context.Context, mode string) error {
	w.mode = mode
	return w.do("mode " + mode)
}
func (w contextFile) Find(context.Context) (string, bool, error) {
	return "/dir/FETTLE.md", w.file, w.do("find context")
}

// all are services of everything.
func (w *world) all() builtin.Services {
	return builtin.Services{
		Catalog: catalog{w}, Clear: &builtin.Clear{Hooks: hooks{w}, Chat: chat{w}, Session: chat{w}, Tokens: tokens{w}}, Tools: toolList{w}, Models: models{w},
		Chats: chats{w}, Transcript: transcripts{w}, Compressor: compressor{w}, Skills: skills{w}, Servers: servers{w}, Trust: trust{w}, Policy: policies{w},
		Memory: memory{w}, Stats: numbers{w}, Checkpoints: checkpoints{w}, About: about{w}, Agents: agents{w}, Hooks: hookList{w}, Extensions: extensions{w},
		Directories: dirs{w}, ContextFile: contextFile{w}, Mode: modes{w},
		Dialogs: []string{"auth", "theme", "editor", "privacy", "resume", "settings", "sessionBrowser", "agentConfig"},
	}
}

func set(t *testing.T, s builtin.Services) *commands.Set {
	t.Helper()
	set, problems, err := commands.Assemble(t.Context(), builtin.Loader(s))
	require.NoError(t, err)
	require.Empty(t, problems)
	return set
}

// shown is a result as a person might be shown it.
func shown(t *testing.T, r commands.Result) string {
	t.Helper()
	switch r := r.(type) {
	case commands.Message:
		return r.Text
	case commands.CustomDialog:
		return r.Text
	case commands.ConfirmAction:
		return "? " + r.Prompt
	case commands.SubmitPrompt:
		return "> " + r.Content.String()
	case commands.RunTool:
		return r.Name + string(r.Args)
	case commands.CopyText:
		return "copy " + r.Text
	case commands.Dialog:
		return "dialog " + r.Name
	case commands.LoadHistory:
		return "load: " + r.Note
	case commands.Quit:
		return "quit"
	case commands.ClearScreen:
		return "clear screen"
	}
	t.Fatalf("%#v", r)
	return ""
}
