package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Some keys of a later load: their values and origins, and nothing else of it.
func TestWith(t *testing.T) {
	m := newMachine(t)
	m.user(`{"tools": {"exclude": ["a"], "allowed": ["glob"]}, "general": {"defaultApprovalMode": "plan"}}`)
	old := m.clean()
	path := m.user(`{"tools": {"exclude": ["a", "b"]}, "no such key": 1}`)
	newer := m.load()
	mixed := old.With(newer, "tools.exclude", "general.defaultApprovalMode", "no.key")

	require.Equal(t, []string{"a", "b"}, mixed.Settings.Tools.Exclude)
	require.Equal(t, []any{"a", "b"}, mixed.Value("tools.exclude"))
	require.Equal(t, path, mixed.Origins("tools.exclude")[0].Source)
	require.Equal(t, "default", mixed.Settings.General.DefaultApprovalMode)
	require.Len(t, mixed.Origins("general.defaultApprovalMode"), 1, "the default alone")
	require.Equal(t, []string{"glob"}, mixed.Settings.Tools.Allowed, "not named, so that of before")
	require.Len(t, mixed.Problems, 1)

	require.Equal(t, []string{"a"}, old.Settings.Tools.Exclude, "what was mixed has not changed")
	require.Equal(t, []any{"a"}, old.Value("tools.exclude"))
	require.Empty(t, old.Problems)
}
