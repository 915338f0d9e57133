package extensionstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/hookrun"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// testUser approves unless configured otherwise, and gives values.
type testUser struct {
	refuse bool
	values map[string]string

	mu       sync.Mutex
	consents []extensionstore.Consent
	asked    []string
}

func (u *testUser) Agree(_ context.Context, c extensionstore.Consent) (bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.consents = append(u.consents, c)
	return !u.refuse, nil
}

func (u *testUser) Value(_ context.Context, s extensions.Setting) (string, bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = append(u.asked, s.EnvVar)
	value, ok := u.values[s.EnvVar]
	return value, ok, nil
}

// hooksOf reads hooks with the reader of sessions.
func hooksOf(e extensions.Extension) (all []extensionstore.HookPart) {
	data, _ := extensionstore.UnfilledHooks(e)
	found, _ := hookrun.ParseJSON(data, hookrun.Origin{})
	for _, h := range found {
		part := extensionstore.HookPart{Event: string(h.Event), Matcher: h.Matcher, Command: h.Command, Sandbox: h.Sandbox}
		for name, value := range h.Env {
			part.Env, part.Values = append(part.Env, name), append(part.Values, name+"="+value)
		}
		all = append(all, part)
	}
	return all
}

// world is a home directory with the source of an extension.
type world struct {
	t            *testing.T
	home, source string
	options      extensionstore.Options
	user         *testUser
}

func newWorld(t *testing.T) *world {
	home := t.TempDir()
	w := &world{t: t, home: home, source: filepath.Join(home, "src"), user: &testUser{}}
	w.options = extensionstore.Options{Dir: filepath.Join(home, ".fettle", "extensions"), Home: home, Workspace: home, ContextFiles: []string{"FETTLE.md"}, Hooks: hooksOf}
	w.write("fettle-extension.json", `{"name": "shelf", "version": "1.0.0",
		"settings": [{"name": "Key", "envVar": "SHELF_KEY", "sensitive": true}, {"name": "Room", "envVar": "SHELF_ROOM"}]}`)
	return w
}

func (w *world) store() *extensionstore.Store { return extensionstore.Open(w.options) }

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.source, name)
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(w.t, os.WriteFile(path, []byte(text), 0o644))
}

func (w *world) request() extensionstore.InstallRequest {
	return extensionstore.InstallRequest{Source: w.source, Environ: os.Environ()}
}

func (w *world) install() (extensions.Extension, error) {
	return w.store().Install(w.t.Context(), w.request(), w.user)
}

func (w *world) loaded(name string) extensions.Extension {
	w.t.Helper()
	all, _, err := w.store().Load(w.t.Context())
	require.NoError(w.t, err)
	e, err := extensionstore.Find(all, name)
	require.NoError(w.t, err)
	return e
}

// files lists all files in the extensions directory, except locks.
func (w *world) files() (all []string) {
	w.t.Helper()
	err := filepath.WalkDir(w.options.Dir, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !entry.IsDir() && !strings.HasSuffix(name, ".lock") {
			rel, _ := filepath.Rel(w.options.Dir, name)
			all = append(all, rel)
		}
		return err
	})
	require.NoError(w.t, err)
	return all
}

// EX-03
func TestInstall(t *testing.T) {
	w := newWorld(t)
	w.write("FETTLE.md", "Be kind.")
	w.write("bin/run.sh", "#!/bin/sh\n")
	w.write(".git/config", "[core]\n")
	require.NoError(t, os.Chmod(filepath.Join(w.source, "bin/run.sh"), 0o4777|fs.ModeSetuid))
	require.NoError(t, os.Symlink("bin/run.sh", filepath.Join(w.source, "run")))
	w.user.values = map[string]string{"SHELF_KEY": "hunter2", "SHELF_ROOM": "blue room"}
	e, err := w.install()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(w.options.Dir, "shelf"), e.Path)
	require.Equal(t, []string{"SHELF_KEY", "SHELF_ROOM"}, w.user.asked)
	require.Len(t, w.user.consents, 1)

	got := w.loaded("shelf")
	require.True(t, got.Active)
	require.Equal(t, extensions.InstallLocal, got.Install.Type)
	require.Equal(t, w.source, got.Install.Source)
	require.Equal(t, []string{filepath.Join(got.Path, "FETTLE.md")}, got.ContextFiles)
	values := map[string]string{}
	for _, s := range got.ResolvedSettings {
		values[s.EnvVar] = s.Value.Reveal()
	}
	require.Equal(t, w.user.values, values)
	info, err := os.Stat(filepath.Join(got.Path, "bin/run.sh"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o755), info.Mode()&(fs.ModePerm|fs.ModeSetuid), "set-uid and writing by others are dropped")
	leads, err := os.Readlink(filepath.Join(got.Path, "run"))
	require.NoError(t, err)
	require.Equal(t, "bin/run.sh", leads)
	require.NoDirExists(t, filepath.Join(got.Path, ".git"))
	entries, err := os.ReadDir(filepath.Join(w.options.Dir, ".staging"))
	require.NoError(t, err)
	require.Empty(t, entries)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(text)+fmt.Sprintf("%+v", got), "hunter2")
	env, err := os.ReadFile(filepath.Join(got.Path, ".env"))
	require.NoError(t, err)
	require.NotContains(t, string(env), "hunter2")

	_, err = w.install()
	require.Equal(t, fault.AttemptToCreateExist, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Remedy, "update shelf")
	w.write("fettle-extension.json", `{"name": "SHELF", "version": "2.0.0"}`)
	_, err = w.install()
	require.Equal(t, fault.AttemptToCreateExist, fault.CodeOf(err), "names that differ in case alone clash")
}

// EX-03: links out of the extension, special files and invalid requests are refused, and
// nothing is left.
func TestInstallRefuses(t *testing.T) {
	tests := map[string]struct {
		prepare func(w *world)
		code    fault.Code
	}{
		"link out":         {func(w *world) { w.link("../../../etc/passwd", "notes") }, fault.PathNotInWorkspace},
		"absolute link":    {func(w *world) { w.link("/etc/passwd", "notes") }, fault.PathNotInWorkspace},
		"absolute link in": {func(w *world) { w.link(filepath.Join(w.source, "fettle-extension.json"), "notes") }, fault.PathNotInWorkspace},
		"dangling link":    {func(w *world) { w.link("nothing", "notes") }, fault.PathNotInWorkspace},
		"link to itself":   {func(w *world) { w.link("notes", "notes") }, fault.PathNotInWorkspace},
		"link to the top":  {func(w *world) { w.link("..", "skills") }, fault.PathNotInWorkspace},
		"link by a link": {func(w *world) {
			w.write("a/b/c/f", "")
			w.write("s/f", "")
			w.link("../../../s", "a/b/c/d")
			w.link("d/../../x", "a/b/c/e")
		}, fault.PathNotInWorkspace},
		"context file": {func(w *world) {
			w.write("fettle-extension.json", `{"name": "a", "version": "1", "contextFileName": "../secret"}`)
		}, fault.InvalidConfig},
		"name":                 {func(w *world) { w.write("fettle-extension.json", `{"name": "../a", "version": "1"}`) }, fault.InvalidConfig},
		"no manifest":          {func(w *world) { require.NoError(w.t, os.Remove(filepath.Join(w.source, "fettle-extension.json"))) }, fault.InvalidConfig},
		"broken manifest":      {func(w *world) { w.write("fettle-extension.json", `{"name":`) }, fault.InvalidConfig},
		"no directory":         {func(w *world) { w.source += "x" }, fault.FileNotFound},
		"a file":               {func(w *world) { w.source += "/fettle-extension.json" }, fault.PathIsNotADirectory},
		"not agreed":           {func(w *world) { w.user.refuse = true }, fault.DeniedByUser},
		"not allowed":          {func(w *world) { w.options.Allowed = []string{`^https://example\.org/`} }, fault.PolicyViolation},
		"allowed by no regexp": {func(w *world) { w.options.Allowed = []string{`(`} }, fault.PolicyViolation},
		"value of two lines":   {func(w *world) { w.user.values = map[string]string{"SHELF_KEY": "hunter2", "SHELF_ROOM": "a\nb"} }, fault.InvalidConfig},
		"records broken": {func(w *world) {
			require.NoError(w.t, os.MkdirAll(filepath.Dir(w.options.Dir), 0o755))
			require.NoError(w.t, os.WriteFile(filepath.Join(filepath.Dir(w.options.Dir), extensionstore.IntegrityFile), []byte("["), 0o600))
			w.user.values = map[string]string{"SHELF_KEY": "hunter2"}
		}, fault.InvalidConfig},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("skills/a/SKILL.md", "")
			require.NoError(t, os.RemoveAll(filepath.Join(w.source, "skills")))
			tt.prepare(w)
			_, err := w.install()
			require.Equal(t, tt.code, fault.CodeOf(err), "%v", err)
			require.NotContains(t, err.Error(), "hunter2")
			for _, file := range w.files() {
				require.Equal(t, extensionstore.EnablementFile, file)
			}
			all, _, err := w.store().Load(t.Context())
			require.NoError(t, err)
			require.Empty(t, all)
			kept, _ := os.ReadFile(filepath.Join(filepath.Dir(w.options.Dir), "extension-secrets.json"))
			require.NotContains(t, string(kept), "hunter2")
		})
	}
}

func (w *world) link(to, name string) {
	w.t.Helper()
	require.NoError(w.t, os.Symlink(to, filepath.Join(w.source, name)))
}

// A directory has none of the options of a repository, and no address runs a git helper.
func TestSources(t *testing.T) {
	w := newWorld(t)
	for _, r := range []extensionstore.InstallRequest{
		{Source: w.source, Ref: "main"}, {Source: w.source, AutoUpdate: true}, {Source: w.source, PreRelease: true}, {Source: ""},
		{Source: "-u"}, {Source: "--upload-pack=touch x"}, {Source: "ext::sh -c touch% x"}, {Source: "ext://x"}, {Source: "git://example.org/a"}, {Source: "fd::7"},
		{Source: "https://me:hunter2@example.org/a"}, {Source: "https://hunter2@example.org/a"}, {Source: "file://host/a"}, {Source: "https:///a"}, {Source: "ssh://-oProxyCommand=x/a"},
		{Source: "github:-a"}, {Source: "github:a/../../b"}, {Source: "github:a"}, {Source: "https://example.org/a\nb"},
		{Source: "https://example.org/a", Ref: "-x"}, {Source: "https://example.org/a", Ref: "a:b"}, {Source: "https://example.org/a", Ref: "+a"}, {Source: "https://example.org/a", Ref: "a..b"},
	} {
		_, err := w.store().Install(t.Context(), r, w.user)
		require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err), "%+v: %v", r, err)
		require.NotContains(t, fault.As(err).Line(), "hunter2")
	}
	require.Empty(t, w.files())
	w.options.BlockGit = true
	_, err := w.store().Install(t.Context(), extensionstore.InstallRequest{Source: "github:a/b"}, w.user)
	require.Equal(t, fault.PolicyViolation, fault.CodeOf(err))
}

// git runs git in a directory, without the configuration of the machine.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// EX-03: a repository is fetched at a revision, its hooks and submodules do not run, and
// an update fetches the next revision.
func TestInstallFromRepository(t *testing.T) {
	w := newWorld(t)
	git(t, w.source, "init", "-q")
	w.write("hooks.txt", "one")
	git(t, w.source, "add", "-A")
	git(t, w.source, "commit", "-qm", "one")
	git(t, w.source, "tag", "v1")
	first := git(t, w.source, "rev-parse", "HEAD")
	w.write("hooks.txt", "two")
	git(t, w.source, "commit", "-qam", "two")

	templates := filepath.Join(w.home, "templates")
	require.NoError(t, os.MkdirAll(filepath.Join(templates, "hooks"), 0o755))
	ran := filepath.Join(w.home, "ran")
	require.NoError(t, os.WriteFile(filepath.Join(templates, "hooks", "post-checkout"), []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755))
	environ := append(os.Environ(), "GIT_TEMPLATE_DIR="+templates, "GIT_DIR=/nowhere", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0="+templates+"/hooks")
	url := "file://" + filepath.ToSlash(w.source)
	for ref, want := range map[string]string{"v1": "one", first: "one", "main": "two", "": "two"} {
		s := w.store()
		e, err := s.Install(t.Context(), extensionstore.InstallRequest{Source: url, Ref: ref, AutoUpdate: true, PreRelease: true, Environ: environ}, w.user)
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(e.Path, "hooks.txt"))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
		require.Equal(t, extensions.InstallMetadata{Source: url, Type: extensions.InstallGit, Ref: ref, AutoUpdate: true, AllowPreRelease: true}, *w.loaded("shelf").Install)
		require.NoDirExists(t, filepath.Join(e.Path, ".git"))
		removed, err := s.Uninstall(t.Context(), url)
		require.NoError(t, err)
		require.Equal(t, "shelf", removed)
	}
	require.NoFileExists(t, ran)

	_, err := w.store().Install(t.Context(), extensionstore.InstallRequest{Source: url, Ref: "nosuch", Environ: environ}, w.user)
	require.Equal(t, fault.ExecutionFailed, fault.CodeOf(err))
	require.Contains(t, err.Error(), "nosuch")

	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(w.source, "absolute")))
	git(t, w.source, "add", "-A")
	git(t, w.source, "commit", "-qm", "three")
	_, err = w.store().Install(t.Context(), extensionstore.InstallRequest{Source: url, Environ: environ}, w.user)
	require.Equal(t, fault.PathNotInWorkspace, fault.CodeOf(err))
	require.Contains(t, err.Error(), url, "and not the directory that it was fetched to")
	require.NotContains(t, err.Error(), ".staging")
}

// Of concurrent installations one succeeds, and the others change nothing.
func TestInstallAtOnce(t *testing.T) {
	w := newWorld(t)
	const many = 8
	errs := make([]error, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() { _, errs[i] = w.install() })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		require.Equal(t, fault.AttemptToCreateExist, fault.CodeOf(err), "%v", err)
	}
	require.Equal(t, 1, won)
	require.True(t, w.loaded("shelf").Active)
	require.NoError(t, w.update("shelf"), "the winner's record holds")
}

func (w *world) update(name string) error {
	_, err := w.store().Update(w.t.Context(), w.loaded(name), w.user, os.Environ())
	return err
}

// The user can cancel the installation.
func TestInstallCancelled(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := w.store().Install(ctx, w.request(), ending{w.user, cancel})
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.Empty(t, w.files())
}

type ending struct {
	extensionstore.User
	cancel func()
}

func (e ending) Value(context.Context, extensions.Setting) (string, bool, error) {
	e.cancel()
	return "", false, nil
}

// EX-03
func TestLink(t *testing.T) {
	w := newWorld(t)
	e, err := w.store().Link(t.Context(), w.source, w.user)
	require.NoError(t, err)
	require.Equal(t, w.source, e.Path)
	got := w.loaded("shelf")
	require.Equal(t, w.source, got.Path)
	require.Equal(t, extensions.InstallLink, got.Install.Type)
	require.Equal(t, e.ID, got.ID)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(w.update("shelf")))
	_, err = w.store().Link(t.Context(), w.source, w.user)
	require.Equal(t, fault.AttemptToCreateExist, fault.CodeOf(err))
	_, err = w.store().Link(t.Context(), "https://example.org/a", w.user)
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))

	require.NoError(t, w.store().SetSetting(t.Context(), got, "SHELF_KEY", "hunter2", extensions.ScopeUser))
	removed, err := w.store().Uninstall(t.Context(), "shelf")
	require.NoError(t, err)
	require.Equal(t, "shelf", removed)
	require.FileExists(t, filepath.Join(w.source, "fettle-extension.json"))
	kept, err := os.ReadFile(filepath.Join(filepath.Dir(w.options.Dir), "extension-secrets.json"))
	require.NoError(t, err)
	require.NotContains(t, string(kept), "hunter2")
}

// An invalid extension can be uninstalled.
func TestUninstallBroken(t *testing.T) {
	w := newWorld(t)
	e, err := w.install()
	require.NoError(t, err)
	require.NoError(t, w.store().SetEnabled(t.Context(), "shelf", extensions.ScopeUser, false))
	require.NoError(t, os.WriteFile(filepath.Join(e.Path, "fettle-extension.json"), []byte("{"), 0o644))
	_, err = w.store().Uninstall(t.Context(), "..")
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	_, err = w.store().Uninstall(t.Context(), ".staging")
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	_, err = w.store().Uninstall(t.Context(), "shelf")
	require.NoError(t, err)
	require.NoDirExists(t, e.Path)
	w.write("fettle-extension.json", `{"name": "shelf", "version": "1.0.0"}`)
	_, err = w.install()
	require.NoError(t, err)
	require.True(t, w.loaded("shelf").Active, "nothing is left of what was said of it before")
}
