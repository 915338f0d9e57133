package config_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// patience is how long a test waits for an event before it fails.
const patience = 30 * time.Second

// watched makes a session watch its settings files. The function returns after
// the next reload.
func watched(t *testing.T) (change func(*config.Parameters), reloaded func()) {
	reloads := make(chan struct{}, 1000)
	return func(p *config.Parameters) {
			p.Environment.Layout, p.Settings, p.Session.WatchSettings = quietLayout(t), &settings.Options{}, true
			p.OnReload(func() { reloads <- struct{}{} })
		}, func() {
			t.Helper()
			select {
			case <-reloads:
			case <-time.After(patience):
				require.FailNow(t, "no reload came")
			}
		}
}

// announced returns a function that waits until a key is announced with a value.
func announced(t *testing.T, c *config.Config, key string) func(value string) {
	t.Helper()
	values := make(chan string, 1000)
	bus.Subscribe(t.Context(), c.MessageBus(), func(_ context.Context, m bus.ConfigChanged) {
		if m.Key == key {
			values <- string(m.Value)
		}
	})
	return func(value string) {
		t.Helper()
		late := time.After(patience)
		for {
			select {
			case got := <-values:
				if got == value {
					return
				}
			case <-late:
				require.FailNow(t, "a change went unnoticed", value)
			}
		}
	}
}

// A changed settings file is read again, however it is changed, and again on the
// next change: in place, by a rename as editors do, in a newly created directory,
// through a link whose target changes or that is redirected, or by removal.
func TestWatch(t *testing.T) {
	files := func(n int) string { return fmt.Sprintf(`{"fileFiltering": {"maxFileCount": %d}}`, n) }
	write := func(t *testing.T, path string, n int) { // atomically, because no reload may see half of it
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		whole := filepath.Join(t.TempDir(), "whole")
		require.NoError(t, os.WriteFile(whole, []byte(files(n)), 0o644))
		require.NoError(t, os.Rename(whole, path))
	}
	link := func(t *testing.T, target, path string) {
		t.Helper()
		made := filepath.Join(t.TempDir(), "link")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.Symlink(target, made))
		require.NoError(t, os.Rename(made, path))
	}
	type change = func(t *testing.T, home, project string)
	const file = "/.fettle/settings.json"
	none := func(*testing.T, string, string) {}
	user := func(n int) change { return func(t *testing.T, home, _ string) { write(t, home+file, n) } }
	dotfile := func(n int) change {
		return func(t *testing.T, home, _ string) { write(t, home+"/dotfiles/s.json", n) }
	}
	replaced := func(n int, old string) change {
		return func(t *testing.T, home, _ string) {
			write(t, home+"/new/settings.json", n)
			require.NoError(t, os.Rename(home+"/.fettle", home+old))
			require.NoError(t, os.Rename(home+"/new", home+"/.fettle"))
		}
	}
	linkTo := func(n int, dir string) change {
		return func(t *testing.T, home, _ string) {
			write(t, home+dir+"/s.json", n)
			link(t, home+dir+"/s.json", home+file)
		}
	}
	linkedDir := func(n int, dir string) change {
		return func(t *testing.T, home, _ string) {
			write(t, home+dir+"/settings.json", n)
			link(t, home+dir, home+"/.fettle")
		}
	}
	removed := func(t *testing.T, home, _ string) { require.NoError(t, os.Remove(home+file)) }
	for name, tt := range map[string]struct {
		prepare change
		changes []change
		want    []string // after each of them
	}{
		"in place": {user(2), []change{
			func(t *testing.T, home, _ string) { settingsIn(t, home, files(7)) },
			func(t *testing.T, home, _ string) { settingsIn(t, home, files(8)) },
		}, []string{"7", "8"}},
		"by a rename": {user(2), []change{user(7), user(8)}, []string{"7", "8"}},
		"in a new directory": {none, []change{
			func(t *testing.T, _, project string) { write(t, project+file, 7) },
			func(t *testing.T, _, project string) { write(t, project+file, 8) },
		}, []string{"7", "8"}},
		"in a directory that is replaced": {user(2), []change{replaced(7, "/old"), user(8), replaced(9, "/older"), user(10)}, []string{"7", "8", "9", "10"}},
		"in a directory that is removed": {user(2), []change{
			func(t *testing.T, home, _ string) { require.NoError(t, os.RemoveAll(home+"/.fettle")) }, user(7), user(8),
		}, []string{"20000", "7", "8"}},
		"behind a link":                {linkTo(2, "/dotfiles"), []change{dotfile(7), dotfile(8)}, []string{"7", "8"}},
		"behind a link made later":     {user(2), []change{linkTo(7, "/dotfiles"), dotfile(8)}, []string{"7", "8"}},
		"behind a link that is turned": {linkTo(2, "/others"), []change{linkTo(7, "/dotfiles"), dotfile(8)}, []string{"7", "8"}},
		"in a linked directory":        {linkedDir(2, "/one"), []change{user(7), linkedDir(8, "/two"), user(9)}, []string{"7", "8", "9"}},
		"removed":                      {user(7), []change{removed, user(8)}, []string{"20000", "8"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var home string
			watch, reloaded := watched(t)
			s := configtest.New(t, watch, func(p *config.Parameters) {
				home = p.Environment.HomeDir
				tt.prepare(t, home, p.TargetDir)
			})
			await := announced(t, s.Config, "context.fileFiltering.maxFileCount")
			reloaded() // the initial one, after which nothing is read without a change
			for i, change := range tt.changes {
				change(t, home, s.Dir)
				await(tt.want[i])
				now, err := s.Settings().Current()
				require.NoError(t, err)
				require.Equal(t, tt.want[i], fmt.Sprint(now.Context.FileFiltering.MaxFileCount))
			}
		})
	}
}

// A file of settings.Options.File that becomes unreadable is announced to
// subscribers, and so is its recovery.
func TestWatchGivenFile(t *testing.T) {
	given := filepath.Join(t.TempDir(), "given.json")
	write := func(text string) { require.NoError(t, os.WriteFile(given, []byte(text), 0o600)) }
	write(`{"approvalMode": "auto_edit"}`)
	watch, reloaded := watched(t)
	s := configtest.New(t, watch, func(p *config.Parameters) { p.Settings.File = given })
	await := announced(t, s.Config, "")
	reloaded()
	broken := func() bool {
		problems, err := s.Settings().Problems()
		require.NoError(t, err)
		return slices.ContainsFunc(problems, func(p fault.Problem) bool { return p.Path == given })
	}
	require.False(t, broken())
	write("{ oops")
	await("")
	require.True(t, broken())
	write(`{"approvalMode": "auto_edit", "tools": {}}`)
	await("")
	require.False(t, broken())
}

// GO-09: watching ends with the Config, and leaves nothing behind.
func TestWatchEnds(t *testing.T) {
	p := config.Parameters{TargetDir: t.TempDir(), Environment: config.Environment{HomeDir: t.TempDir()}, Session: config.Session{WatchSettings: true}}
	withUser(t, `{}`)(&p)
	session := func() {
		c, err := config.New(p)
		require.NoError(t, err)
		require.NoError(t, c.Initialize(t.Context()))
		child, err := c.Derive(config.DeriveParameters{})
		require.NoError(t, err)
		settingsIn(t, p.Environment.HomeDir, `{"approvalMode": "plan"}`) // a reload may be in progress
		require.NoError(t, child.Close())
		require.NoError(t, c.Close())
		require.NoError(t, c.Close())
	}
	session()
	runtime.GC()
	files, before := descriptors(t), runtime.NumGoroutine()
	for range 20 {
		session()
	}
	require.LessOrEqual(t, goroutines(before), before)
	require.LessOrEqual(t, descriptors(t), files)
}
