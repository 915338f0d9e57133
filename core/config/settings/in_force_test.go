package settings_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Some keys of a later load: only their values and origins.
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

// A file is wrong about a key if its value for it, for a part of it or for its
// group has no effect, and about no other.
func TestWrongIn(t *testing.T) {
	const key = "context.fileFiltering.customIgnoreFilePaths"
	for text, want := range map[string]bool{
		`{"context": 5}`:       true,
		`{"fileFiltering": 5}`: true,
		`{"fileFiltering": {"customIgnoreFilePaths": 5}}`:       true,
		`{"fileFiltering": {"customIgnoreFilePaths": ["a",5]}}`: true,
		`{"fileFiltering": {"maxFileCount": []}}`:               false,
		`{"tools": 5}`:      false,
		`{"contextual": 5}`: false,
		`{}`:                false,
	} {
		m := newMachine(t)
		path := m.user(text)
		sources := m.load().WrongIn(key)
		require.Equal(t, want, slices.Equal(sources, []string{path}), text)
		require.Equal(t, want, len(sources) > 0, text)
	}
	m := newMachine(t)
	path := m.user(`{"tools": {"exclude": [` + strings.Repeat("5, ", 200) + `]}}`)
	project := m.project(`{"context": 5}`)
	require.ElementsMatch(t, []string{project, path}, m.load().WrongIn(key), "where not all mistakes are told too")
}
