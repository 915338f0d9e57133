package config_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/settings"
)

func watched(p *config.Parameters) { p.WatchSettings = true }

// next waits until a key is announced.
func next(t *testing.T, c *config.Config, key string) <-chan string {
	t.Helper()
	values := make(chan string, 100)
	bus.Subscribe(t.Context(), c.MessageBus(), func(_ context.Context, m bus.ConfigChanged) {
		if m.Key == key {
			values <- string(m.Value)
		}
	})
	return values
}

// A settings file that changes is read again, however it is changed: in place,
// by a rename as editors do, in a folder that is made only now, by a link whose
// target changes, or by being removed.
func TestWatch(t *testing.T) {
	const seven = `{"fileFiltering": {"maxFileCount": 7}}`
	write := func(t *testing.T, path string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(seven), 0o644))
	}
	for name, tt := range map[string]struct {
		prepare, change func(t *testing.T, home, project string)
		want            string
	}{
		"in place": {
			func(t *testing.T, home, _ string) { settingsIn(t, home, `{}`) },
			func(t *testing.T, home, _ string) { settingsIn(t, home, seven) }, "7",
		},
		"by a rename": {
			func(t *testing.T, home, _ string) { settingsIn(t, home, `{}`) },
			func(t *testing.T, home, _ string) {
				write(t, home+"/.fettle/new")
				require.NoError(t, os.Rename(home+"/.fettle/new", home+"/.fettle/settings.json"))
			}, "7",
		},
		"in a new folder": {
			func(*testing.T, string, string) {},
			func(t *testing.T, _, project string) { settingsIn(t, project, seven) }, "7",
		},
		"behind a link": {
			func(t *testing.T, home, _ string) {
				settingsIn(t, home, `{}`)
				require.NoError(t, os.Mkdir(home+"/dotfiles", 0o755))
				require.NoError(t, os.Rename(home+"/.fettle/settings.json", home+"/dotfiles/s.json"))
				require.NoError(t, os.Symlink("../dotfiles/s.json", home+"/.fettle/settings.json"))
			},
			func(t *testing.T, home, _ string) { write(t, home+"/dotfiles/s.json") }, "7",
		},
		"in a folder that is replaced": {
			func(t *testing.T, home, _ string) { settingsIn(t, home, `{}`) },
			func(t *testing.T, home, _ string) {
				write(t, home+"/new/settings.json")
				require.NoError(t, os.Rename(home+"/.fettle", home+"/old"))
				require.NoError(t, os.Rename(home+"/new", home+"/.fettle"))
			}, "7",
		},
		"removed": {
			func(t *testing.T, home, _ string) { settingsIn(t, home, seven) },
			func(t *testing.T, home, _ string) { require.NoError(t, os.Remove(home+"/.fettle/settings.json")) }, "20000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var home string
			s := configtest.New(t, watched, func(p *config.Parameters) {
				p.Layout, p.Settings, home = quietLayout(t), &settings.Options{}, p.HomeDir
				tt.prepare(t, p.HomeDir, p.TargetDir)
			})
			values := next(t, s.Config, "context.fileFiltering.maxFileCount")
			tt.change(t, home, s.Dir)
			require.Equal(t, tt.want, <-values)
			now, err := s.Settings()
			require.NoError(t, err)
			require.Equal(t, tt.want == "7", now.Context.FileFiltering.MaxFileCount == 7)
		})
	}
}

// GO-09: watching ends with the Config, and leaves nothing behind.
func TestWatchEnds(t *testing.T) {
	p := config.Parameters{TargetDir: t.TempDir(), HomeDir: t.TempDir(), WatchSettings: true}
	withUser(t, `{}`)(&p)
	session := func() {
		c, err := config.New(p)
		require.NoError(t, err)
		require.NoError(t, c.Initialize(t.Context()))
		child, err := c.Derive(config.DeriveParameters{})
		require.NoError(t, err)
		settingsIn(t, p.HomeDir, `{"approvalMode": "plan"}`) // it may be amid reading
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
