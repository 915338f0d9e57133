package config_test

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

var _ file.Mutator = (*mutation.Service)(nil)

func names(t *testing.T, c *config.Config) []string {
	t.Helper()
	r, err := c.ToolRegistry()
	require.NoError(t, err)
	return r.Names()
}

var defaultTools = []string{
	"read_file", "read_many_files", "list_directory", "safe_patch", "write_file",
	"glob", "search_file_content",
	"run_shell_command", "list_background_processes", "read_background_output", "write_background_input", "stop_background_process",
	"web_fetch", "write_todos", "enter_plan_mode", "exit_plan_mode",
	"ask_user", "save_memory", "get_internal_docs", "tool_search", "activate_skill",
}

// defaultsBut returns the default tools without those named.
func defaultsBut(left ...string) []string {
	return slices.DeleteFunc(slices.Clone(defaultTools), func(name string) bool { return slices.Contains(left, name) })
}

// geminiTools returns the default tools under the names of that layout.
func geminiTools() []string {
	var all []string
	for _, name := range defaultTools {
		switch name {
		case "write_file":
			all = append(all, name, "replace")
		case "search_file_content":
			all = append(all, "grep_search")
		default:
			all = append(all, name)
		}
	}
	return all
}

func echo(t *testing.T, name string, o ...tools.Option) tools.DeclarativeTool {
	t.Helper()
	tool, err := tools.Define(name, "Says its name.", tools.KindRead, func(context.Context, struct{}) (tools.Result, error) {
		return tools.Result{LLMContent: tools.Text(name)}, nil
	}, o...)
	require.NoError(t, err)
	return tool
}

func TestSelection(t *testing.T) { // AR-09, AR-10, CR-20
	for name, tt := range map[string]struct {
		core, exclude []string
		layout        layout.Layout
		want          []string
	}{
		"default":            {want: defaultTools},
		"named":              {core: []string{"read_file", "run_shell_command(git)"}, want: []string{"read_file", "run_shell_command"}},
		"named with pattern": {core: []string{"write_file(src/)"}, want: []string{}},
		"edit named":         {core: []string{"read_file", "edit"}, want: []string{"read_file", "edit"}},
		"edit by its alias":  {core: []string{"replace"}, want: []string{"edit"}},
		"excluded":           {exclude: []string{"write_file"}, want: defaultsBut("write_file")},
		"exclusion wins":     {core: []string{"read_file", "write_file"}, exclude: []string{"write_file"}, want: []string{"read_file"}},
		"none":               {core: []string{}, want: []string{}},
		"edit governs":       {core: []string{"edit", "safe_patch", "read_file"}, exclude: []string{"edit"}, want: []string{"read_file"}},
		"gemini":             {layout: layout.Gemini(), want: geminiTools()},
		"gemini, edit named": {layout: layout.Gemini(), core: []string{"edit"}, want: []string{"replace"}},
		"gemini, replace out": {layout: layout.Gemini(), exclude: []string{"replace", "run_shell_command"}, want: slices.DeleteFunc(geminiTools(), func(name string) bool {
			return name == "replace" || name == "safe_patch" || name == "run_shell_command"
		})},
	} {
		t.Run(name, func(t *testing.T) {
			s := configtest.New(t, func(p *config.Parameters) {
				p.Tools.Core, p.Tools.Exclude, p.Environment.Layout = tt.core, tt.exclude, tt.layout
			})
			require.Equal(t, tt.want, names(t, s.Config))
			child := derive(t, s.Config, config.DeriveParameters{})
			require.Equal(t, tt.want, names(t, child), "a child's tools are its parent's")
		})
	}
}

// AR-09: an exclusion with brackets denies commands of the shell, whoever allows
// them, and for a subagent the whole tool.
func TestExcludedCommands(t *testing.T) {
	s := configtest.New(t, withUser(t, `{"tools": {"exclude": ["run_shell_command(rm,git push)"], "allowed": ["run_shell_command"]}}`))
	require.Contains(t, names(t, s.Config), "run_shell_command")
	for command, want := range map[string]policy.Verdict{
		"git status": policy.Allow, "rm a": policy.Deny, "git status && rm a": policy.Deny, "git push origin": policy.Deny, "git pull": policy.Allow, "rmdir a": policy.Allow,
	} {
		d := verdict(t, s.Config, "run_shell_command", `{"command": "`+command+`"}`)
		require.Equal(t, want, d.Decision, command)
		if want == policy.Deny {
			require.Equal(t, filepath.Join(storageOf(t, s.Config).GlobalDir, "settings.json"), d.Source)
		}
	}
	child := derive(t, s.Config, config.DeriveParameters{ExcludeTools: []string{"run_shell_command(cp)"}})
	require.NotContains(t, names(t, child), "run_shell_command")
}

// AR-10: DefaultTools returns the tools of a session with all services.
func TestDefaultTools(t *testing.T) {
	for _, l := range []layout.Layout{layout.Fettle(), layout.Gemini()} {
		s := configtest.New(t, func(p *config.Parameters) { p.Environment.Layout, p.Tools.WebSearch = l, searcher{} })
		registry, err := s.ToolRegistry()
		require.NoError(t, err)
		var want []string
		for _, t := range registry.All() {
			want = append(append(want, t.Spec().Name), t.Spec().Aliases...)
		}
		require.ElementsMatch(t, want, config.DefaultTools(l), l.Dir)
	}
}

func TestDerivedSelection(t *testing.T) { // AR-05
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Exclude = []string{"write_file"} })
	require.Equal(t, []string{"read_file"}, names(t, derive(t, s.Config, config.DeriveParameters{CoreTools: []string{"read_file", "write_file"}})),
		"what the parent may not have a child may not either")
	require.Equal(t, defaultsBut("write_file", "safe_patch"),
		names(t, derive(t, s.Config, config.DeriveParameters{ExcludeTools: []string{"edit"}})))
	require.Equal(t, defaultsBut("write_file"), names(t, s.Config))
}

// AR-09, TO-15: CoreTools names built-ins; it does not affect an embedder's own
// tools, but exclusions do.
func TestOwnTools(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) {
		p.Tools.Core = []string{"read_file"}
		p.Tools.Exclude = []string{"shout"}
		p.Tools.Own = []tools.DeclarativeTool{echo(t, "echo"), echo(t, "shout")}
	})
	child := derive(t, s.Config, config.DeriveParameters{ExcludeTools: []string{"echo"}})
	require.Equal(t, []string{"read_file", "echo"}, names(t, s.Config))
	require.Equal(t, []string{"read_file"}, names(t, child))
	require.Equal(t, []string{"read_file", "echo"}, names(t, derive(t, s.Config, config.DeriveParameters{})))
	require.Equal(t, "echo", s.Call("echo", nil).Result.LLMContent.String())

	bad := config.Parameters{TargetDir: t.TempDir(), Environment: config.Environment{HomeDir: t.TempDir()}, Tools: config.Tools{Own: []tools.DeclarativeTool{nil}}}
	c, err := config.New(bad)
	require.NoError(t, err)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(c.Initialize(t.Context())))
}

// bindCount binds one tool, "versions", which returns the highest version of the
// conversation that it is bound to.
func bindCount(calls *int) func(config.Services) ([]tools.DeclarativeTool, error) {
	return func(v config.Services) ([]tools.DeclarativeTool, error) {
		*calls++
		type none struct{}
		t, err := tools.Define("versions", "Tells the version.", tools.KindRead, func(context.Context, none) (tools.Result, error) {
			return tools.Result{LLMContent: tools.Text(strconv.FormatInt(v.FileState.Versions.Current(), 10))}, nil
		})
		return []tools.DeclarativeTool{t}, err
	}
}

// RC-26: an embedder's tool that requires the services of a conversation is bound
// to those of the Config that it is called in.
func TestBoundTools(t *testing.T) {
	calls := 0
	s := configtest.New(t, func(p *config.Parameters) {
		p.Tools.Core = []string{"read_file"}
		p.Tools.Bind = bindCount(&calls)
	})
	child := derive(t, s.Config, config.DeriveParameters{})
	require.Equal(t, 1, calls, "a derived Config binds when its services are first asked for")
	require.Equal(t, []string{"read_file", "versions"}, names(t, child))
	require.Equal(t, 2, calls)

	s.Write("a", "a\n")
	s.Write("b", "b\n")
	read(t, s.Config, "a")
	read(t, child, "a")
	read(t, child, "b")
	require.Equal(t, "1", call(t, s.Config, "versions", map[string]any{}).Result.LLMContent.String())
	require.Equal(t, "2", call(t, child, "versions", map[string]any{}).Result.LLMContent.String(), "the child's state")

	require.Equal(t, []string{"read_file"}, names(t, derive(t, s.Config, config.DeriveParameters{ExcludeTools: []string{"versions"}})))
}

func TestBindFails(t *testing.T) {
	for name, bind := range map[string]func(config.Services) ([]tools.DeclarativeTool, error){
		"by its error": func(config.Services) ([]tools.DeclarativeTool, error) { return nil, context.DeadlineExceeded },
		"with nil":     func(config.Services) ([]tools.DeclarativeTool, error) { return []tools.DeclarativeTool{nil}, nil },
		"with a tool that children would take over": func(config.Services) ([]tools.DeclarativeTool, error) {
			return []tools.DeclarativeTool{echo(t, "found", tools.WithSpec(func(s *tools.Spec) { s.Origin = tools.Origin{Group: tools.GroupDiscovered} }))}, nil
		},
	} {
		var lent config.Services
		c := newConfig(t, config.Parameters{Tools: config.Tools{Bind: func(v config.Services) ([]tools.DeclarativeTool, error) {
			lent = v
			target, err := v.Workspace.Resolve(".")
			require.NoError(t, err)
			_, err = v.Workspace.Stat(target)
			require.NoError(t, err)
			return bind(v)
		}}})
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(c.Initialize(t.Context())), name)
		target, err := lent.Workspace.Resolve(".")
		if err == nil {
			_, err = lent.Workspace.Stat(target)
		}
		require.Error(t, err, "the workspace of a session that came to nothing is closed")
	}
}

// RC-26: discovered tools are shared values, copied and not discovered again.
func TestDiscoveredTools(t *testing.T) {
	discoveries := 0
	s := configtest.New(t, func(p *config.Parameters) {
		p.Tools.Core = []string{"read_file"}
		p.Tools.Discover = []func(context.Context) ([]tools.DeclarativeTool, error){
			func(context.Context) ([]tools.DeclarativeTool, error) {
				discoveries++
				return []tools.DeclarativeTool{
					echo(t, "found", tools.WithSpec(func(s *tools.Spec) { s.Origin = tools.Origin{Group: tools.GroupDiscovered} })),
					echo(t, "served", tools.WithSpec(func(s *tools.Spec) { s.Origin = tools.Origin{Group: tools.GroupMCP, Server: "srv"} })),
				}, nil
			},
			func(context.Context) ([]tools.DeclarativeTool, error) { return nil, context.DeadlineExceeded },
		}
	})
	require.Equal(t, []string{"read_file", "found", "served"}, names(t, s.Config))
	child := derive(t, s.Config, config.DeriveParameters{})
	grandchild := derive(t, child, config.DeriveParameters{ExcludeTools: []string{"served"}})
	require.Equal(t, []string{"read_file", "found", "served"}, names(t, child))
	require.Equal(t, []string{"read_file", "found"}, names(t, grandchild))
	require.Equal(t, 1, discoveries)
	for _, tt := range []struct {
		tool   string
		shared bool
	}{{"found", true}, {"read_file", false}} {
		parents, err := s.ToolRegistry()
		require.NoError(t, err)
		childs, err := child.ToolRegistry()
		require.NoError(t, err)
		a, err := parents.Lookup(tt.tool)
		require.NoError(t, err)
		b, err := childs.Lookup(tt.tool)
		require.NoError(t, err)
		require.Equal(t, tt.shared, a == b, tt.tool)
	}
}

// CR-27: the same session under both sets of names.
func TestLayouts(t *testing.T) {
	for _, tt := range []struct {
		name          string
		calls         []string // names under which the edit tool answers
		context, dir  string
		declaresAs    string
		instructsFile string
	}{
		{"fettle", []string{"edit", "replace"}, "FETTLE.md", ".fettle", "edit", "GEMINI.md"},
		{"gemini", []string{"replace", "edit"}, "GEMINI.md", ".gemini", "replace", "FETTLE.md"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, ok := layout.Named(tt.name)
			require.True(t, ok)
			s := configtest.New(t, func(p *config.Parameters) {
				p.Environment.Layout = l
				p.Tools.Core = []string{"read_file", "edit"}
			})
			require.Equal(t, []string{"read_file", tt.declaresAs}, names(t, s.Config))
			storage, err := s.Storage()
			require.NoError(t, err)
			require.Equal(t, tt.dir, filepath.Base(storage.GlobalDir))
			for _, name := range tt.calls {
				s.Write("f", "a\n")
				read(t, s.Config, "f")
				r := s.Call(name, map[string]any{"file_path": "f", "old_string": "a", "new_string": "b"})
				require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
				require.Equal(t, tt.declaresAs, r.Tool)
				require.Equal(t, "b\n", s.Read("f"))
			}
			require.Equal(t, tt.declaresAs, s.Confirmations()[0].ToolCall.Name)

			// The layout's context file is never answered by a placeholder
			// (RC-19); the other layout's is an ordinary file.
			for _, name := range []string{tt.context, tt.instructsFile} {
				s.Write(name, "Be brief.\n")
				read(t, s.Config, name)
			}
			require.NotNil(t, read(t, s.Config, tt.context).Content)
			require.Equal(t, "file_unchanged", read(t, s.Config, tt.instructsFile).Status)
		})
	}
	_, ok := layout.Named("vim")
	require.False(t, ok)
	fallback, ok := layout.Named("")
	require.True(t, ok)
	require.Equal(t, layout.Fettle(), fallback)
}

// CR-27: the description of a tool names no other by a name that this one does
// not have under its layout.
func TestNamesInDescriptions(t *testing.T) {
	l := layout.Gemini()
	s := configtest.New(t, func(p *config.Parameters) { p.Environment.Layout = l })
	registry, err := s.ToolRegistry()
	require.NoError(t, err)
	told := registry.Declarations()
	require.NotEmpty(t, told)
	for name := range l.ToolNames {
		if !strings.Contains(name, "_") {
			continue // a word of the language as well
		}
		for _, d := range told {
			require.NotContains(t, d.Description+string(d.Parameters), name, d.Name)
		}
	}
}

// CR-27: the layout's own ignore file hides files from listings.
func TestIgnoreFile(t *testing.T) {
	for _, l := range []layout.Layout{layout.Fettle(), layout.Gemini()} {
		s := configtest.New(t, func(p *config.Parameters) { p.Environment.Layout = l })
		s.Write(l.IgnoreFile, "secret.txt\n")
		s.Write("secret.txt", "x")
		s.Write("open.txt", "x")
		listing := s.Call("list_directory", map[string]any{"dir_path": "."}).Result.LLMContent.String()
		require.Contains(t, listing, "open.txt")
		require.NotContains(t, listing, `"secret.txt"`)
	}
}

// CF-04: the parameters determine hidden files and the number of listed files.
func TestFileFiltering(t *testing.T) {
	found := func(f config.FileFiltering) []string {
		s := configtest.New(t, func(p *config.Parameters) { p.Tools.FileFiltering = f })
		for name, content := range map[string]string{
			".gitignore": "git.txt\n", ".fettleignore": "own.txt\n", "custom.ignore": "custom.txt\n",
			"git.txt": "", "own.txt": "", "custom.txt": "", "plain.txt": "",
		} {
			s.Write(name, content)
		}
		told := s.Call("glob", map[string]any{"pattern": "*.txt"}).Result.LLMContent.String()
		listed := s.Call("list_directory", map[string]any{"dir_path": "."}).Result.LLMContent.String()
		var all []string
		for _, name := range []string{"custom.txt", "git.txt", "own.txt", "plain.txt"} {
			if strings.Contains(told, name+`"`) {
				all = append(all, name)
			}
			if f.MaxFiles == 0 {
				require.Equal(t, strings.Contains(told, name+`"`), strings.Contains(listed, `"name":"`+name), "both agree on %s", name)
			}
		}
		return all
	}
	require.Equal(t, []string{"custom.txt", "plain.txt"}, found(config.FileFiltering{}))
	require.Equal(t, []string{"custom.txt", "git.txt", "plain.txt"}, found(config.FileFiltering{NoGitIgnore: true}))
	require.Equal(t, []string{"custom.txt", "own.txt", "plain.txt"}, found(config.FileFiltering{NoOwnIgnore: true}))
	require.Equal(t, []string{"plain.txt"}, found(config.FileFiltering{CustomFiles: []string{"custom.ignore"}}))
	require.Len(t, found(config.FileFiltering{MaxFiles: 1}), 1)
}
