package integration_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/skills"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/catalog"
	"github.com/fettle-dev/fettle/core/tools/communicate"
	"github.com/fettle-dev/fettle/core/tools/file"
	"github.com/fettle-dev/fettle/core/tools/internaldocs"
	"github.com/fettle-dev/fettle/core/tools/memory"
	"github.com/fettle-dev/fettle/core/tools/plan"
	"github.com/fettle-dev/fettle/core/tools/search"
	"github.com/fettle-dev/fettle/core/tools/shell"
	"github.com/fettle-dev/fettle/core/tools/web"
)

// toolFamily is the tools of one package.
type toolFamily struct {
	name  string // of the package, below core/tools
	specs func() ([]tools.Spec, error)
}

// toolFamilies are the built-in tools, in the order of listings.
var toolFamilies = []toolFamily{
	{"file", specsOf(file.Factories)},
	{"search", specsOf(search.Factories)},
	{"shell", specsOf(shell.Factories)},
	{"web", specsOf(web.FetchFactories)},
	{"web", specsOf(web.SearchFactories)},
	{"plan", specsOf(plan.Factories)},
	{"communicate", specsOf(communicate.Factories)},
	{"memory", specsOf(memory.Factories)},
	{"internaldocs", specsOf(internaldocs.Factories)},
	{"catalog", specsOf(catalog.Factories)},
	{"skills", func() ([]tools.Spec, error) {
		spec, err := skills.ToolSpec()
		return []tools.Spec{spec}, err
	}},
}

// specsOf returns the specs of a package's factories.
func specsOf[S any](factories func() ([]*tools.Factory[S], error)) func() ([]tools.Spec, error) {
	return func() ([]tools.Spec, error) {
		made, err := factories()
		var specs []tools.Spec
		for _, f := range made {
			specs = append(specs, f.Spec())
		}
		return specs, err
	}
}

// Every built-in tool has a page in docs/tools that matches its Spec, and there are
// no other pages. -update rewrites them.
func TestToolPages(t *testing.T) {
	t.Parallel()
	const dir = "../docs/tools"
	var specs []tools.Spec
	want := map[string]string{}
	for _, family := range toolFamilies {
		of, err := family.specs()
		require.NoError(t, err, family.name)
		specs = append(specs, of...)
	}
	for _, s := range specs {
		page, err := toolPage(s)
		require.NoError(t, err, s.Name)
		require.NotContains(t, want, s.Name+".md", "two tools have the same name")
		want[s.Name+".md"] = page
	}
	want["README.md"] = toolIndex(specs)

	have, err := filepath.Glob(dir + "/*")
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.MkdirAll(dir, 0o755))
		for name, page := range want {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(page), 0o644))
		}
	}
	const remedy = "go test ./integration -run TestToolPages -update writes the pages anew"
	for _, path := range have {
		if _, ok := want[filepath.Base(path)]; !ok {
			if *update {
				require.NoError(t, os.RemoveAll(path))
				continue
			}
			t.Errorf("%s belongs to no tool; %s", path, remedy)
		}
	}
	for name, page := range want {
		got, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case err != nil:
			t.Errorf("%s is missing; %s", name, remedy)
		case strings.ReplaceAll(string(got), "\r\n", "\n") != page:
			t.Errorf("%s differs from the tool's Spec; %s", name, remedy)
		}
	}
}

// The page of every conditional tool says when the tool is registered and declared.
func TestToolPagesStateConditions(t *testing.T) {
	t.Parallel()
	names := func(mode policy.ApprovalMode, subscriber bool) (registered, declared []string) {
		c, err := config.New(config.Parameters{TargetDir: t.TempDir(), Environment: config.Environment{HomeDir: t.TempDir()}, Policy: config.Policy{ApprovalMode: mode}})
		require.NoError(t, err)
		require.NoError(t, c.Initialize(t.Context()))
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		if subscriber {
			bus.Subscribe(t.Context(), c.MessageBus(), func(context.Context, bus.AskUserRequest) {})
		}
		registry, err := c.ToolRegistry()
		require.NoError(t, err)
		for _, d := range registry.Declarations() {
			declared = append(declared, d.Name)
		}
		return registry.Names(), declared
	}
	registered, alone := names(policy.ModeDefault, false)
	_, watched := names(policy.ModeDefault, true)
	_, planning := names(policy.ModePlan, true)
	for _, family := range toolFamilies {
		specs, err := family.specs()
		require.NoError(t, err)
		for _, s := range specs {
			lacking := !slices.Contains(registered, s.Name)
			switched := s.Name == "write_todos" || s.Name == skills.ActivateSkill // settings disable it
			require.Equal(t, lacking || switched, tools.RegisteredWhen(s.Name) != "", "%s: RegisteredWhen in core/tools", s.Name)
			hidden := !lacking && !(slices.Contains(alone, s.Name) && slices.Contains(watched, s.Name) && slices.Contains(planning, s.Name))
			require.Equal(t, hidden, tools.DeclaredWhen(s.Name) != "", "%s: DeclaredWhen in core/tools", s.Name)
		}
	}
}

// Every package of built-in tools has pages.
func TestToolPagesAreOfAllPackages(t *testing.T) {
	t.Parallel()
	others := []string{"tooltest", "toollist", "host", "testdata"} // the test kit, lists of tools, what requesters offer, fuzzing corpora
	entries, err := os.ReadDir("../core/tools")
	require.NoError(t, err)
	found := 0
	for _, entry := range entries {
		if !entry.IsDir() || slices.Contains(others, entry.Name()) {
			continue
		}
		found++
		require.True(t, slices.ContainsFunc(toolFamilies, func(f toolFamily) bool { return f.name == entry.Name() }),
			"core/tools/%s has no row in toolFamilies", entry.Name())
	}
	require.Greater(t, found, 5)
}
