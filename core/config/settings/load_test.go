package settings_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
)

// machine is a scratch machine: its own /etc/fettle, a home and a project.
type machine struct {
	t    *testing.T
	root string
	settings.Options
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, root: t.TempDir()}
	m.Layout = layout.Fettle()
	m.Layout.SystemDir = m.path("etc")
	m.HomeDir, m.ProjectDir = m.path("home"), m.path("project")
	for _, dir := range []string{"etc", "home", "project"} {
		require.NoError(t, os.MkdirAll(m.path(dir), 0o755))
	}
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.root, filepath.FromSlash(name)) }

func (m *machine) write(name, text string) string {
	m.t.Helper()
	path := m.path(name)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m.t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func (m *machine) user(text string) string    { return m.write("home/.fettle/settings.json", text) }
func (m *machine) project(text string) string { return m.write("project/.fettle/settings.json", text) }

func (m *machine) load() *settings.Result {
	m.t.Helper()
	r, err := settings.Load(m.t.Context(), m.Options)
	require.NoError(m.t, err)
	return r
}

// clean loads and expects no problems.
func (m *machine) clean() *settings.Result {
	m.t.Helper()
	r := m.load()
	for _, p := range r.Problems {
		require.Equal(m.t, settings.Notice, p.Severity, p.String())
	}
	return r
}

// CF-01: one key on all layers, removed one by one.
func TestPrecedence(t *testing.T) {
	m := newMachine(t)
	set := func(name string) { m.write(name, `{"model": {"name": "`+name+`"}}`) }
	set("etc/system-defaults.json")
	set("home/.fettle/settings.json")
	set("project/.fettle/settings.json")
	set("etc/settings.json")
	set("given.json")
	m.Trusted = true
	m.File = m.path("given.json")
	m.Environ = []string{"FETTLE_MODEL=variable"}
	m.Flags = map[string]any{"model.name": "flag"}
	remove := func(name string) func() { return func() { require.NoError(t, os.Remove(m.path(name))) } }
	layers := []struct {
		name, source string
		layer        settings.Layer
		remove       func()
	}{
		{"flag", "the command line", settings.LayerFlags, func() { m.Flags = nil }},
		{"given.json", m.path("given.json"), settings.LayerFile, func() { m.File = "" }},
		{"variable", "the variable FETTLE_MODEL", settings.LayerEnvironment, func() { m.Environ = nil }},
		{"etc/settings.json", m.path("etc/settings.json"), settings.LayerSystem, remove("etc/settings.json")},
		{"project/.fettle/settings.json", m.path("project/.fettle/settings.json"), settings.LayerProject, remove("project/.fettle/settings.json")},
		{"home/.fettle/settings.json", m.path("home/.fettle/settings.json"), settings.LayerUser, remove("home/.fettle/settings.json")},
		{"etc/system-defaults.json", m.path("etc/system-defaults.json"), settings.LayerSystemDefaults, remove("etc/system-defaults.json")},
		{"auto", "", settings.LayerDefault, nil},
	}
	for i, l := range layers {
		r := m.clean()
		require.Equal(t, l.name, r.Settings.Model.Name)
		origins := r.Origins("model.name")
		require.Len(t, origins, len(layers)-i)
		for j, o := range origins {
			want := layers[i+j]
			require.Equal(t, want.name, o.Value)
			require.Equal(t, want.layer, o.Layer)
			require.Equal(t, want.source, o.Source)
		}
		if l.remove != nil {
			l.remove()
		}
	}
}

// Without any file: the defaults, and no problem.
func TestNothing(t *testing.T) {
	r := newMachine(t).load()
	require.Equal(t, settings.Defaults(), r.Settings)
	require.Empty(t, r.Problems)
}

// ST-06: the layout gemini keeps whole contents, as its default states.
func TestDefaultsOfALayout(t *testing.T) {
	const key = "tools.changedRegionsAbove"
	for name, want := range map[string]int{"fettle": 16 << 10, "gemini": 0} {
		l, _ := layout.Named(name)
		l.SystemDir = t.TempDir()
		r, err := settings.Load(t.Context(), settings.Options{Layout: l, HomeDir: t.TempDir(), ProjectDir: t.TempDir()})
		require.NoError(t, err)
		require.Equal(t, want, r.Settings.Tools.ChangedRegionsAbove)
		require.Equal(t, []settings.Origin{{Layer: settings.LayerDefault, Value: float64(want)}}, r.Origins(key))
	}
}
