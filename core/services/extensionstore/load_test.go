package extensionstore_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// shelf is a user's extensions directory.
type shelf struct {
	t *testing.T
	o extensionstore.Options
}

func newShelf(t *testing.T) *shelf {
	home := t.TempDir()
	work := t.TempDir()
	return &shelf{t, extensionstore.Options{
		Dir: filepath.Join(home, ".fettle", "extensions"), Home: home, Workspace: work, ContextFiles: []string{"FETTLE.md", "GEMINI.md"},
	}}
}

// put writes a file below the extensions directory.
func (s *shelf) put(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.o.Dir, filepath.FromSlash(name))
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func (s *shelf) symlink(to, name string) {
	s.t.Helper()
	path := filepath.Join(s.o.Dir, filepath.FromSlash(name))
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s.t, os.Symlink(to, path))
}

func (s *shelf) load() ([]extensions.Extension, []fault.Problem) {
	s.t.Helper()
	found, problems, err := extensionstore.Open(s.o).Load(s.t.Context())
	require.NoError(s.t, err)
	return found, problems
}

// one loads the only extension.
func (s *shelf) one() extensions.Extension {
	s.t.Helper()
	found, problems := s.load()
	require.Len(s.t, found, 1, "%v", problems)
	return found[0]
}

func told(problems []fault.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%s lost=%t\n", p, p.IsError())
	}
	return b.String()
}

func activeNames(found []extensions.Extension) []string {
	var names []string
	for _, e := range found {
		if e.Active {
			names = append(names, e.Name)
		}
	}
	return names
}

// EX-02: the fields of a loaded extension.
func TestLoaded(t *testing.T) {
	s := newShelf(t)
	s.put("whole/gemini-extension.json", `{
		// all that there is
		"name": "whole", "version": "1.2.3", "description": "has everything",
		"mcpServers": {"srv": {"command": "node", "args": ["${extensionPath}${/}server.js"], "trust": true}},
		"excludeTools": ["web_fetch", "run_shell_command(rm -rf)"],
		"settings": [{"name": "Level", "description": "how much", "envVar": "LEVEL"}],
		"themes": [{"name": "dusk"}], "plan": {"directory": "plans"}, "migratedTo": "https://example.org/new",
	}`)
	for _, name := range []string{"GEMINI.md", "commands/a/b.toml", "hooks/hooks.json", "skills/one/SKILL.md", "agents/x.md", "policies/p.toml"} {
		s.put("whole/"+name, "{}")
	}
	s.put("whole/.env", "LEVEL=high\nOTHER=no\n")
	s.put("whole/.gemini-extension-install.json", `{"source": "https://github.com/owner/whole.git", "type": "git", "ref": "main"}`)
	found, problems := s.load()
	require.Len(t, found, 1)
	require.Len(t, problems, 1, "%v", problems)
	require.Contains(t, problems[0].Message, "trust")
	require.True(t, problems[0].Severity == fault.SeverityNotice)
	e, dir := found[0], filepath.Join(s.o.Dir, "whole")
	require.Equal(t, []any{"whole", "1.2.3", "has everything", true, "", dir, dir}, []any{e.Name, e.Version, e.Description, e.Active, e.Inactive, e.Path, e.InstallDir})
	require.Equal(t, extensionstore.IDOf("", &extensions.InstallMetadata{Source: "git@github.com:owner/whole", Type: extensions.InstallGit}), e.ID, "however its address is written")
	require.Equal(t, "main", e.Install.Ref)
	require.JSONEq(t, fmt.Sprintf(`{"command": "node", "args": [%q]}`, filepath.Join(dir, "server.js")), string(e.MCPServers["srv"]))
	require.Equal(t, []string{filepath.Join(dir, "GEMINI.md")}, e.ContextFiles)
	require.Equal(t, []string{"web_fetch", "run_shell_command(rm -rf)"}, e.ExcludedTools)
	require.Equal(t, []string{"hooks", "hooks.json"}, strings.Split(e.HooksFile, string(filepath.Separator))[len(strings.Split(dir, string(filepath.Separator))):])
	require.Equal(t, []string{filepath.Join(dir, "skills"), filepath.Join(dir, "agents"), filepath.Join(dir, "commands"), filepath.Join(dir, "policies")},
		[]string{e.SkillsDir, e.AgentsDir, e.CommandsDir, e.PoliciesDir})
	require.Equal(t, []any{"plans", "https://example.org/new", 1}, []any{e.PlanDir, e.MigratedTo, len(e.Themes)})
	require.Equal(t, []extensions.Setting{{Name: "Level", Description: "how much", EnvVar: "LEVEL"}}, e.Settings)
	require.Len(t, e.ResolvedSettings, 1)
	require.Equal(t, "high", e.ResolvedSettings[0].Value.Reveal())
	require.Equal(t, []string{"LEVEL=high"}, e.Env())
	require.Equal(t, map[string]string{"extensionPath": dir, "workspacePath": s.o.Workspace, "/": "/", "pathSeparator": "/", "LEVEL": "high"}, extensionstore.VariablesOf(e, s.o.Workspace))
}

// EX-01: an invalid extension affects no other.
func TestBrokenAmongOthers(t *testing.T) {
	s := newShelf(t)
	s.put("good/fettle-extension.json", `{"name": "good", "version": "1"}`)
	s.put("bad/fettle-extension.json", "{\n  \"name\": \"bad\",\n  \"version\": 1\n}")
	s.put("none/README.md", "no manifest")
	s.put("cut/fettle-extension.json", `{"name": "cut", "ver`)
	s.put("meta/fettle-extension.json", `{"name": "meta", "version": "1"}`)
	s.put("meta/.fettle-extension-install.json", `{"type": "guess"}`)
	s.put(".staging/fettle-extension.json", `{"name": "staging", "version": "1"}`)
	s.put("file.txt", "no directory")
	found, problems := s.load()
	require.Equal(t, []string{"good"}, activeNames(found))
	require.Len(t, problems, 4, told(problems))
	for _, p := range problems {
		require.True(t, p.IsError(), p.String())
		require.NotEmpty(t, p.Remedy)
	}
	require.Contains(t, told(problems), "bad/fettle-extension.json:3: The value of version is not a string.")
	require.Contains(t, told(problems), "The directory has no manifest")
}

// An inactive extension is listed, with the reason.
func TestActive(t *testing.T) {
	tests := map[string]struct {
		change func(o *extensionstore.Options)
		rules  string
		want   []string
	}{
		"all":                 {want: []string{"one", "Two"}},
		"off":                 {change: func(o *extensionstore.Options) { o.Off = true }},
		"by settings":         {change: func(o *extensionstore.Options) { o.Disabled = []string{"ONE"} }, want: []string{"Two"}},
		"only":                {change: func(o *extensionstore.Options) { o.Only, o.Disabled = []string{"tWo"}, []string{"Two"} }, want: []string{"Two"}},
		"only none":           {change: func(o *extensionstore.Options) { o.Only = []string{"none"} }},
		"only, empty":         {change: func(o *extensionstore.Options) { o.Only = []string{} }},
		"by rules":            {rules: `{"one": {"overrides": ["!HOME/*"]}}`, want: []string{"Two"}},
		"the last rule":       {rules: `{"one": {"overrides": ["!HOME/*", "WORK/*"]}}`, want: []string{"one", "Two"}},
		"a directory alone":   {rules: `{"one": {"overrides": ["!WORK/"]}, "Two": {"overrides": ["!WORK/below/*"]}}`, want: []string{"Two"}},
		"rules that are none": {rules: `{"one": `},
		"switched on": {change: func(o *extensionstore.Options) {
			o.Only, o.Switched = []string{}, func(name string) (bool, bool) { return true, name == "one" }
		}, want: []string{"one"}},
		"switched off": {change: func(o *extensionstore.Options) {
			o.Switched = func(name string) (bool, bool) { return false, name == "one" }
		}, want: []string{"Two"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			s.put("one/fettle-extension.json", `{"name": "one", "version": "1"}`)
			s.put("two/fettle-extension.json", `{"name": "Two", "version": "1"}`)
			if tt.rules != "" {
				s.put(extensionstore.EnablementFile, strings.NewReplacer("HOME", s.o.Home, "WORK", s.o.Workspace).Replace(tt.rules))
			}
			if tt.change != nil {
				tt.change(&s.o)
			}
			found, _ := s.load()
			slices.SortFunc(found, func(a, b extensions.Extension) int {
				return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
			})
			require.Equal(t, tt.want, activeNames(found))
			for _, e := range found {
				require.Equal(t, e.Active, e.Inactive == "")
			}
		})
	}
}

func TestUnknownName(t *testing.T) {
	s := newShelf(t)
	s.o.Only = []string{"ghost"}
	_, problems := s.load()
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].Message, `no extension "ghost"`)
}

// Of two with one name neither is used, and both are reported.
func TestTwins(t *testing.T) {
	s := newShelf(t)
	a := s.put("a/fettle-extension.json", `{"name": "same", "version": "1"}`)
	b := s.put("b/fettle-extension.json", `{"name": "SAME", "version": "2"}`)
	s.put("c/fettle-extension.json", `{"name": "other", "version": "1"}`)
	found, problems := s.load()
	require.Equal(t, []string{"other"}, activeNames(found))
	require.Len(t, problems, 2)
	require.Contains(t, told(problems), filepath.Dir(a)+": ")
	require.Contains(t, told(problems), filepath.Dir(b)+": ")
	require.NotContains(t, told(problems), "lost=false")
}

func TestSource(t *testing.T) {
	tests := map[string]struct {
		install string
		change  func(o *extensionstore.Options)
		why     string // "": it is used
	}{
		"allowed":             {`{"source": "https://github.com/a/b", "type": "git"}`, func(o *extensionstore.Options) { o.Allowed = []string{`^https://github\.com/a/`} }, ""},
		"another source":      {`{"source": "https://evil.example/a/b", "type": "git"}`, func(o *extensionstore.Options) { o.Allowed = []string{`^https://github\.com/a/`} }, "not among"},
		"put there by hand":   {"", func(o *extensionstore.Options) { o.Allowed = []string{`.`} }, "source is unknown"},
		"no expression":       {`{"source": "x", "type": "local"}`, func(o *extensionstore.Options) { o.Allowed = []string{`[`} }, "not among"},
		"a repository":        {`{"source": "https://github.com/a/b", "type": "git"}`, func(o *extensionstore.Options) { o.BlockGit = true }, "blockGitExtensions"},
		"a release":           {`{"source": "https://github.com/a/b", "type": "github-release"}`, func(o *extensionstore.Options) { o.BlockGit = true }, "blockGitExtensions"},
		"a directory":         {`{"source": "/x", "type": "local"}`, func(o *extensionstore.Options) { o.BlockGit = true }, ""},
		"allowed repository":  {`{"source": "https://github.com/a/b", "type": "git"}`, func(o *extensionstore.Options) { o.BlockGit, o.Allowed = true, []string{"github"} }, ""},
		"by hand, block only": {"", func(o *extensionstore.Options) { o.BlockGit = true }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			s.put("x/fettle-extension.json", `{"name": "x", "version": "1"}`)
			if tt.install != "" {
				s.put("x/.fettle-extension-install.json", tt.install)
			}
			tt.change(&s.o)
			found, problems := s.load()
			if tt.why == "" {
				require.Equal(t, []string{"x"}, activeNames(found))
				return
			}
			require.Empty(t, found)
			require.Contains(t, told(problems), tt.why)
		})
	}
}

// The embedder's directories are not installed, so the restrictions on sources do not
// apply.
func TestDirectories(t *testing.T) {
	s := newShelf(t)
	own := s.put("../elsewhere/gemini-extension.json", `{"name": "own", "version": "1"}`)
	s.o.Dirs, s.o.Allowed = []string{filepath.Dir(own)}, []string{"^nothing$"}
	e := s.one()
	require.Equal(t, []any{"own", "", true}, []any{e.Name, e.InstallDir, e.Active})
}

// The Path of a linked extension is the target directory.
func TestLinked(t *testing.T) {
	s := newShelf(t)
	files := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(files, "gemini-extension.json"), []byte(`{"name": "dev", "version": "1", "settings": [{"name": "A", "envVar": "A"}, {"name": "B", "envVar": "B"}]}`), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(files, "GEMINI.md"), []byte("hi"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(files, ".env"), []byte("A=1\nB=1"), 0o644))
	s.put("dev/.fettle-extension-install.json", fmt.Sprintf(`{"source": %q, "type": "link"}`, files))
	s.put("dev/.env", "B=2")
	e := s.one()
	require.Equal(t, []string{files, filepath.Join(s.o.Dir, "dev")}, []string{e.Path, e.InstallDir})
	require.Equal(t, []string{filepath.Join(files, "GEMINI.md")}, e.ContextFiles)
	require.Equal(t, []string{"A=1", "B=2"}, e.Env())
	require.NoError(t, os.RemoveAll(files))
	found, problems := s.load()
	require.Empty(t, found)
	require.Contains(t, told(problems), files)
}

// No path in an extension leads out of it.
func TestEscapes(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.md")
	require.NoError(t, os.WriteFile(secret, []byte("SECRET=1"), 0o644))
	manifest := `{"name": "x", "version": "1", "settings": [{"name": "S", "envVar": "SECRET"}]}`
	tests := map[string]struct {
		make func(s *shelf)
		lost bool
		path string // the named path
	}{
		"the manifest": {func(s *shelf) {
			require.NoError(s.t, os.WriteFile(filepath.Join(outside, "m.json"), []byte(manifest), 0o644))
			s.symlink(filepath.Join(outside, "m.json"), "x/fettle-extension.json")
		}, true, ""},
		"a context file by name": {func(s *shelf) {
			s.put("x/fettle-extension.json", `{"name": "x", "version": "1", "contextFileName": "../../secret.md"}`)
		}, true, "../../secret.md"},
		"a context file by its whole path": {func(s *shelf) {
			s.put("x/fettle-extension.json", fmt.Sprintf(`{"name": "x", "version": "1", "contextFileName": ["A.md", %q]}`, secret))
		}, true, `The context file "` + filepath.ToSlash(secret[:30])}, // a long path is clipped
		"a context file by a link":  {func(s *shelf) { s.symlink(secret, "x/GEMINI.md") }, false, "x/GEMINI.md"},
		"a directory":               {func(s *shelf) { s.symlink(outside, "x/commands") }, false, "x/commands"},
		"a directory, relative":     {func(s *shelf) { s.put("y/skills/a/SKILL.md", ""); s.symlink("../y/skills", "x/skills") }, false, "x/skills"},
		"a file in a directory":     {func(s *shelf) { s.put("x/agents/a.md", ""); s.symlink(secret, "x/agents/b.md") }, false, "x/agents/b.md"},
		"a directory deeper":        {func(s *shelf) { s.put("x/skills/a/b/c.md", ""); s.symlink(outside, "x/skills/a/b/d") }, false, "x/skills/a/b/d"},
		"behind a link that stays":  {func(s *shelf) { s.symlink("../files", "x/commands/in"); s.symlink(secret, "x/files/out.toml") }, false, "x/commands/in/out.toml"},
		"a link to nothing":         {func(s *shelf) { s.symlink(filepath.Join(outside, "later"), "x/policies/p.toml") }, false, "x/policies/p.toml"},
		"the hooks":                 {func(s *shelf) { s.symlink(secret, "x/hooks/hooks.json") }, false, "x/hooks/hooks.json"},
		"a directory that is none":  {func(s *shelf) { s.put("x/agents", "a file") }, false, "x/agents"},
		"a .env file, which counts": {func(s *shelf) { s.symlink(secret, "x/.env") }, false, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			s.put("good/fettle-extension.json", `{"name": "good", "version": "1"}`)
			tt.make(s)
			if _, err := os.Lstat(filepath.Join(s.o.Dir, "x", "fettle-extension.json")); err != nil {
				s.put("x/fettle-extension.json", manifest)
			}
			found, problems := s.load()
			require.Contains(t, told(problems), tt.path)
			if tt.lost {
				require.Equal(t, []string{"good"}, activeNames(found))
				require.True(t, problems[0].IsError())
				return
			}
			require.Equal(t, []string{"good", "x"}, activeNames(found), "the rest of it is used")
			x := found[1]
			require.Empty(t, x.ContextFiles)
			require.Empty(t, x.Env())
			for _, part := range []string{x.CommandsDir, x.SkillsDir, x.AgentsDir, x.PoliciesDir, x.HooksFile} {
				require.Empty(t, part)
			}
		})
	}
}

// A link within the extension is followed.
func TestLinksInside(t *testing.T) {
	s := newShelf(t)
	s.put("x/fettle-extension.json", `{"name": "x", "version": "1", "contextFileName": "CONTEXT.md"}`)
	s.put("x/docs/context.md", "hi")
	s.symlink("docs/context.md", "x/CONTEXT.md")
	s.put("x/shared/a.toml", "")
	s.symlink("../shared", "x/commands/again")
	s.symlink("..", "x/shared/loop")
	e := s.one()
	require.Equal(t, []string{filepath.Join(e.Path, "docs", "context.md")}, e.ContextFiles)
	require.Equal(t, filepath.Join(e.Path, "commands"), e.CommandsDir)
}

func TestHooks(t *testing.T) {
	s := newShelf(t)
	s.put("x/fettle-extension.json", `{"name": "x", "version": "1"}`)
	s.put("x/hooks/hooks.json", "{ // why\n\"hooks\": {\"BeforeTool\": [{\"hooks\": [{\"command\": \"${extensionPath}/run $KEY ${KEY}\",}]}]}}")
	e := s.one()
	data, err := extensionstore.Hooks(e, s.o.Workspace)
	require.NoError(t, err)
	require.True(t, json.Valid(data), string(data))
	require.Equal(t, 1, strings.Count(string(data), "\n"), "lines stay where they are")
	require.Contains(t, string(data), e.Path+"/run $KEY ${KEY}")
	data, err = extensionstore.UnfilledHooks(e)
	require.NoError(t, err)
	require.Contains(t, string(data), "${extensionPath}/run $KEY ${KEY}")
	s.put("x/hooks/hooks.json", "{\n\"hooks\": }")
	_, err = extensionstore.Hooks(s.one(), s.o.Workspace)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.Contains(t, err.Error(), "hooks.json:2")
}

func TestLoadIsCancelled(t *testing.T) {
	s := newShelf(t)
	s.put("x/fettle-extension.json", `{"name": "x", "version": "1"}`)
	ctx, cancel := contextOf(t)
	cancel()
	_, _, err := extensionstore.Open(s.o).Load(ctx)
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
}

// Without a home directory there are no extensions, and no values can be stored.
func TestNoDirectory(t *testing.T) {
	store := extensionstore.Open(extensionstore.Options{})
	found, problems, err := store.Load(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
	require.Empty(t, problems)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(store.SetEnabled(t.Context(), "x", extensions.ScopeUser, false)))
}
