package builtin_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/fault"
)

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
