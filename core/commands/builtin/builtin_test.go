package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
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

// CM-04, CM-09: each command runs against fakes: its effects and its output.
func TestCommands(t *testing.T) {
	tests := map[string]struct {
		did   string // parted by ", "
		shows string // a regular expression
	}{
		"/quit":                    {"", "^quit$"},
		"/exit":                    {"", "^quit$"},
		"/quit now":                {"", "The only argument of /quit is --delete"},
		"/help":                    {"", "(?s)/help.*Your commands.*`/ask_me` — Asks .\\*me.\\*.*Skills.*/poet"},
		"/?":                       {"", "/help"},
		"/help ?":                  {"", "(?s)Helps.*Also: /\\?.*`sub` — below"},
		"/help /ask_me":            {"", "From: `/a.toml`"},
		"/help nope":               {"", "There is no command /nope"},
		"/commands":                {"", "(?s)^The commands, except the built-in ones:\n\n- `/ask_me`.*/a.toml.*/poet"},
		"/commands reload":         {"reload commands", "x.toml:3: It is broken"},
		"/commands refresh":        {"reload commands", "reloaded"},
		"/tools":                   {"", "(?s)2 tools.*`mcp_shelf_find` — Finds a book. \\(MCP server shelf\\)\n- `safe_patch` — Changes a file.\n\n/tools desc describes them.\n$"},
		"/tools desc":              {"", "Changes a file. Never half of it."},
		"/tools nodesc":            {"", "safe_patch"},
		"/tools nope":              {"", "no sub-command"},
		"/model":                   {"", "The model is `big`(?s).*small"},
		"/model small":             {"model small", "for this session"},
		"/model set small":         {"model small", "for this session"},
		"/model set --persist big": {"model big for good", "later sessions"},
		"/model set":               {"", "^Missing name of the model\\.$"},
		"/model set a b":           {"", "no spaces"},
		"/chat":                    {"list chats", "^The saved conversations:\n\n- `alpha` — 2 messages"},
		"/chat list":               {"list chats", "alpha"},
		"/chat nope":               {"", "no sub-command"},
		"/chat save new":           {"save new", "saved as `new`"},
		"/chat save alpha":         {"", "^\\? A conversation `alpha` is saved already"},
		"/chat save":               {"", "^Missing tag\\.$"},
		"/chat resume":             {"", "^Missing tag\\.$"}, // CM-12
		"/chat load":               {"", "^Missing tag\\.$"},
		"/chat resume alpha":       {"load alpha", "^load: The conversation `alpha` is resumed"},
		"/chat load alpha":         {"load alpha", "^load"},
		"/chat delete":             {"", "^Missing tag\\.$"},
		"/chat delete alpha":       {"delete alpha", "removed"},
		"/chat share a.md":         {"export a.md", "`/dir/a.md`"},
		"/export a.json":           {"export a.json", "`/dir/a.json`"},
		"/export-session there.md": {"", "^\\? The file"},
		"/copy":                    {"", "^copy said$"},
		"/compress":                {"compress", "^The conversation is unchanged: said\\.$"},
		"/compact":                 {"compress", "said"},
		"/summarize":               {"compress", "said"},
		"/skill":                   {"", "Missing name of the skill"},
		"/skill poet":              {"activate poet", "`poet`"},
		"/skill poet about a tree": {"activate poet", "^> about a tree$"},
		"/skills":                  {"", "(?s)`poet` — Rhymes \\(user, active\\).*`off` —  \\(project, disabled\\)"},
		"/skills list":             {"", "poet"},
		"/skills reload":           {"reload skills", "reloaded"},
		"/skills enable off":       {"skill off on", "enabled"},
		"/skills disable poet":     {"skill poet off", "disabled"},
		"/skills disable":          {"", "Missing name of the skill"},
		"/skills nope":             {"", "no sub-command"},
		"/mcp":                     {"", "(?s)\\*\\*shelf\\*\\* — connected, confined, 1 tool, 1 prompt, 2 resources.*`/book-review`.*gone.*did not answer"},
		"/mcp ls":                  {"", "mcp_shelf_find"},
		"/mcp desc":                {"", "Finds a book"},
		"/mcp schema":              {"", "(?s)```json.*\"type\": \"object\""},
		"/mcp auth":                {"", "Missing name of the server"},
		"/mcp auth shelf":          {"sign in shelf", "signed in"},
		"/mcp reload":              {"reload servers", "connected"},
		"/mcp enable gone":         {"server gone on", "enabled"},
		"/mcp disable shelf":       {"server shelf off", "disabled"},
		"/permissions":             {"", "`/dir` is \\*\\*undecided\\*\\*"},
		"/permissions trust":       {"trust  on", "next session"},
		"/permissions trust /x y":  {"trust /x y on", "next session"},
		"/permissions untrust":     {"trust  off", "next session"},
		"/policy":                  {"", "(?s)^The rules .*\n- 2.100 \\*\\*deny\\*\\* `run_shell_command\\(rm\\) in yolo` \\(no-rm\\) — user, rules.toml:3\n$"},
		"/policies list":           {"", "deny"},
		"/memory":                  {"memory", "`/dir/FETTLE.md` — 15 bytes"},
		"/memory show":             {"memory", "(?s)````markdown\nUse ``` fences.\n````"},
		"/memory list":             {"memory", "FETTLE.md"},
		"/memory reload":           {"reload memory, memory", "FETTLE.md"},
		"/memory add":              {"", "Missing fact"},
		"/memory add I like \"x\"": {"", `^save_memory{"fact":"I like \\"x\\""}$`},
		"/stats":                   {"", "(?s)^Since this session began:\n\n.*1m30s.*prompts: 3.*2, 1 failed.*12 added, 4 removed.*1,234,567 tokens in, 89 out; cost 0.12"},
		"/usage session":           {"", "prompts: 3"},
		"/stats model":             {"", "`big` — 5 requests.*89 out; cost 0.12; 0s waited"},
		"/stats tools":             {"", "`safe_patch` — 2 calls, 1 failed; 1 accepted"},
		"/restore":                 {"", "(?s)`t1`.*Change it\n  - `t1.c1` — safe\\\\_patch a.txt"},
		"/restore t1":              {"preview t1", "(?s)^\\? Restore `a.txt`, `b.txt` and `c_d.txt`\\?\n\nb.txt cannot.*```diff\n-a\n```$"},
		"/restore late --partial":  {"preview late", "Restore `a.txt`, `b.txt` and `c_d.txt`"},
		"/restore late":            {"preview late", "changed since"},
		"/about":                   {"", "\\*\\*Version\\*\\*: `1.0`"},
		"/agents":                  {"", "`reviewer` — Reviews \\(user, remote\\)"},
		"/agents list":             {"", "reviewer"},
		"/agents reload":           {"reload agents", "x.md: It is broken"},
		"/hooks":                   {"", "`lint` — AfterTool on `edit`: `make lint` \\(hooks.toml, disabled, not trusted\\)"},
		"/hooks trust":             {"trust hooks", "Trusted"},
		"/hooks enable lint":       {"hook lint on", "enabled"},
		"/hooks disable lint":      {"hook lint off", "disabled"},
		"/extensions":              {"", "`ext` — 1.2, disabled: It is old. \\(`/ext`\\)"},
		"/extensions enable ext":   {"extension ext on", "enabled"},
		"/extensions disable ext":  {"extension ext off", "disabled"},
		"/extensions reload":       {"reload extensions", "reloaded"},
		"/directory":               {"", "(?s)/dir.*/other"},
		"/dir show":                {"", "/dir"},
		"/dir add a, b c":          {"add a, add b c", "`a`, `b c`"},
		"/dir add":                 {"", "Missing directory"},
		"/init":                    {"find context", "^> Write the file /dir/FETTLE.md"},
		"/mode":                    {"", "The approval mode is `default`(?s).*yolo"},
		"/mode autoEdit":           {"mode autoEdit", "it makes edits without approval"},
		"/plan":                    {"mode plan", "`plan` now"},
		"/plan build a bridge":     {"mode plan", "^> build a bridge$"},
		"/settings":                {"", "^dialog settings$"},
		"/clear":                   {"session end: clear, reset chat, new session, session start: clear, tokens: 0", "clear screen"},
		"/new":                     {"session end: clear, reset chat, new session, session start: clear, tokens: 0", "clear screen"},
	}
	for line, tt := range tests {
		t.Run(line, func(t *testing.T) {
			w := &world{hook: "said", tags: map[string]bool{"alpha": true}, mode: "default", model: "big", diff: "-a", paths: []string{"a.txt", "b.txt", "c_d.txt"}}
			r, err := set(t, w.all()).Parse(line).Run(t.Context(), &commands.Context{})
			text := ""
			if err == nil {
				text = shown(t, r)
			} else {
				require.NotNil(t, fault.As(err))
				text = fault.As(err).Message
				require.NotEmpty(t, fault.As(err).Remedy+w.diff)
			}
			require.Regexp(t, regexp.MustCompile(tt.shows), text)
			require.Equal(t, tt.did, strings.Join(w.did, ", "))
		})
	}
}

// The cause of a failure is shown to the user.
func TestCommandsFail(t *testing.T) {
	for line, what := range map[string]string{
		"/chat save x": "save x", "/chat resume x": "load x", "/chat delete x": "delete x", "/chat list": "list chats", "/export x": "export x", "/compress": "compress",
		"/skill x": "activate x", "/skills reload": "reload skills", "/mcp reload": "reload servers", "/mcp auth x": "sign in x", "/memory": "memory", "/memory reload": "reload memory",
		"/model set x": "model x", "/mode x": "mode x", "/plan x": "mode plan", "/init": "find context", "/dir add x": "add x", "/restore x": "preview x", "/permissions trust x": "trust x on",
		"/agents reload": "reload agents", "/hooks trust": "trust hooks", "/hooks disable x": "hook x off", "/extensions reload": "reload extensions", "/commands reload": "reload commands",
	} {
		w := &world{fails: what, tags: map[string]bool{}}
		_, err := set(t, w.all()).Parse(line).Run(t.Context(), &commands.Context{})
		require.True(t, errors.Is(err, errTest), "%s: %v", line, err)
	}
}

// CM-05: what takes the place of something is asked about first.
func TestCommandsConfirmed(t *testing.T) {
	for line, did := range map[string]string{"/chat save alpha": "save alpha", "/export there.md": "export there.md", "/restore t1": "restore t1"} {
		w := &world{tags: map[string]bool{"alpha": true}, diff: "-a", paths: []string{"a.txt"}}
		s := set(t, w.all())
		r, err := s.Parse(line).Run(t.Context(), &commands.Context{})
		require.NoError(t, err)
		require.IsType(t, commands.ConfirmAction{}, r)
		require.NotContains(t, w.did, did)
		_, err = s.Parse(line).Run(t.Context(), &commands.Context{OverwriteConfirmed: true})
		require.NoError(t, err)
		require.Equal(t, did, w.did[len(w.did)-1])
	}
	w := &world{}
	r, err := set(t, w.all()).Parse("/restore t1").Run(t.Context(), &commands.Context{})
	require.NoError(t, err)
	require.Contains(t, shown(t, r), "there is nothing to restore")
}

// CM-11: the order, with hooks and without, with a client and without.
func TestClear(t *testing.T) {
	w := &world{hook: "Welcome back."}
	full := &builtin.Clear{Hooks: hooks{w}, Chat: chat{w}, Session: chat{w}, Tokens: tokens{w}}
	s := set(t, builtin.Services{Clear: full})
	r, err := s.Parse("/clear").Run(t.Context(), &commands.Context{})
	require.NoError(t, err)
	require.Equal(t, []string{"session end: clear", "reset chat", "new session", "session start: clear", "tokens: 0"}, w.did)
	require.Equal(t, commands.ClearScreen{Message: &commands.Message{Level: commands.LevelInfo, Text: "Welcome back."}}, r)

	for name, tt := range map[string]struct {
		clear builtin.Clear
		did   []string
	}{
		"no hooks":  {builtin.Clear{Chat: chat{w}, Session: chat{w}, Tokens: tokens{w}}, []string{"reset chat", "new session", "tokens: 0"}},
		"no client": {builtin.Clear{Hooks: hooks{w}, Session: chat{w}, Tokens: tokens{w}}, []string{"session end: clear", "new session", "session start: clear", "tokens: 0"}},
		"neither":   {builtin.Clear{Session: chat{w}}, []string{"new session"}},
	} {
		w.did, w.hook = nil, ""
		r, err := set(t, builtin.Services{Clear: &tt.clear}).Parse("/clear").Run(t.Context(), &commands.Context{})
		require.NoError(t, err, name)
		require.Equal(t, tt.did, w.did, name)
		require.Equal(t, commands.ClearScreen{}, r, name)
	}
	for _, what := range []string{"reset chat", "new session"} { // it ends where it is
		w.did, w.fails = nil, what
		_, err = s.Parse("/clear").Run(t.Context(), &commands.Context{})
		require.ErrorIs(t, err, errTest)
		require.Equal(t, what, w.did[len(w.did)-1])
	}
}

// CM-12 and others: completion of arguments.
func TestCompletions(t *testing.T) {
	w := &world{tags: map[string]bool{"alpha": true, "beta": true, "alps": true}}
	s := set(t, w.all())
	for line, want := range map[string]string{
		"/chat resume al":    "alpha alps",
		"/chat load b":       "beta",
		"/chat delete ":      "alpha alps beta",
		"/chat re":           "resume",
		"/model set s":       "small",
		"/mode a":            "autoEdit auto",
		"/skill ":            "poet",
		"/skills enable ":    "off",
		"/skills disable ":   "poet",
		"/mcp auth s":        "shelf",
		"/restore t":         "t1 t1.c1",
		"/hooks enable ":     "lint",
		"/hooks disable ":    "",
		"/extensions enable": "enable",
		"/quit -":            "--delete",
		"/help po":           "poet",
	} {
		got, err := s.Complete(t.Context(), &commands.Context{}, line, len(line))
		require.NoError(t, err)
		var items []string
		for _, item := range got.Items {
			items = append(items, item.Value)
		}
		require.Equal(t, want, strings.Join(items, " "), line)
	}
	w.fails = "list chats"
	_, err := s.Complete(t.Context(), &commands.Context{}, "/chat load ", 11)
	require.ErrorIs(t, err, errTest)
}

// A command whose service is missing is missing too.
func TestMissingServices(t *testing.T) {
	var names []string
	for _, c := range set(t, builtin.Services{}).List() {
		names = append(names, c.Name)
	}
	require.Equal(t, []string{"quit"}, names)
	require.Nil(t, set(t, builtin.Services{Chats: chats{&world{}}}).Parse("/chat").Command.Completion)
	_, err := set(t, builtin.Services{Chats: chats{&world{}}}).Parse("/chat share x").Run(t.Context(), &commands.Context{})
	require.Contains(t, fault.As(err).Message, "no sub-command")
}

// Text of other programs is shown as plain text.
func TestTextOfOthers(t *testing.T) {
	w := &world{}
	s := set(t, builtin.Services{Catalog: evil{catalog{w}}})
	r, err := s.Parse("/help").Run(t.Context(), &commands.Context{})
	require.NoError(t, err)
	require.NotContains(t, shown(t, r), "\x1b")
	require.NotContains(t, shown(t, r), "\n# big")
	require.Contains(t, shown(t, r), `\[x](y)`)
}

type evil struct{ catalog }

func (evil) List() []*commands.Command {
	return []*commands.Command{{Name: "e", Kind: commands.KindMCPPrompt, Description: "\x1b[31m\n# big [x](y)"}}
}

// Names returns the names and alternative names of all commands.
func TestNames(t *testing.T) {
	w := &world{}
	var names []string
	for _, c := range set(t, w.all()).List() {
		names = append(append(names, c.Name), c.AltNames...)
	}
	require.ElementsMatch(t, names, builtin.Names())
}

// /help names the other forms; /help keys lists the keys of the front end; /help all
// lists them with every command and sub-command (UI-04).
func TestHelpForms(t *testing.T) {
	w := &world{}
	services := w.all()
	services.Catalog = whole{catalog{w}, set(t, services).List()}
	run := func(line string) string {
		r, err := set(t, services).Parse(line).Run(t.Context(), &commands.Context{})
		require.NoError(t, err)
		return shown(t, r)
	}
	require.NotContains(t, run("/help"), "/help keys` lists")
	require.Contains(t, run("/help keys"), "no keys of its own")
	services.Keys = func() string { return "| Ctrl-R | searches |\n" }
	require.Contains(t, run("/help"), "/help keys` lists")
	require.Equal(t, "| Ctrl-R | searches |\n", run("/help keys"))
	for _, line := range []string{"/help all", "/help all keys", "/help  keys all"} {
		all := run(line)
		require.Contains(t, all, "| Ctrl-R | searches |")
		for _, c := range set(t, services).List() {
			if c.Kind != commands.KindBuiltIn {
				continue
			}
			require.Contains(t, all, "`/"+c.Name+"`")
			for _, sub := range c.SubCommands {
				require.Contains(t, all, "`/"+c.Name+" "+sub.Name+"`")
			}
		}
	}
	require.Contains(t, run("/help /quit"), "Also: /exit")
}

// whole is a catalog of the given commands.
type whole struct {
	catalog
	list []*commands.Command
}

func (c whole) List() []*commands.Command { return c.list }
