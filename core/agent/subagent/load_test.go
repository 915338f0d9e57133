package subagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/tools"
)

func agentFile(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\nDo it.\n"
}

// EX-13: the first definition of a name is used, and the others are reported.
func TestLoadOrder(t *testing.T) {
	root := t.TempDir()
	project, user, ext := filepath.Join(root, "p"), filepath.Join(root, "u"), filepath.Join(root, "e")
	write(t, project, "b.md", agentFile("same", "of the project"))
	write(t, project, "a.md", agentFile("generalist", "taken"))
	write(t, project, "_c.md", agentFile("hidden", "d"))
	write(t, project, "d.txt", agentFile("text", "d"))
	write(t, filepath.Join(project, "sub"), "e.md", agentFile("below", "d"))
	write(t, project, "bad.md", "---\nname: [\n---\n")
	write(t, user, "x.MD", agentFile("same", "of the user"))
	write(t, user, "y.md", agentFile("mine", "of the user"))
	write(t, ext, "z.md", agentFile("its", "of ${extensionPath}"))
	defs, problems, err := subagent.Load(t.Context(), subagent.LoadOptions{
		BuiltIn: subagent.BuiltIn(),
		Dirs: []subagent.Dir{
			{Path: ext, Scope: subagent.ScopeExtension, Extension: "ext", Expand: strings.NewReplacer("${extensionPath}", ext).Replace}, {Path: user, Scope: subagent.ScopeUser},
			{Path: project, Scope: subagent.ScopeProject}, {Path: filepath.Join(root, "none"), Scope: subagent.ScopeProject},
		},
	})
	require.NoError(t, err)
	var names []string
	for _, d := range defs {
		names = append(names, d.Name)
	}
	require.Equal(t, []string{"codebase_investigator", "generalist", "same", "mine", "its"}, names)
	same, ok := subagent.Find(defs, "same")
	require.True(t, ok)
	require.Equal(t, "of the project", same.Description)
	require.Equal(t, "ext", defs[4].Source.Extension)
	require.Equal(t, "of "+ext, defs[4].Description, "variables are filled in")
	_, ok = subagent.Find(defs, "hidden")
	require.False(t, ok)

	text := report(problems)
	require.Contains(t, text, "a.md:2: The agent generalist already exists (built in)")
	require.Contains(t, text, "x.MD:2: The agent same already exists ("+filepath.Join(project, "b.md")+")")
	require.Contains(t, text, "bad.md:2: The front matter cannot be read")
	require.Len(t, problems, 3)
}

// EX-13: the hash is that of the file, so that consent applies to its content.
func TestLoadHash(t *testing.T) {
	dir := t.TempDir()
	o := subagent.LoadOptions{Dirs: []subagent.Dir{{Path: dir, Scope: subagent.ScopeProject}}}
	write(t, dir, "a.md", agentFile("a", "d"))
	before, _, err := subagent.Load(t.Context(), o)
	require.NoError(t, err)
	write(t, dir, "a.md", agentFile("a", "d")+"\n")
	after, _, err := subagent.Load(t.Context(), o)
	require.NoError(t, err)
	require.NotEqual(t, before[0].Source.Hash, after[0].Source.Hash)
	require.Equal(t, before[0].Prompt, after[0].Prompt)
}

func TestLoadChecks(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.md", "---\nname: a\ndescription: d\nmodel: sonnet\ntools: [Read, raed_file, mcp_x_*, nosuch]\n---\nDo it.\n")
	write(t, dir, "b.md", agentFile("read_file", "d"))
	write(t, dir, "c.md", agentFile("complete_task", "d"))
	defs, problems, err := subagent.Load(t.Context(), subagent.LoadOptions{
		Dirs:       []subagent.Dir{{Path: dir, Scope: subagent.ScopeUser}},
		Reserved:   func(name string) bool { return name == "read_file" },
		Tools:      func() []tools.DeclarativeTool { return []tools.DeclarativeTool{tool(t, "read_file", tools.KindRead)} },
		CheckModel: func(string) error { return errors.New("no") },
	})
	require.NoError(t, err)
	require.Len(t, defs, 1)
	require.Empty(t, defs[0].Model)
	text := report(problems)
	require.Contains(t, text, `The agent a runs on the model of its caller, because "sonnet" cannot be used: no.`)
	require.Contains(t, text, `lists the tool "raed_file", which does not exist, and runs without it. Did you mean read_file?`)
	require.Contains(t, text, `lists the tool "nosuch"`)
	require.NotContains(t, text, "mcp_x")
	require.Contains(t, text, "b.md:2: An agent cannot be named read_file")
	require.Contains(t, text, "c.md:2: An agent cannot be named complete_task")
}

// An unreadable file affects no other.
func TestLoadUnreadable(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.md", agentFile("a", "d"))
	write(t, dir, "long.md", agentFile("long", "d")+strings.Repeat("x", subagent.MaxFile))
	require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "broken.md")))
	if _, err := os.Stat("/dev/zero"); err == nil {
		require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "device.md")))
	}
	notDir := write(t, dir, "file", "")
	defs, problems, err := subagent.Load(t.Context(), subagent.LoadOptions{Dirs: []subagent.Dir{
		{Path: dir, Scope: subagent.ScopeUser}, {Path: notDir, Scope: subagent.ScopeUser},
	}})
	require.NoError(t, err)
	require.Len(t, defs, 1)
	require.Contains(t, report(problems), "broken.md: The agent cannot be read: no such file")
	require.Contains(t, report(problems), "long.md: The file is larger than 1024 KiB")
	require.Contains(t, report(problems), "The directory of agents cannot be read")
	for _, p := range problems {
		require.True(t, p.IsError())
	}
}

func TestLoadEnds(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.md", agentFile("a", "d"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := subagent.Load(ctx, subagent.LoadOptions{Dirs: []subagent.Dir{{Path: dir}}})
	require.NoError(t, err, "a directory without a scope is ignored")
	_, _, err = subagent.Load(ctx, subagent.LoadOptions{Dirs: []subagent.Dir{{Path: dir, Scope: subagent.ScopeUser}}})
	require.ErrorIs(t, err, context.Canceled)
}

// A session may lack some of the tools without a mistake: built-in agents cause no warning, those
// of an embedder do.
func TestBuiltInWithFewTools(t *testing.T) {
	mine := subagent.Definition{Name: "mine", Description: "Mine.", Prompt: "x", Tools: []string{"glob"}}
	for n, defs := range [][]subagent.Definition{subagent.BuiltIn(), {mine}} {
		_, problems, err := subagent.Load(t.Context(), subagent.LoadOptions{BuiltIn: defs, Tools: func() []tools.DeclarativeTool { return nil }})
		require.NoError(t, err)
		require.Len(t, problems, n)
	}
}

// EX-14: the built-in agents can become tools, and one only reads.
func TestBuiltIn(t *testing.T) {
	runner := subagent.NewRunner(subagent.Options{Host: noHost{}})
	for _, d := range subagent.BuiltIn() {
		made, err := runner.Tool(d)
		require.NoError(t, err)
		require.Equal(t, d.Name, made.Spec().Name)
		require.Equal(t, tools.KindThink, made.Spec().Kind)
		require.NotContains(t, d.Prompt, "TODO")
		_, err = made.Build(json.RawMessage(`{"query":"x"}`))
		require.NoError(t, err)
		_, err = made.Build(json.RawMessage(`{}`))
		require.ErrorContains(t, err, "query")
	}
	d, _ := subagent.Find(subagent.BuiltIn(), subagent.CodebaseInvestigator)
	require.Equal(t, []string{"list_directory", "read_file", "glob", "search_file_content"}, d.Tools)
	text, err := d.ProcessOutput(json.RawMessage(`{"SummaryOfFindings":"S.","ExplorationTrace":["t"],"RelevantLocations":[{"FilePath":"a.go","Reasoning":"r","KeySymbols":["F"]}]}`))
	require.NoError(t, err)
	require.Equal(t, "# Summary of findings\n\nS.\n\n# Relevant locations\n\n- a.go: r [F]\n\n# Exploration\n\n1. t\n", text)
	_, err = d.ProcessOutput(json.RawMessage(`[]`))
	require.Error(t, err)
}

type noHost struct{}

func (noHost) Begin(context.Context, *subagent.Definition) (*subagent.Session, error) {
	return nil, errors.New("not here")
}

// CR-23: names of other programs, aliases, wildcards.
func TestSelect(t *testing.T) {
	all := []tools.DeclarativeTool{
		tool(t, "read_file", tools.KindRead), tool(t, "run_shell_command", tools.KindExecute), governed{tool(t, "safe_patch", tools.KindEdit)},
		tool(t, "search_file_content", tools.KindSearch, tools.WithSpec(func(s *tools.Spec) { s.Aliases = []string{"grep_search"} })),
		server(t, "mcp_a_b_x", "a_b"), server(t, "y", "a"), tool(t, "read", tools.KindRead),
	}
	tests := map[string]struct {
		entries, want, unknown []string
	}{
		"nil":           {nil, []string{"read_file", "run_shell_command", "safe_patch", "search_file_content", "mcp_a_b_x", "y", "read"}, nil},
		"none":          {[]string{}, nil, nil},
		"star":          {[]string{"*"}, []string{"read_file", "run_shell_command", "safe_patch", "search_file_content", "mcp_a_b_x", "y", "read"}, nil},
		"own names":     {[]string{"grep_search", "read_file"}, []string{"read_file", "search_file_content"}, nil},
		"of others":     {[]string{"Bash", "Grep", "Edit", "MultiEdit"}, []string{"run_shell_command", "safe_patch", "search_file_content"}, nil},
		"otherwise":     {[]string{"ReadFile", "Run-Shell-Command", "SearchText", "Y"}, []string{"read_file", "run_shell_command", "search_file_content"}, []string{"Y"}},
		"own before":    {[]string{"read"}, []string{"read"}, nil},
		"Read is other": {[]string{"Read"}, []string{"read_file"}, nil},
		"governed":      {[]string{"replace"}, []string{"safe_patch"}, nil},
		"all servers":   {[]string{"mcp_*"}, []string{"mcp_a_b_x", "y"}, nil},
		"one server":    {[]string{"mcp_a_*"}, []string{"y"}, nil},
		"other server":  {[]string{"mcp_a_b_*"}, []string{"mcp_a_b_x"}, nil},
		"its tool":      {[]string{"mcp_a_y"}, []string{"y"}, nil},
		"unknown":       {[]string{"nope", "mcp_c_*", "Task", "WebFetch"}, nil, []string{"nope", "WebFetch"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			chosen, unknown := subagent.Select(tt.entries, all)
			var names []string
			for _, c := range chosen {
				names = append(names, c.Spec().Name)
			}
			require.Equal(t, tt.want, names)
			require.Equal(t, tt.unknown, unknown)
		})
	}
}

// EX-16: an entry matches a server's tool by its server, whatever its name is.
func TestSelectByServer(t *testing.T) {
	made := tool(t, "mcp_my_server_do_it_0badcafe", tools.KindOther,
		tools.WithSpec(func(s *tools.Spec) {
			s.Origin = tools.Origin{Group: tools.GroupMCP, Server: "my server", Tool: "do it"}
		}))
	for entry, want := range map[string]bool{
		"mcp_my_server_do_it_0badcafe": true, "mcp_my server_do it": true, "mcp_my_server_do_it": true,
		"mcp_*": true, "mcp_my server_*": true, "mcp_*_do it": true,
		"mcp_my_*": false, "mcp_*_it": false, "do it": false,
	} {
		chosen, _ := subagent.Select([]string{entry}, []tools.DeclarativeTool{made})
		require.Equal(t, want, len(chosen) == 1, entry)
	}
}

// governed is a tool that edit and replace govern.
type governed struct{ tools.DeclarativeTool }

func (g governed) Spec() tools.Spec {
	s := g.DeclarativeTool.Spec()
	s.GovernedBy = []string{"edit", "replace"}
	return s
}

func server(t *testing.T, name, of string) tools.DeclarativeTool {
	return tool(t, name, tools.KindOther, tools.WithSpec(func(s *tools.Spec) { s.Origin = tools.Origin{Group: tools.GroupMCP, Server: of} }))
}

type noArgs struct {
	Text string `json:"text,omitempty"`
}

func tool(t *testing.T, name string, kind tools.Kind, options ...tools.Option) tools.DeclarativeTool {
	t.Helper()
	made, err := tools.Define(name, "A tool.", kind, func(_ context.Context, a noArgs) (tools.Result, error) {
		return tools.Result{LLMContent: tools.Text(name + " did " + a.Text)}, nil
	}, options...)
	require.NoError(t, err)
	return made
}

// CR-23: the names in samples of other programs match tools here.
func TestSelectForeign(t *testing.T) {
	var all []tools.DeclarativeTool
	for _, name := range []string{"run_shell_command", "read_file", "safe_patch", "write_file", "search_file_content", "glob", "list_directory",
		"web_fetch", "web_search", "write_todos", "ask_user", "activate_skill", "read_background_output", "stop_background_process"} {
		all = append(all, tool(t, name, tools.KindOther))
	}
	for entry, want := range map[string]string{
		"Bash": "run_shell_command", "Read": "read_file", "Edit": "safe_patch", "MultiEdit": "safe_patch", "Write": "write_file", "Grep": "search_file_content",
		"Glob": "glob", "LS": "list_directory", "WebFetch": "web_fetch", "WebSearch": "web_search", "TodoWrite": "write_todos", "AskUserQuestion": "ask_user",
		"Skill": "activate_skill", "BashOutput": "read_background_output", "KillShell": "stop_background_process", "NotebookEdit": "safe_patch",
	} {
		chosen, unknown := subagent.Select([]string{entry}, all)
		require.Empty(t, unknown, entry)
		require.Len(t, chosen, 1, entry)
		require.Equal(t, want, chosen[0].Spec().Name, entry)
	}
	_, unknown := subagent.Select([]string{"Task"}, all)
	require.Empty(t, unknown, "agents may be callable or not")
}
