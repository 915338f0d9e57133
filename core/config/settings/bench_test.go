package settings_test

import (
	"testing"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
)

// BenchmarkLoad loads a user's and a project's file of typical size.
func BenchmarkLoad(b *testing.B) {
	m := &machine{root: b.TempDir()}
	m.t = new(testing.T) // nothing fails while files are written
	m.Layout = layout.Fettle()
	m.Layout.SystemDir, m.HomeDir, m.ProjectDir = m.path("etc"), m.path("home"), m.path("project")
	m.user(`{"approvalMode": "auto_edit", "model": {"name": "m"}, "tools": {"exclude": ["a"], "sandbox": "landlock", "shell": {"inactivityTimeout": 60}},
		"mcpServers": {"one": {"command": "a", "args": ["b"], "env": {"K": "$V"}}, "two": {"url": "https://x"}}, "policyPaths": ["p"]}`)
	m.project(`{"tools": {"core": ["read_file"]}, "context": {"fileFiltering": {"maxFileCount": 100}}}`)
	for b.Loop() {
		if _, err := settings.Load(b.Context(), m.Options); err != nil {
			b.Fatal(err)
		}
	}
}
