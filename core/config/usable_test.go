package config

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/internal/apply"
	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// place returns a project in a home directory, with nothing else around.
func place(t *testing.T) Parameters {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	p := Parameters{TargetDir: filepath.Join(home, "p"), Environment: Environment{HomeDir: home, Layout: layout.Fettle()}, Settings: &settings.Options{}}
	p.Environment.Layout.SystemDir = filepath.Join(home, "none")
	require.NoError(t, os.Mkdir(p.TargetDir, 0o755))
	return p
}

func put(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// begin returns the values with which Initialize would begin.
func begin(t *testing.T, p Parameters) (begun, error) {
	t.Helper()
	c, err := New(p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	b, err := c.load(t.Context())
	t.Cleanup(func() { require.NoError(t, b.closeSearch()) })
	return b, err
}

// container puts a fake container program into the PATH.
func container(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("programs have other names there")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(put(t, filepath.Join(dir, "podman"), "#!/bin/sh\n"), 0o755))
	t.Setenv("PATH", dir)
}

// The variables that select Gemini for searches, by their sources.
func TestGeminiVariables(t *testing.T) {
	for name, tt := range map[string]struct {
		process, user, project string // as lines of a .env file
		trusted                bool
		key, address           string
	}{
		"nothing":                         {},
		"the person's":                    {process: "GEMINI_API_KEY=mine\nGOOGLE_GEMINI_BASE_URL=a", key: "mine", address: "a"},
		"the person's, the last of two":   {process: "GEMINI_API_KEY=old\nGEMINI_API_KEY=mine", key: "mine"},
		"the person's, in a file":         {user: "GEMINI_API_KEY=mine\nGOOGLE_GEMINI_BASE_URL=a", key: "mine", address: "a"},
		"a stranger's key":                {project: "GEMINI_API_KEY=theirs"},
		"a stranger's address":            {process: "GEMINI_API_KEY=mine", project: "GOOGLE_GEMINI_BASE_URL=a", key: "mine"},
		"a project's":                     {project: "GEMINI_API_KEY=theirs\nGOOGLE_GEMINI_BASE_URL=a", trusted: true, key: "theirs", address: "a"},
		"a project's address":             {process: "GEMINI_API_KEY=mine", project: "GOOGLE_GEMINI_BASE_URL=a", trusted: true, key: "mine"},
		"a project's key, own address":    {process: "GOOGLE_GEMINI_BASE_URL=a", project: "GEMINI_API_KEY=theirs", trusted: true, key: "theirs", address: "a"},
		"the person's before a project's": {process: "GEMINI_API_KEY=mine", project: "GEMINI_API_KEY=theirs\nGOOGLE_GEMINI_BASE_URL=a", trusted: true, key: "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			p := place(t)
			p.Settings.Environ = strings.Fields(tt.process)
			put(t, filepath.Join(p.Environment.HomeDir, ".fettle/.env"), tt.user)
			put(t, filepath.Join(p.TargetDir, ".env"), tt.project)
			p.Settings.HomeDir, p.Settings.ProjectDir, p.Settings.Trusted = p.Environment.HomeDir, p.TargetDir, tt.trusted
			r, err := settings.Load(t.Context(), *p.Settings)
			require.NoError(t, err)
			key, address := apply.Gemini(apply.Variables(p.Settings.Environ, r))
			require.Equal(t, tt.key, key)
			require.Equal(t, tt.address, address)

			if tt.trusted {
				p.Policy.Trust = trust.Trusted
			}
			p.Settings.Environ = append(p.Settings.Environ, "GOOGLE_GEMINI_BASE_URL=https://example.com") // a usable one
			b, err := begin(t, p)
			require.NoError(t, err)
			require.Equal(t, tt.key != "", b.params.Tools.WebSearch != nil)
		})
	}
}

// The variables of a project's .env file reach confined commands, and no program
// outside of the confinement.
func TestVariablesOutsideOfTheConfinement(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is landlock on Linux alone")
	}
	for user, want := range map[string]bool{ // not the names of tests, which are in paths
		`{}`:                      true,
		`{"sandbox": "landlock"}`: true,
		`{"sandbox": "landlock", "tools": {"discoveryCommand": "d", "callCommand": "c"}}`: false,
		`{"tools": {"discoveryCommand": "d", "callCommand": "c"}}`:                        true,
		`{"sandbox": {"command": "podman", "image": "i"}}`:                                false,
	} {
		container(t)
		p := place(t)
		p.Policy.Trust = trust.Trusted
		put(t, filepath.Join(p.Environment.HomeDir, ".fettle/settings.json"), user)
		put(t, filepath.Join(p.TargetDir, ".env"), "FLAVOUR=evil.so")
		b, err := begin(t, p)
		if err != nil && strings.Contains(err.Error(), "landlock") {
			t.Skip("this kernel has no landlock")
		}
		require.NoError(t, err, user)
		environ := os.Environ()
		if b.params.Tools.Shell.Environ != nil {
			environ = b.params.Tools.Shell.Environ()
		}
		require.Equal(t, want, slices.Contains(environ, "FLAVOUR=evil.so"), user)
		require.Contains(t, environ, "PATH="+os.Getenv("PATH"))
	}
}

// Entries of lists are reported with their file and line.
func TestPlacesOfSettings(t *testing.T) {
	p := place(t)
	file := put(t, filepath.Join(p.Environment.HomeDir, ".fettle/settings.json"),
		"{\n\"tools\": {\"allowed\": [\n\"glob\"], \"exclude\":\n[\"edit\"]},\n\"useWriteTodos\": false}")
	p.Settings.Flags = map[string]any{"tools.exclude": []string{"write_file"}}
	b, err := begin(t, p)
	require.NoError(t, err)
	require.Equal(t, map[string]toolrules.Place{"glob": {Source: file, Line: 3}}, b.params.Policy.allowedFrom)
	require.Equal(t, map[string]toolrules.Place{"edit": {Source: file, Line: 4, Rule: "tools.exclude: edit"}, "write_todos": {Source: file, Line: 5, Rule: "useWriteTodos"}}, b.params.Tools.excludedFrom)
	require.Equal(t, []string{"edit", "write_file", "write_todos"}, b.params.Tools.Exclude)
}

// Settings overridden by a field of the Parameters are not checked.
func TestParametersBeforeUnusableSettings(t *testing.T) {
	p := place(t)
	put(t, filepath.Join(p.Environment.HomeDir, ".fettle/settings.json"), `{
		"policyPaths": ["/nope"], "includeDirectories": ["/nope"], "web": {"allowedHosts": ["http://x/"], "search": {"url": "notaurl"}},
		"tools": {"core": ["nope"], "allowed": ["run_shell_command()"], "callCommand": "x"}
	}`)
	_, err := begin(t, p)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Line(), `settings.json:2:19: policyPaths: The policy "/nope"`)

	p.Policy.Paths = []string{}
	b, err := begin(t, p)
	require.NoError(t, err)
	require.Len(t, b.result.Problems, 6)
	checked, err := CheckSettings(t.Context(), p, b.result)
	require.NoError(t, err)
	require.ElementsMatch(t, checked, b.result.Problems)

	checked, err = CheckSettings(t.Context(), Parameters{TargetDir: p.TargetDir}, &settings.Result{Settings: settings.Defaults()})
	require.NoError(t, err)
	require.Empty(t, checked)

	p.IncludeDirs, p.Tools.Core, p.Policy.AllowedTools, p.Tools.WebFetch.Allow = []string{}, []string{}, []string{}, []string{}
	p.Tools.DiscoveryCommand, p.Tools.CallCommand, p.Tools.WebSearch = "d", "c", b.params.Tools.WebSearch
	b, err = begin(t, p)
	require.NoError(t, err)
	require.Len(t, b.result.Problems, 1, "%v", b.result.Problems)
	require.Equal(t, "web.search.url", b.result.Problems[0].Key)
}

// Values used at Initialize stay, whatever happens to the directories later.
func TestReloadAsFoundAtInitialize(t *testing.T) {
	container(t)
	p := place(t)
	more := filepath.Join(p.Environment.HomeDir, "more")
	put(t, filepath.Join(more, "rules.toml"), "")
	file := filepath.Join(p.Environment.HomeDir, ".fettle/settings.json")
	text := `{
		"policyPaths": ["` + more + `"], "includeDirectories": ["` + more + `", "/nope"], "web": {"allowedHosts": ["http://x/", "a", "b"]},
		"tools": {"sandbox": {"command": "podman", "image": "i", "allowedPaths": ["` + more + `"]}, "discoveryCommand": "d"}
	}`
	put(t, file, text)
	c, err := New(p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.NoError(t, c.Initialize(t.Context()))
	before := c.params()
	require.Equal(t, []string{more}, before.IncludeDirs)
	problems, err := c.Settings().Problems()
	require.NoError(t, err)
	require.Len(t, problems, 3, "%v", problems)

	require.NoError(t, os.RemoveAll(more))
	put(t, file, strings.Replace(text, `, "b"`, "", 1))
	require.NoError(t, c.Settings().Reload(t.Context()))
	after := c.params()
	require.Equal(t, []string{"a"}, after.Tools.WebFetch.Allow)
	require.Equal(t, before.IncludeDirs, after.IncludeDirs)
	require.Equal(t, before.Policy.Paths, after.Policy.Paths)
	require.Equal(t, before.Tools.Shell.Confinement, after.Tools.Shell.Confinement)
	require.Equal(t, before.Tools.DiscoveryCommand, after.Tools.DiscoveryCommand)
	again, err := c.Settings().Problems()
	require.NoError(t, err)
	require.Len(t, again, 3, "%v", again)
}

// With a confinement set by the embedder, a trusted project does not run programs
// outside of it.
func TestConfinedByParameters(t *testing.T) {
	container(t)
	for name, c := range map[string]process.Confinement{"nothing": {}, "a container": {Kind: process.Container, Program: "podman", Image: "i"}} {
		p := place(t)
		p.Policy.Trust, p.Tools.Shell.Confinement = trust.Trusted, c
		put(t, filepath.Join(p.TargetDir, ".fettle/settings.json"),
			`{"sandbox": false, "tools": {"discoveryCommand": "d", "callCommand": "c"}, "includeDirectories": ["`+p.Environment.HomeDir+`"]}`)
		put(t, filepath.Join(p.TargetDir, ".fettle/.env"), "FLAVOUR=evil.so")
		require.NoError(t, ApproveOutside(t.Context(), p, []string{p.Environment.HomeDir}))
		b, err := begin(t, p)
		require.NoError(t, err, name)
		free := c.Kind == process.Unconfined
		require.Equal(t, free, !b.params.Tools.Shell.confines())
		require.Equal(t, free, b.params.Tools.Shell.byDefault)
		require.Equal(t, free, b.params.Tools.external())
		require.Equal(t, free, len(b.params.IncludeDirs) == 1)
		require.Equal(t, free, slices.Contains(b.params.Tools.Shell.Environ(), "FLAVOUR=evil.so"))
	}
}
