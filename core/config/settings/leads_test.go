package settings_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// A project cannot have files outside of it read or written as its settings.
func TestProjectFileThatLeadsOut(t *testing.T) {
	for name, tt := range map[string]struct {
		link, to string // relative to the project
		out      bool
	}{
		"a file":                 {".fettle/settings.json", "../../home/.fettle/settings.json", true},
		"a file to nothing":      {".fettle/settings.json", "../../home/new.json", true},
		"a directory":            {".fettle", "../home/.fettle", true},
		"a directory to nothing": {".fettle", "../new", true},
		"in a circle":            {".fettle", ".fettle", true},
		"by way of another":      {".fettle", "inner/up/home/.fettle", true},
		"within the project":     {".fettle/settings.json", "../inner/mine.json", false},
		"a directory within":     {".fettle", "inner", false},
		"to nothing within":      {".fettle/settings.json", "new.json", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.Trusted = true
			mine := m.user(`{"tools": {"exclude": ["secret" "words"]}}`)
			before, err := os.ReadFile(mine)
			require.NoError(t, err)
			require.NoError(t, os.Mkdir(m.path("project/inner"), 0o755))
			require.NoError(t, os.Symlink("../..", m.path("project/inner/up")))
			link := m.path("project/" + tt.link)
			require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o755))
			if err := os.Symlink(tt.to, link); err != nil {
				t.Skip("no links here:", err)
			}
			file := m.path("project/.fettle/settings.json")
			err = settings.SetIn(t.Context(), m.ProjectDir, file, "tools.core", []string{"glob"})
			after, readErr := os.ReadFile(mine)
			require.NoError(t, readErr)
			require.Equal(t, before, after)
			require.NoFileExists(t, m.path("home/new.json"))
			if !tt.out {
				require.NoError(t, err)
				require.Equal(t, []string{"glob"}, m.load().Settings.Tools.Core)
				return
			}
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
			var of *fault.Problem
			for _, p := range m.load().Problems {
				if p.Layer == settings.LayerProject {
					of = &p
				}
			}
			require.NotNil(t, of)
			require.Equal(t, settings.KindFileRead, of.Kind)
			require.NotContains(t, of.String(), "secret")
		})
	}
	m := newMachine(t) // links that double the work
	require.NoError(t, os.Mkdir(m.path("project/l0"), 0o755))
	for n := range 60 {
		below := fmt.Sprintf("l%d", n)
		require.NoError(t, os.Symlink(below+"/../"+below, m.path(fmt.Sprintf("project/l%d", n+1))))
	}
	require.NoError(t, os.Symlink("l60", m.path("project/.fettle")))
	require.Equal(t, settings.KindFileRead, only(t, m.load()).Kind)

	m = newMachine(t) // a project that is reached by a link
	require.NoError(t, os.Symlink("project", m.path("linked")))
	m.ProjectDir = m.path("linked")
	require.NoError(t, settings.SetIn(t.Context(), m.ProjectDir, m.path("linked/.fettle/settings.json"), "tools.exclude", []string{"glob"}))
	require.Equal(t, []string{"glob"}, m.load().Settings.Tools.Exclude)
}
