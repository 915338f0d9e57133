package config_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/tools"
)

// GO-07: two sessions with different configurations run concurrently in one
// process without affecting each other.
func TestSideBySide(t *testing.T) {
	yes := true
	shared := echo(t, "echo")
	a := configtest.New(t, func(p *config.Parameters) {
		p.Session.ID = "a"
		p.Tools.Core = []string{"read_file", "edit"}
		p.Tools.Own = []tools.DeclarativeTool{shared}
		p.Session.Limits = filestate.Limits{Lines: 3}
	})
	b := configtest.New(t, func(p *config.Parameters) {
		p.Session.ID = "b"
		p.IncludeDirs = []string{t.TempDir()}
		p.Environment.Layout = layout.Gemini()
		p.Policy.ApprovalMode = policy.ModeAutoEdit
		p.Tools.Exclude = []string{"list_directory"}
		p.Tools.Own = []tools.DeclarativeTool{shared, echo(t, "second")}
		p.Session.FileReadCacheDisabled = &yes
		p.Session.RequireSeen = true
	})
	require.Equal(t, []string{"read_file", "edit", "echo"}, names(t, a.Config))
	require.Equal(t, append(slices.DeleteFunc(geminiTools(), func(name string) bool { return name == "list_directory" }), "echo", "second"), names(t, b.Config))

	const rounds = 40
	const four = "a\n2\n3\n4\n"
	var wg sync.WaitGroup
	wg.Go(func() { // cut after three lines, so nothing may be edited
		for i := range rounds {
			name := fmt.Sprintf("f%d", i)
			a.Write(name, four)
			got := configtest.Decode[struct {
				filestate.State
			}](t, a.Call("read_file", map[string]any{"file_path": name}))
			if *got.Version != int64(i+1) || *got.Content != "a\n2\n3\n" || !got.Truncated || got.SHA256 != nil {
				t.Errorf("a: %+v", got)
			}
			r := a.Call("edit", map[string]any{"file_path": name, "old_string": "a", "new_string": "b"})
			if r.Status != scheduler.StatusError || r.Result.Error.Reason != fault.PartialRead {
				t.Errorf("a: %v", r.Result.Error)
			}
		}
	})
	wg.Go(func() { // no cache, so each read shows the content and an edit requires none
		for i := range rounds {
			name := fmt.Sprintf("f%d", i)
			b.Write(name, four)
			got := configtest.Decode[filestate.State](t, b.Call("read_file", map[string]any{"file_path": name}))
			if *got.Version != int64(2*i+1) || *got.Content != four || got.SHA256 == nil {
				t.Errorf("b: %+v", got)
			}
			r := b.Call("edit", map[string]any{"file_path": name, "old_string": "a", "new_string": "b"})
			if r.Status != scheduler.StatusSuccess || r.Tool != "replace" {
				t.Errorf("b: %v", r.Result.Error)
			}
		}
	})
	wg.Wait()
	for i := range rounds {
		name := fmt.Sprintf("f%d", i)
		require.Equal(t, four, a.Read(name))
		require.Equal(t, "b\n2\n3\n4\n", b.Read(name))
	}
	require.Empty(t, b.Confirmations(), "auto_edit")
	require.Empty(t, a.Confirmations(), "every edit was refused before anybody was asked")

	// Neither reaches into the other's directory.
	for _, pair := range [][2]*configtest.Session{{a, b}, {b, a}} {
		r := pair[0].Call("read_file", map[string]any{"file_path": filepath.Join(pair[1].Dir, "f0")})
		require.Equal(t, fault.PathNotInWorkspace, r.Result.Error.Code)
	}
	require.False(t, a.FileReadCacheDisabled())
	require.Equal(t, "a", a.SessionID())
	require.Equal(t, "b", b.SessionID())
}

// GO-04, GO-07, CR-27: two sessions over one directory, each with the settings of
// its own layout, home and environment, which change while both run.
func TestSideBySideSettings(t *testing.T) {
	dir := t.TempDir()
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write(dir+"/.fettle/settings.json", `{"tools": {"exclude": ["glob"]}, "model": "of fettle"}`)
	write(dir+"/.gemini/settings.json", `{"excludeTools": ["list_directory"], "model": {"name": "of gemini"}}`)
	type side struct {
		*config.Config
		user string // path of the user's file
	}
	open := func(l layout.Layout, environ ...string) side {
		home := t.TempDir()
		l.SystemDir = home + "/none"
		user := filepath.Join(home, l.Dir, "settings.json")
		write(user, `{"fileFiltering": {"maxFileCount": 1}}`)
		c := newConfig(t, config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: home, Layout: l}, Settings: &settings.Options{Environ: environ}, Policy: config.Policy{Trust: trust.Trusted}})
		require.NoError(t, c.Initialize(t.Context()))
		return side{c, user}
	}
	a := open(layout.Fettle(), "FETTLE_APPROVAL_MODE=auto_edit", "GEMINI_APPROVAL_MODE=yolo")
	b := open(layout.Gemini(), "FETTLE_APPROVAL_MODE=auto_edit", "GEMINI_CLI_APPROVAL_MODE=plan", "GEMINI_FILE_READ_CACHE_DISABLED=1")

	require.Equal(t, []any{"of fettle", policy.ModeAutoEdit, false}, []any{a.Model(), a.ApprovalMode(), a.FileReadCacheDisabled()})
	require.Equal(t, []any{"of gemini", policy.ModePlan, true}, []any{b.Model(), b.ApprovalMode(), b.FileReadCacheDisabled()})
	require.Contains(t, names(t, a.Config), "list_directory")
	require.NotContains(t, names(t, a.Config), "glob")
	require.Contains(t, names(t, b.Config), "glob")
	require.NotContains(t, names(t, b.Config), "list_directory")

	var wg sync.WaitGroup
	for i, s := range []side{a, b} {
		heard := 0
		changes := bus.Subscribe(t.Context(), s.MessageBus(), func(_ context.Context, m bus.ConfigChanged) {
			heard++
			if m.Origin != s.user || m.SessionID != s.SessionID() {
				t.Errorf("another's message: %+v", m)
			}
		})
		wg.Go(func() {
			for n := range 20 {
				want := 100*(i+1) + n
				write(s.user, fmt.Sprintf(`{"fileFiltering": {"maxFileCount": %d}}`, want))
				if err := s.Settings().Reload(t.Context()); err != nil {
					t.Error(err)
				}
				if now, err := s.Settings().Current(); err != nil || now.Context.FileFiltering.MaxFileCount != want {
					t.Errorf("%d files, not %d: %v", now.Context.FileFiltering.MaxFileCount, want, err)
				}
			}
			if !changes.Flush(t.Context()) { // Close drops queued messages
				t.Error("the subscription ended")
			}
			if err := s.Close(); err != nil { // waits for the handler
				t.Error(err)
			}
			if heard != 20 {
				t.Errorf("%d of 20 changes were announced", heard)
			}
		})
	}
	wg.Wait()
}
