package extensionstore_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// EX-03: another version in the source directory is an update, which preserves settings.
func TestUpdate(t *testing.T) {
	w := newWorld(t)
	w.user.values = map[string]string{"SHELF_KEY": "hunter2", "SHELF_ROOM": "blue"}
	_, err := w.install()
	require.NoError(t, err)

	w.write("notes", "more")
	u, err := w.store().Update(t.Context(), w.loaded("shelf"), w.user, nil)
	require.NoError(t, err)
	require.False(t, u.Changed, "the version is the same")

	w.write("fettle-extension.json", `{"name": "shelf", "version": "1.1.0", "excludeTools": ["web_fetch"],
		"settings": [{"name": "Key", "envVar": "SHELF_KEY", "sensitive": true}, {"name": "Door", "envVar": "SHELF_DOOR"}]}`)
	w.user.refuse = true
	require.Equal(t, fault.DeniedByUser, fault.CodeOf(w.update("shelf")), "it brings something else")
	require.Equal(t, "1.0.0", w.loaded("shelf").Version)

	w.user.refuse, w.user.asked = false, nil
	w.user.values["SHELF_DOOR"] = "oak"
	require.NoError(t, w.store().SetEnabled(t.Context(), "shelf", extensions.ScopeUser, false))
	u, err = w.store().Update(t.Context(), w.loaded("shelf"), w.user, nil)
	require.NoError(t, err)
	require.True(t, u.Changed)
	require.Equal(t, "1.0.0", u.From)
	require.Equal(t, []string{"SHELF_DOOR"}, w.user.asked)
	got := w.loaded("shelf")
	require.Equal(t, "1.1.0", got.Version)
	require.False(t, got.Active, "that it is disabled stays")
	require.FileExists(t, filepath.Join(got.Path, "notes"))
	values := map[string]string{}
	for _, s := range got.ResolvedSettings {
		values[s.EnvVar] = s.Value.Reveal()
	}
	require.Equal(t, map[string]string{"SHELF_KEY": "hunter2", "SHELF_DOOR": "oak"}, values)
	env, err := os.ReadFile(filepath.Join(got.Path, ".env"))
	require.NoError(t, err)
	require.NotContains(t, string(env), "blue", "what is no setting any more is forgotten")

	seen := len(w.user.consents)
	w.write("fettle-extension.json", `{"name": "shelf", "version": "1.2.0", "excludeTools": ["web_fetch"],
		"settings": [{"name": "Key", "envVar": "SHELF_KEY", "sensitive": true}, {"name": "Door", "envVar": "SHELF_DOOR"}]}`)
	require.NoError(t, w.update("shelf"))
	require.Equal(t, "1.2.0", w.loaded("shelf").Version)
	require.Len(t, w.user.consents, seen, "it brings what it brought before")

	w.write("fettle-extension.json", `{"name": "other", "version": "2"}`)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(w.update("shelf")), "another name")
	require.NoError(t, os.RemoveAll(w.source))
	require.Equal(t, fault.FileNotFound, fault.CodeOf(w.update("shelf")))
	require.Equal(t, "1.2.0", w.loaded("shelf").Version)
}

// EX-03: manual changes are not overwritten.
func TestUpdateVerifies(t *testing.T) {
	tests := map[string]func(t *testing.T, e extensions.Extension){
		"a file":   func(t *testing.T, e extensions.Extension) { rewrite(t, filepath.Join(e.Path, "notes"), "mine") },
		"one more": func(t *testing.T, e extensions.Extension) { rewrite(t, filepath.Join(e.Path, "more"), "mine") },
		"one less": func(t *testing.T, e extensions.Extension) {
			require.NoError(t, os.Remove(filepath.Join(e.Path, "notes")))
		},
		"a mode": func(t *testing.T, e extensions.Extension) {
			require.NoError(t, os.Chmod(filepath.Join(e.Path, "notes"), 0o755))
		},
		"a link": func(t *testing.T, e extensions.Extension) {
			require.NoError(t, os.Remove(filepath.Join(e.Path, "notes")))
			require.NoError(t, os.Symlink("fettle-extension.json", filepath.Join(e.Path, "notes")))
		},
		"no record": func(t *testing.T, e extensions.Extension) {
			require.NoError(t, os.Remove(filepath.Join(filepath.Dir(filepath.Dir(e.Path)), extensionstore.IntegrityFile)))
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("notes", "theirs")
			e, err := w.install()
			require.NoError(t, err)
			change(t, e)
			w.write("fettle-extension.json", `{"name": "shelf", "version": "2"}`)
			err = w.update("shelf")
			require.Equal(t, fault.FileChangedSinceRead, fault.CodeOf(err))
			require.Contains(t, fault.As(err).Remedy, "install it again")
			require.Equal(t, "1.0.0", w.loaded("shelf").Version)
		})
	}
}

func rewrite(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// Records of other programs are preserved.
func TestRecordsKeepOthers(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(filepath.Dir(w.options.Dir), extensionstore.IntegrityFile)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	rewrite(t, path, `{"store": {"a": 1}}`)
	_, err := w.install()
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Regexp(t, `"store": \{\s*"a": 1\s*\}`, string(data))
	require.Contains(t, string(data), `"shelf"`)
}

// A repository's update is detected by its files, and a moved one is followed.
func TestUpdateFromRepository(t *testing.T) {
	w := newWorld(t)
	git(t, w.source, "init", "-q")
	git(t, w.source, "add", "-A")
	git(t, w.source, "commit", "-qm", "one")
	url := "file://" + filepath.ToSlash(w.source)
	_, err := w.store().Install(t.Context(), extensionstore.InstallRequest{Source: url, Environ: os.Environ()}, w.user)
	require.NoError(t, err)
	u, err := w.store().Update(t.Context(), w.loaded("shelf"), w.user, os.Environ())
	require.NoError(t, err)
	require.False(t, u.Changed)

	moved := filepath.Join(w.home, "moved")
	git(t, w.home, "clone", "-q", w.source, moved)
	w.write("fettle-extension.json", `{"name": "shelf", "version": "1.0.0", "migratedTo": "file://`+filepath.ToSlash(moved)+`"}`)
	git(t, w.source, "commit", "-qam", "two")
	u, err = w.store().Update(t.Context(), w.loaded("shelf"), w.user, os.Environ())
	require.NoError(t, err)
	require.True(t, u.Changed, "the version is the same and the files are not")
	require.Equal(t, url, w.loaded("shelf").Install.Source)

	rewrite(t, filepath.Join(moved, "fettle-extension.json"), `{"name": "shelf", "version": "2.0.0"}`)
	git(t, moved, "commit", "-qam", "three")
	w.user.refuse = true
	require.Equal(t, fault.DeniedByUser, fault.CodeOf(w.update("shelf")), "it comes from somewhere else")
	w.user.refuse = false
	require.NoError(t, w.update("shelf"))
	got := w.loaded("shelf")
	require.Equal(t, "2.0.0", got.Version)
	require.Equal(t, "file://"+filepath.ToSlash(moved), got.Install.Source)
}

// If the new source of an extension is unreachable, the old one is used.
func TestUpdateStays(t *testing.T) {
	w := newWorld(t)
	git(t, w.source, "init", "-q")
	w.write("fettle-extension.json", `{"name": "shelf", "version": "1.0.0", "migratedTo": "file:///nowhere"}`)
	git(t, w.source, "add", "-A")
	git(t, w.source, "commit", "-qm", "one")
	_, err := w.store().Install(t.Context(), extensionstore.InstallRequest{Source: "file://" + filepath.ToSlash(w.source), Environ: os.Environ()}, w.user)
	require.NoError(t, err)
	w.write("notes", "")
	git(t, w.source, "add", "-A")
	git(t, w.source, "commit", "-qm", "two")
	require.NoError(t, w.update("shelf"))
	require.FileExists(t, filepath.Join(w.loaded("shelf").Path, "notes"))
}

// leaving is a user who uninstalls the extension while its update waits for approval.
type leaving struct {
	*testUser
	uninstall func() error
}

func (l leaving) Agree(context.Context, extensionstore.Consent) (bool, error) {
	return true, l.uninstall()
}

// An extension that is uninstalled during its update is reported as such.
func TestUpdateOfUninstalled(t *testing.T) {
	w := newWorld(t)
	_, err := w.install()
	require.NoError(t, err)
	w.write("fettle-extension.json", `{"name": "shelf", "version": "2", "excludeTools": ["web_fetch", "glob"]}`)
	e := w.loaded("shelf")
	uninstall := func() error { _, err := w.store().Uninstall(t.Context(), "shelf"); return err }
	for range 2 { // during the approval, and before
		_, err = w.store().Update(t.Context(), e, leaving{w.user, uninstall}, nil)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
		require.Contains(t, err.Error(), "The extension shelf was uninstalled in the meantime")
		require.NoDirExists(t, e.InstallDir)
	}
}
