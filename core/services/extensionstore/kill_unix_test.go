//go:build unix

package extensionstore_test

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// EX-03: after a kill at any moment of an installation, an update or a removal, the
// extension is complete or absent, and the next operation removes the rest.
func TestKilled(t *testing.T) {
	const variable = "FETTLE_TEST_INSTALL"
	if home := os.Getenv(variable); home != "" {
		installForever(t, home)
	}
	w := newWorld(t)
	for i := range 40 {
		w.write(filepath.Join("files", string(rune('a'+i%26)), "f"+string(rune('a'+i/26))), "some text")
	}
	w.user.values = map[string]string{"SHELF_KEY": "hunter2"}
	rounds := 6
	if os.Getenv("FETTLE_FULL") != "" {
		rounds = 200
	}
	secrets := filepath.Join(filepath.Dir(w.options.Dir), "extension-secrets.json")
	for range rounds {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilled$", "-test.timeout=1m")
		cmd.Env = append(os.Environ(), variable+"="+w.home)
		begun, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = begun.Read(make([]byte, 1))
		require.NoError(t, err)
		time.Sleep(rand.N(30 * time.Millisecond)) // at an arbitrary moment
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		stop()

		_, err = w.store().Uninstall(t.Context(), "no-such-extension") // which removes the rest
		require.Error(t, err)
		entries, err := os.ReadDir(filepath.Join(w.options.Dir, ".staging"))
		require.NoError(t, err)
		require.Empty(t, entries)
		all, problems, err := w.store().Load(t.Context())
		require.NoError(t, err)
		if len(all) == 0 {
			require.Empty(t, problems)
			require.NoDirExists(t, filepath.Join(w.options.Dir, "shelf"))
			kept, _ := os.ReadFile(secrets)
			require.NotContains(t, string(kept), "hunter2")
			continue
		}
		w.write("fettle-extension.json", `{"name": "shelf", "version": "`+all[0].Version+`x"}`)
		require.NoError(t, w.update("shelf"), "its files are those of the record")
		_, err = w.store().Uninstall(t.Context(), "shelf")
		require.NoError(t, err)
	}
}

// installForever installs, updates and removes until it is killed.
func installForever(t *testing.T, home string) {
	w := &world{t: t, home: home, source: filepath.Join(home, "src"), user: &testUser{values: map[string]string{"SHELF_KEY": "hunter2"}}}
	w.options = extensionstore.Options{Dir: filepath.Join(home, ".fettle", "extensions"), Home: home, Workspace: home}
	manifest := func(version string) {
		w.write("fettle-extension.json", `{"name": "shelf", "version": "`+version+`", "settings": [{"name": "Key", "envVar": "SHELF_KEY", "sensitive": true}]}`)
	}
	_, _ = os.Stdout.WriteString("x")
	for {
		manifest("1")
		_, err := w.install()
		require.NoError(t, err)
		manifest("2")
		require.NoError(t, w.update("shelf"))
		_, err = w.store().Uninstall(t.Context(), "shelf")
		require.NoError(t, err)
	}
}

// A version that was moved away for an unfinished update is restored.
func TestKilledBetweenTwoMoves(t *testing.T) {
	w := newWorld(t)
	e, err := w.install()
	require.NoError(t, err)
	killed := filepath.Join(w.options.Dir, ".staging", "1")
	require.NoError(t, os.MkdirAll(killed, 0o700))
	rewrite(t, filepath.Join(killed, "name"), "shelf")
	require.NoError(t, os.Rename(e.Path, filepath.Join(killed, "old")))
	_, err = w.store().Uninstall(t.Context(), "no-such-extension")
	require.Error(t, err)
	require.Equal(t, "1.0.0", w.loaded("shelf").Version)
	require.NoError(t, w.update("shelf"))
}

// EX-03: a pipe is refused without blocking.
func TestInstallRefusesPipes(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(w.source, "notes"), 0o644))
	_, err := w.install()
	require.Equal(t, fault.PathNotInWorkspace, fault.CodeOf(err))
	require.Contains(t, err.Error(), "notes is a pipe")
	require.Empty(t, w.files())
}
