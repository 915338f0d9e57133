package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// FK-02: a live fork follows the file filters of the settings and the hooks of extensions, as other derived sessions do.
func TestForksFollowReloads(t *testing.T) {
	s, child := forked(t, withUser(t, `{}`))
	s.Write(".gitignore", "*.log\n")
	s.Write("x.log", "needle\n")
	hooksOf := func(c *config.Config) int {
		all, err := c.Hooks().List(t.Context())
		require.NoError(t, err)
		return len(all)
	}
	require.NotContains(t, done(t, child, "search_file_content", map[string]any{"pattern": "needle"}), "x.log")
	require.Zero(t, hooksOf(child))
	late := derived(t, s.Config) // its fork is created after the reload

	user := storageOf(t, s.Config).GlobalDir
	extension := filepath.Join(user, "extensions", "lib")
	require.NoError(t, os.MkdirAll(filepath.Join(extension, "hooks"), 0o755))
	for name, text := range map[string]string{
		filepath.Join(user, "settings.json"):              `{"fileFiltering": {"respectGitIgnore": false}}`,
		filepath.Join(extension, "gemini-extension.json"): `{"name": "lib", "version": "1.0.0"}`,
		filepath.Join(extension, "hooks", "hooks.json"):   `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "true"}]}]}}`,
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	require.NoError(t, s.Settings().Reload(t.Context()))
	require.NoError(t, s.Extensions().Reload(t.Context()))
	for _, c := range []*config.Config{s.Config, child, late} {
		require.Contains(t, done(t, c, "search_file_content", map[string]any{"pattern": "needle"}), "x.log")
		require.Equal(t, 1, hooksOf(c))
	}
}

// FK-07: a parent that is closed first closes the forks of the sessions derived from it, and keeps those with changes.
func TestForksEndWithTheirParents(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Policy.ApprovalMode = policy.ModeAutoEdit })
	between, err := s.Derive(config.DeriveParameters{Subagent: "between"})
	require.NoError(t, err)
	idle, changed := derived(t, between), derived(t, between)
	kept, err := idle.Fork()
	require.NoError(t, err)
	require.NotEmpty(t, kept.Name)
	done(t, changed, "write_file", map[string]any{"file_path": "new.txt", "content": "new\n"})
	store, err := s.Forks()
	require.NoError(t, err)
	require.NoError(t, between.Close())
	left, err := store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.False(t, left[0].InUse)
	_, err = changed.Fork()
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))

	direct := derived(t, s.Config)
	_, err = direct.Fork()
	require.NoError(t, err)
	require.NoError(t, s.Config.Close())
	left, err = store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// FK-08: nothing of a forked session that has ended stays in its parent, also of one whose hooks have run.
func TestForkLeavesNoServices(t *testing.T) {
	s := configtest.New(t, withUser(t, `{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "true"}]}]}}`), func(p *config.Parameters) {
		p.Policy.ApprovalMode = policy.ModeAutoEdit
	})
	before := config.OpenServices(s.Config)
	for range 3 {
		child, err := s.Derive(config.DeriveParameters{Subagent: "one", Fork: true})
		require.NoError(t, err)
		call(t, child, "read_file", map[string]any{"file_path": "a.txt"})
		require.Greater(t, config.OpenServices(s.Config), before, "its hooks have run")
		require.NoError(t, child.Close())
	}
	require.Equal(t, before, config.OpenServices(s.Config))
}
