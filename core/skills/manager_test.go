package skills_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/skills"
)

// write creates a skill in a directory and returns the directory.
func write(t *testing.T, dir, name, description string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	text := fmt.Sprintf("---\nname: %s\ndescription: %s\n---\nBody of %s.\n", name, description, description)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o600))
	return dir
}

func tempDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

func discover(t *testing.T, given []skills.Skill, dirs ...skills.Dir) *skills.SkillManager {
	t.Helper()
	m := new(skills.SkillManager)
	require.NoError(t, m.Discover(t.Context(), given, dirs))
	return m
}

func names(all []skills.Skill) []string {
	list := []string{}
	for _, s := range all {
		list = append(list, s.Name)
	}
	return list
}

func said(m *skills.SkillManager) string {
	var b strings.Builder
	for _, p := range m.Problems() {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}

// EX-05: of equal names in all scopes the last one wins, with a warning unless it
// replaces a built-in skill; within a scope the later directory takes precedence.
func TestScopes(t *testing.T) {
	top := tempDir(t)
	dir := func(name string, scope skills.Scope) skills.Dir {
		write(t, filepath.Join(top, name, "s"), "Same", name)
		return skills.Dir{Path: filepath.Join(top, name), Scope: scope}
	}
	given := []skills.Skill{{Name: "same", Description: "own", Scope: skills.ScopeBuiltIn}}
	all := []skills.Dir{dir("workspace", skills.ScopeWorkspace), dir("user", skills.ScopeUser), dir("user2", skills.ScopeUser), dir("extension", skills.ScopeExtension)}
	all[3].Extension = "kit"

	m := discover(t, given)
	require.Equal(t, []string{"same"}, names(m.All()))
	m = discover(t, given, all[3])
	s, ok := m.Get("SAME")
	require.True(t, ok)
	require.Equal(t, []string{"extension", "kit"}, []string{s.Description, s.Extension})
	require.Empty(t, m.Problems(), "what is built in is replaced without a word")
	m = discover(t, given, all[3], all[1])
	s, _ = m.Get("same")
	require.Equal(t, "user", s.Description)
	require.Contains(t, said(m), "takes the place of the one of the extension kit")
	require.False(t, m.Problems()[0].IsError())
	m = discover(t, given, all...)
	s, _ = m.Get("same")
	require.Equal(t, "workspace", s.Description)
	require.Len(t, m.All(), 1)
	require.Len(t, m.Problems(), 3)
	m = discover(t, given, all[1], all[2])
	s, _ = m.Get("same")
	require.Equal(t, "user2", s.Description)
}

// EX-05: names are disabled in any letter case, and can be enabled again.
func TestDisabled(t *testing.T) {
	top := tempDir(t)
	write(t, filepath.Join(top, "a"), "Alpha", "a")
	write(t, filepath.Join(top, "b"), "beta", "b")
	m := discover(t, nil, skills.Dir{Path: top, Scope: skills.ScopeUser})
	told := 0
	stop := m.Watch(func() { told++ })
	m.SetDisabled([]string{"ALPHA", "absent"})
	require.Equal(t, []string{"beta"}, names(m.Enabled()))
	require.Equal(t, []string{"Alpha", "beta"}, names(m.All()))
	s, ok := m.Get("alpha")
	require.True(t, ok)
	require.True(t, s.Disabled)
	_, err := m.Activatable("alpha")
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Line(), `"Alpha" is disabled`)
	require.Contains(t, fault.As(err).Line(), "beta")
	require.NoError(t, m.Discover(t.Context(), nil, []skills.Dir{{Path: top, Scope: skills.ScopeUser}}))
	require.Equal(t, []string{"beta"}, names(m.Enabled()), "it stays disabled")
	m.SetEnabled("alpha", true)
	m.SetEnabled("beta", false)
	require.Equal(t, []string{"Alpha"}, names(m.Enabled()))
	require.Equal(t, 4, told)
	stop()
	m.SetDisabled(nil)
	require.Equal(t, []string{"Alpha", "beta"}, names(m.Enabled()))
	require.Equal(t, 4, told)
	_, err = m.Activatable("none")
	require.Contains(t, fault.As(err).Remedy, "Alpha, beta")
	_, err = new(skills.SkillManager).Activatable("none")
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
}

// A SKILL.md is read in the directory itself and one level below.
func TestWhereSkillsAre(t *testing.T) {
	top := tempDir(t)
	write(t, top, "top", "d")
	write(t, filepath.Join(top, "one"), "one", "d")
	write(t, filepath.Join(top, "one/two"), "two", "d")
	write(t, filepath.Join(top, "node_modules"), "modules", "d")
	write(t, filepath.Join(top, ".git"), "git", "d")
	require.NoError(t, os.WriteFile(filepath.Join(top, "file"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(top, "empty"), 0o755))
	require.NoError(t, os.Symlink("one", filepath.Join(top, "twice"))) // stays inside
	m := discover(t, nil, skills.Dir{Path: top, Scope: skills.ScopeUser}, skills.Dir{Path: filepath.Join(top, "absent"), Scope: skills.ScopeUser})
	require.Equal(t, []string{"one", "top"}, names(m.All()))
	s, _ := m.Get("one")
	require.Equal(t, []string{filepath.Join(top, "one"), filepath.Join(top, "one", "SKILL.md")}, []string{s.Dir, s.Path})
	require.Contains(t, said(m), "takes the place of", "the link names it again")
}

// A link that leaves its directory is refused with a problem, for a file, a skill
// directory and a directory of skills.
func TestLinksOut(t *testing.T) {
	top := tempDir(t)
	write(t, filepath.Join(top, "outside"), "outside", "d")
	root := filepath.Join(top, "project", "skills")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "file"), 0o755))
	require.NoError(t, os.Symlink("../../outside", filepath.Join(root, "rel")))
	require.NoError(t, os.Symlink(filepath.Join(top, "outside"), filepath.Join(root, "abs")))
	require.NoError(t, os.Symlink(filepath.Join(top, "outside", "SKILL.md"), filepath.Join(root, "file", "SKILL.md")))
	require.NoError(t, os.Symlink("loop", filepath.Join(root, "loop")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(root, "dangling")))
	m := discover(t, nil, skills.Dir{Path: root, Scope: skills.ScopeUser})
	require.Empty(t, m.All())
	require.Equal(t, 3, strings.Count(said(m), "is a link that leads out of"), said(m))
	for _, p := range m.Problems() {
		require.True(t, p.IsError())
	}

	require.NoError(t, os.Symlink(filepath.Join(top, "outside"), filepath.Join(top, "project", "all")))
	whole := skills.Dir{Path: filepath.Join(top, "project", "all"), Scope: skills.ScopeWorkspace}
	require.Equal(t, []string{"outside"}, names(discover(t, nil, whole).All()), "a user may keep the directory elsewhere")
	whole.Within = filepath.Join(top, "project")
	m = discover(t, nil, whole)
	require.Empty(t, m.All())
	require.Contains(t, said(m), "leads out of")
}

// A thousand skills are found, listed within bounds, and available by name.
func TestThousand(t *testing.T) {
	top := tempDir(t)
	for i := range 1000 {
		write(t, filepath.Join(top, fmt.Sprint(i)), fmt.Sprintf("skill-%04d", i), strings.Repeat("long ", 100))
	}
	m := discover(t, nil, skills.Dir{Path: top, Scope: skills.ScopeUser})
	require.Len(t, m.Enabled(), 1000)
	require.Empty(t, m.Problems())
	listing := skills.Listing(m.Enabled())
	require.Less(t, len(listing), 40<<10)
	require.Contains(t, listing, "and ")
	require.Contains(t, listing, "more, which can be activated by name")
	_, err := m.Activatable("none")
	require.Less(t, len(fault.As(err).Line()), 5<<10)
	require.Contains(t, fault.As(err).Remedy, "more")
}

func TestDiscoverIsCancelled(t *testing.T) {
	top := tempDir(t)
	write(t, top, "a", "d")
	m := discover(t, nil, skills.Dir{Path: top, Scope: skills.ScopeUser})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, fault.Cancelled, fault.CodeOf(m.Discover(ctx, nil, []skills.Dir{{Path: top}})))
	require.Equal(t, []string{"a"}, names(m.All()))
}

// Variables of an extension are expanded.
func TestExpand(t *testing.T) {
	top := tempDir(t)
	require.NoError(t, os.WriteFile(filepath.Join(top, "SKILL.md"), []byte("---\nname: a\ndescription: in ${x}\n---\nRun ${x}/run.\n"), 0o600))
	m := discover(t, nil, skills.Dir{Path: top, Scope: skills.ScopeExtension, Expand: strings.NewReplacer("${x}", "/opt").Replace})
	s, _ := m.Get("a")
	require.Equal(t, []string{"in /opt", "Run /opt/run."}, []string{s.Description, s.Body})
}

// A manager is safe for concurrent use.
func TestManagerAtOnce(t *testing.T) {
	top := tempDir(t)
	write(t, filepath.Join(top, "a"), "a", "d")
	m := new(skills.SkillManager)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			stop := m.Watch(func() { m.Enabled() })
			defer stop()
			if err := m.Discover(t.Context(), nil, []skills.Dir{{Path: top, Scope: skills.ScopeUser}}); err != nil {
				t.Error(err)
			}
			m.SetEnabled("a", slices.Contains(names(m.All()), "a"))
			m.Get("a")
			m.Problems()
		})
	}
	wg.Wait()
	require.Equal(t, []string{"a"}, names(m.Enabled()))
}

// The built-in skills are valid.
func TestBuiltIn(t *testing.T) {
	all, err := skills.BuiltIn()
	require.NoError(t, err)
	require.Equal(t, []string{"fettle-extend", "state-mismatch"}, names(all))
	for _, s := range all {
		require.Equal(t, skills.ScopeBuiltIn, s.Scope)
		require.Empty(t, s.Path)
		require.Greater(t, len(s.Body), 500)
		require.Less(t, len(s.Description), 400)
	}
}
