package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// named returns a tool of an origin; text distinguishes tools with the same name.
func named(t testing.TB, name, text string, o tools.Origin, aliases ...string) tools.DeclarativeTool {
	t.Helper()
	tool, err := tools.Define(name, text, tools.KindRead, greet, tools.WithSpec(func(s *tools.Spec) { s.Origin = o; s.Aliases = aliases }))
	require.NoError(t, err)
	return tool
}

var (
	builtIn    = tools.Origin{}
	discovered = tools.Origin{Group: tools.GroupDiscovered}
)

func server(name string) tools.Origin { return tools.Origin{Group: tools.GroupMCP, Server: name} }

// logged returns a registry and its log.
func logged(o tools.RegistryOptions) (*tools.Registry, *bytes.Buffer) {
	log := new(bytes.Buffer)
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	return tools.NewRegistry(o), log
}

// AR-06: register, look up, unregister.
func TestRegistry(t *testing.T) {
	r, log := logged(tools.RegistryOptions{})
	require.Empty(t, r.All())
	require.Empty(t, r.Names())
	require.Empty(t, r.Declarations())
	read := named(t, "read_file", "Reads.", builtIn, "cat")
	require.NoError(t, r.Register(read))
	require.NoError(t, r.Register(named(t, "glob", "Finds.", builtIn)))

	for _, name := range []string{"read_file", "cat"} {
		got, err := r.Lookup(name)
		require.NoError(t, err)
		require.Equal(t, read, got)
	}
	require.Equal(t, []string{"read_file", "glob"}, r.Names())
	require.Equal(t, read, r.All()[0])
	d := r.Declarations()[0]
	require.Equal(t, "read_file", d.Name)
	require.Equal(t, "Reads.", d.Description)
	require.Equal(t, string(read.Spec().Schema), string(d.Parameters))

	require.False(t, r.Unregister("cat")) // an alias
	require.True(t, r.Unregister("read_file"))
	require.False(t, r.Unregister("read_file"))
	for _, name := range []string{"read_file", "cat"} {
		_, err := r.Lookup(name)
		require.Equal(t, fault.ToolNotRegistered, fault.CodeOf(err))
	}
	require.Equal(t, []string{"glob"}, r.Names())
	require.Empty(t, log.String())
}

// governed is a tool that is governed by other names.
type governed struct {
	tools.DeclarativeTool
	by []string
}

func (g governed) Spec() tools.Spec {
	spec := g.DeclarativeTool.Spec()
	spec.GovernedBy = g.by
	return spec
}

// The error for a name that only governs a tool names that tool.
func TestLookupGoverning(t *testing.T) {
	r := tools.NewRegistry(tools.RegistryOptions{})
	require.NoError(t, r.Register(governed{named(t, "safe_patch", "X.", builtIn), []string{"edit", "replace"}}))
	require.NoError(t, r.Register(named(t, "edits", "X.", builtIn)))
	for _, name := range []string{"edit", "replace"} {
		_, err := r.Lookup(name)
		require.Equal(t, fault.ToolNotRegistered, fault.CodeOf(err))
		require.Equal(t, `It is not registered in this session; "safe_patch" does this work. A session that lists `+name+
			` among its core tools has it.`, fault.As(err).Remedy)
	}
}

// The error for a built-in tool with a missing requirement names the requirement, and suggests no other tool.
func TestLookupNeedy(t *testing.T) {
	r := tools.NewRegistry(tools.RegistryOptions{})
	require.NoError(t, r.Register(named(t, "web_fetch", "X.", builtIn)))
	for name, want := range map[string]string{
		"web_search": "web.search.url", "google_web_search": "GEMINI_API_KEY", "write_todos": "useWriteTodos", "edit": "tools.core",
	} {
		_, err := r.Lookup(name)
		require.Equal(t, fault.ToolNotRegistered, fault.CodeOf(err))
		remedy := fault.As(err).Remedy
		require.Contains(t, remedy, "It is registered ")
		require.Contains(t, remedy, want)
		require.NotContains(t, remedy, "Did you mean")
	}
}

// AR-06: the error for an unknown name has up to three similar names.
func TestLookupUnknown(t *testing.T) {
	r := tools.NewRegistry(tools.RegistryOptions{})
	for _, name := range []string{"read_file", "read_many_files", "write_file", "list_directory", "glob", "edit"} {
		require.NoError(t, r.Register(named(t, name, "X.", builtIn)))
	}
	for name, want := range map[string]string{
		"read_fiel":              `Did you mean "read_file"? Tools are`,
		"ReadFile":               `Did you mean "read_file"`,
		"READ_FILE":              `Did you mean "read_file"`,
		"file":                   `Did you mean "read_file", "write_file" or "read_many_files"?`,
		"globs":                  `Did you mean "glob"?`,
		"zzzzzzzz":               "Call one of the declared tools, by its exact name.",
		"":                       "Call one of the declared tools, by its exact name.",
		strings.Repeat("x", 1e6): "Call one of the declared tools, by its exact name.",
	} {
		_, err := r.Lookup(name)
		f := fault.As(err)
		require.NotNil(t, f)
		require.Equal(t, fault.ToolNotRegistered, f.Code)
		require.Contains(t, f.Remedy, want)
		require.Less(t, len(f.Message), 200)
	}
}

// AR-07: built-in tools, then discovered ones, then those of MCP servers by server; stable within.
func TestRegistryOrder(t *testing.T) {
	r := tools.NewRegistry(tools.RegistryOptions{})
	for _, tool := range []tools.DeclarativeTool{
		named(t, "m1", "X.", server("zeta")),
		named(t, "d2", "X.", discovered),
		named(t, "b2", "X.", builtIn),
		named(t, "m2", "X.", server("alpha")),
		named(t, "d1", "X.", discovered),
		named(t, "m4", "X.", server("zeta")),
		named(t, "b1", "X.", builtIn),
		named(t, "m3", "X.", server("alpha")),
	} {
		require.NoError(t, r.Register(tool))
	}
	want := []string{"b2", "b1", "d2", "d1", "m2", "m3", "m1", "m4"}
	require.Equal(t, want, r.Names())
	r.Sort()
	require.Equal(t, want, r.Names())
	for i, tool := range r.All() {
		require.Equal(t, want[i], tool.Spec().Name)
		require.Equal(t, want[i], r.Declarations()[i].Name)
	}
}

// AR-08: which of two tools keeps a common name, in both orders of registration.
func TestRegistryCollisions(t *testing.T) {
	tests := map[string]struct {
		one, two tools.Origin
		names    []string // after, in listing order
		owner    string   // description of the tool under the name "search"
		warning  string
	}{
		"MCP and built-in":        {builtIn, server("git"), []string{"search", "mcp_git_search"}, "one", "renamed"},
		"MCP and discovered":      {discovered, server("git"), []string{"search", "mcp_git_search"}, "one", "renamed"},
		"discovered and built-in": {builtIn, discovered, []string{"search"}, "one", "dropped"},
	}
	for name, tt := range tests {
		for order := range 2 {
			t.Run(fmt.Sprintf("%s %d", name, order), func(t *testing.T) {
				r, log := logged(tools.RegistryOptions{})
				both := []tools.DeclarativeTool{named(t, "search", "one", tt.one), named(t, "search", "two", tt.two)}
				require.NoError(t, r.Register(both[order]))
				require.NoError(t, r.Register(both[1-order]))
				require.Equal(t, tt.names, r.Names())
				got, err := r.Lookup("search")
				require.NoError(t, err)
				require.Equal(t, tt.owner, got.Spec().Description)
				require.Contains(t, log.String(), tt.warning)
				require.Contains(t, log.String(), "level=WARN")
			})
		}
	}
}

// AR-08: a renamed tool is called and declared by its new name.
func TestRenamedTool(t *testing.T) {
	r, _ := logged(tools.RegistryOptions{})
	require.NoError(t, r.Register(named(t, "greet", "one", builtIn)))
	require.NoError(t, r.Register(named(t, "greet", "two", server("my server"))))
	tool, err := r.Lookup("mcp_my_server_greet")
	require.NoError(t, err)
	spec := tool.Spec()
	require.Equal(t, "mcp_my_server_greet", spec.Name)
	require.Equal(t, "two", spec.Description)
	require.Equal(t, "my server", spec.Origin.Server)
	require.Equal(t, "mcp_my_server_greet", r.Declarations()[1].Name)
	inv, err := tool.Build([]byte(`{"name":"Ann"}`))
	require.NoError(t, err)
	result, err := inv.Execute(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "Hello Ann", result.LLMContent.String())
}

// Tools of two servers never replace each other. A tool of a server replaces its previous version, under whichever name
// it has.
func TestServersDoNotReplaceEachOther(t *testing.T) {
	r, log := logged(tools.RegistryOptions{})
	require.NoError(t, r.Register(named(t, "search", "a1", server("a"))))
	require.NoError(t, r.Register(named(t, "search", "b1", server("b"))))
	require.NoError(t, r.Register(named(t, "search", "b2", server("b"))))
	require.NoError(t, r.Register(named(t, "search", "a2", server("a"))))
	require.Equal(t, []string{"search", "mcp_b_search"}, r.Names())
	require.Equal(t, "a2", r.Declarations()[0].Description)
	require.Equal(t, "b2", r.Declarations()[1].Description)
	require.Equal(t, 2, strings.Count(log.String(), "replaced"))

	// A qualified name that exists already is neither replaced nor dropped.
	require.NoError(t, r.Register(named(t, "mcp_c_search", "c0", builtIn)))
	require.NoError(t, r.Register(named(t, "search", "c1", server("c"))))
	require.Equal(t, []string{"mcp_c_search", "search", "mcp_b_search", "mcp_c_search_3ce6c2b3"}, r.Names())
	require.NotContains(t, log.String(), "dropped")
}

// A tool that replaces another of its group takes its place in the listing.
func TestReplaceKeepsPlace(t *testing.T) {
	r, log := logged(tools.RegistryOptions{})
	require.NoError(t, r.Register(named(t, "a", "old", builtIn, "x")))
	require.NoError(t, r.Register(named(t, "b", "b", builtIn)))
	require.NoError(t, r.Register(named(t, "a", "new", builtIn, "y")))
	require.Equal(t, []string{"a", "b"}, r.Names())
	require.Equal(t, "new", r.Declarations()[0].Description)
	require.Contains(t, log.String(), "level=WARN")
	require.Contains(t, log.String(), "replaced")
	_, err := r.Lookup("x")
	require.Error(t, err)
	_, err = r.Lookup("y")
	require.NoError(t, err)
}

// An alias never hides a name. A lower group does not get an alias of a higher one as a name, in either order.
func TestAliases(t *testing.T) {
	r, _ := logged(tools.RegistryOptions{})
	require.NoError(t, r.Register(named(t, "one", "1", builtIn, "two", "shared")))
	require.NoError(t, r.Register(named(t, "two", "2", builtIn, "shared")))
	description := func(name string) string {
		tool, err := r.Lookup(name)
		require.NoError(t, err)
		return tool.Spec().Description
	}
	require.Equal(t, "2", description("two"))
	require.Equal(t, "1", description("shared"))
	require.True(t, r.Unregister("one"))
	require.Equal(t, "2", description("shared"))

	require.NoError(t, r.Register(named(t, "shared", "mcp", server("s"))))
	require.Equal(t, "2", description("shared"))
	require.Equal(t, "mcp", description("mcp_s_shared"))

	require.NoError(t, r.Register(named(t, "later", "mcp", server("s"))))
	require.NoError(t, r.Register(named(t, "three", "3", builtIn, "later")))
	require.Equal(t, "3", description("later"))
	require.Equal(t, "mcp", description("mcp_s_later"))
	require.Equal(t, []string{"two", "three", "mcp_s_shared", "mcp_s_later"}, r.Names())
}

func TestQualifiedName(t *testing.T) {
	for want, parts := range map[string][2]string{
		"mcp_git_log":     {"git", "log"},
		"mcp_my_srv_a_b":  {"my srv", "a/b"},
		"mcp_my_srv_a_c":  {"my.srv", "a:c"},          // not every provider accepts these characters
		"mcp_git_log_all": {"git", "mcp_git_log_all"}, // not qualified twice
		"mcp_" + strings.Repeat("s", 40) + "_" + strings.Repeat("t", 9) + "_f1b71864": {strings.Repeat("s", 40), strings.Repeat("t", 40)},
		"mcp_" + strings.Repeat("s", 40) + "_" + strings.Repeat("t", 18):              {strings.Repeat("s", 40), strings.Repeat("t", 18)}, // just fits
		"mcp__": {"", ""},
	} {
		got := tools.QualifiedName(parts[0], parts[1])
		require.Equal(t, want, got)
		require.NoError(t, tools.CheckName(got))
	}
}

func TestRegisterRefuses(t *testing.T) {
	r := tools.NewRegistry(tools.RegistryOptions{})
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(r.Register(nil)))
	good := tools.Spec{Name: "x", Description: "X.", Kind: tools.KindRead, Schema: []byte(`{"type":"object"}`)}
	for name, change := range map[string]func(*tools.Spec){
		"name":        func(s *tools.Spec) { s.Name = "a b" },
		"alias":       func(s *tools.Spec) { s.Aliases = []string{""} },
		"kind":        func(s *tools.Spec) { s.Kind = "" },
		"description": func(s *tools.Spec) { s.Description = "" },
		"schema":      func(s *tools.Spec) { s.Schema = nil },
	} {
		spec := good
		change(&spec)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(r.Register(specOnly{spec})), name)
	}
	require.Empty(t, r.Names())
	require.NoError(t, r.Register(specOnly{good}))
}

// specOnly is a tool that is never called.
type specOnly struct{ spec tools.Spec }

func (s specOnly) Spec() tools.Spec { return s.spec }
func (s specOnly) Build(json.RawMessage) (tools.ToolInvocation, error) {
	return nil, errors.New("not callable")
}

// Discovery registers tools, and replaces those of the previous discovery. After a failure the previous tools stay, and
// the failure is reported.
func TestDiscover(t *testing.T) {
	found := []string{"d1", "d2"}
	var failure error
	order := []string{}
	r, _ := logged(tools.RegistryOptions{Discover: []func(context.Context) ([]tools.DeclarativeTool, error){
		func(context.Context) ([]tools.DeclarativeTool, error) {
			order = append(order, "first")
			var list []tools.DeclarativeTool
			for _, name := range found {
				list = append(list, named(t, name, "X.", discovered))
			}
			return list, failure
		},
		func(context.Context) ([]tools.DeclarativeTool, error) {
			order = append(order, "second")
			return []tools.DeclarativeTool{named(t, "m", "X.", server("s")), named(t, "read", "X.", server("s"))}, nil
		},
	}})
	require.NoError(t, r.Register(named(t, "read", "X.", builtIn)))
	require.NoError(t, r.Discover(t.Context()))
	require.Equal(t, []string{"first", "second"}, order)
	require.Equal(t, []string{"read", "d1", "d2", "m", "mcp_s_read"}, r.Names())

	found = []string{"d3"}
	require.NoError(t, r.Discover(t.Context()))
	require.Equal(t, []string{"read", "d3", "m", "mcp_s_read"}, r.Names())

	found, failure = nil, errors.New("command failed")
	require.ErrorIs(t, r.Discover(t.Context()), failure)
	require.Equal(t, []string{"read", "d3", "m", "mcp_s_read"}, r.Names())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	order = nil
	require.ErrorIs(t, r.Discover(ctx), context.Canceled)
	require.Empty(t, order)
}

func TestDiscoverRefuses(t *testing.T) {
	r, _ := logged(tools.RegistryOptions{Discover: []func(context.Context) ([]tools.DeclarativeTool, error){
		func(context.Context) ([]tools.DeclarativeTool, error) { panic("boom") },
		func(context.Context) ([]tools.DeclarativeTool, error) {
			return []tools.DeclarativeTool{nil, named(t, "posing", "X.", builtIn), named(t, "good", "X.", discovered)}, nil
		},
	}})
	err := r.Discover(t.Context())
	require.ErrorContains(t, err, "boom")
	require.ErrorContains(t, err, "it is nil")
	require.ErrorContains(t, err, "built-in origin")
	require.Equal(t, []string{"good"}, r.Names())
}

// AR-06: safe for concurrent use; a change invalidates the cached listing.
func TestRegistryConcurrently(t *testing.T) {
	r := tools.NewRegistry(tools.RegistryOptions{})
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			for j := range 50 {
				name := fmt.Sprintf("t%d_%d", i, j)
				if err := r.Register(specOnly{tools.Spec{
					Name: name, Description: "X.", Kind: tools.KindRead, Schema: []byte(`{}`), Aliases: []string{name + "a"},
				}}); err != nil {
					t.Error(err)
				}
				if _, err := r.Lookup(name + "a"); err != nil {
					t.Error(err)
				}
				if n := len(r.Declarations()); n < j/2 {
					t.Errorf("only %d declarations", n)
				}
				if j%2 == 0 && !r.Unregister(name) {
					t.Errorf("%s was not registered", name)
				}
			}
		})
	}
	running.Wait()
	require.Len(t, r.Names(), 8*25)
}
