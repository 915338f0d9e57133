package discovery

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// tree creates files below a new directory: a name ending in a slash is a directory, "->" begins a
// link's target.
func tree(t testing.TB, entries ...string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, e := range entries {
		name, content, _ := strings.Cut(e, " ")
		path := filepath.Join(top, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		target, link := strings.CutPrefix(content, "->")
		switch {
		case strings.HasSuffix(name, "/"):
			require.NoError(t, os.MkdirAll(path, 0o755))
		case link:
			require.NoError(t, os.Symlink(target, path))
		default:
			require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		}
	}
	return top
}

func finderOver(t testing.TB, dirs ...string) (*Finder, *workspace.Workspace) {
	t.Helper()
	w, err := workspace.Open(dirs...)
	require.NoError(t, err)
	t.Cleanup(func() { w.Close() })
	return New(w), w
}

// globbed returns the names found, relative to their workspace directory.
func globbed(t *testing.T, f *Finder, pattern string) []string {
	t.Helper()
	found, err := f.Find(t.Context(), Find{Pattern: pattern, Limit: 1000})
	require.NoError(t, err)
	require.Zero(t, found.More)
	require.False(t, found.Tally.Partial)
	var names []string
	for _, p := range found.Files {
		names = append(names, p.Rel())
	}
	return names
}

func TestGlob(t *testing.T) {
	top := tree(t, "a.go", "b.go", "c.txt", ".hidden.go", "sub/d.go", "sub/deep/e.go", "sub/deep/f.txt", "[x].go", "sub/[y]/g.go", "dir.go/")
	f, _ := finderOver(t, top)
	for pattern, want := range map[string][]string{
		"*.go":                {".hidden.go", "[x].go", "a.go", "b.go"},
		"**/*.go":             {".hidden.go", "[x].go", "a.go", "b.go", "sub/[y]/g.go", "sub/d.go", "sub/deep/e.go"},
		"sub/*":               {"sub/d.go"},
		"sub/*/*.go":          {"sub/[y]/g.go", "sub/deep/e.go"},
		"*/*/*":               {"sub/[y]/g.go", "sub/deep/e.go", "sub/deep/f.txt"},
		"sub/**":              {"sub/[y]/g.go", "sub/d.go", "sub/deep/e.go", "sub/deep/f.txt"},
		"{a,sub/d}.go":        {"a.go", "sub/d.go"},
		"{sub/deep/e,c}.*":    {"c.txt", "sub/deep/e.go"},
		"[ab].go":             {"a.go", "b.go"},
		"?.txt":               {"c.txt"},
		"a.go":                {"a.go"},
		"./sub/d.go":          {"sub/d.go"},
		`\[x\].go`:            {"[x].go"},
		`sub/\[y\]/*`:         {"sub/[y]/g.go"},
		"none/*":              nil,
		"*.none":              nil,
		"sub/../*.txt":        {"c.txt"},
		top + "/sub/*.go":     {"sub/d.go"},
		top + "/**/e.go":      {"sub/deep/e.go"},
		"sub/deep/../deep/e*": {"sub/deep/e.go"},
	} {
		require.Equal(t, want, globbed(t, f, pattern), pattern)
	}
}

func TestGlobErrors(t *testing.T) {
	top := tree(t, "ws/a.go", "outside.go")
	f, _ := finderOver(t, top+"/ws")
	for pattern, code := range map[string]fault.Code{
		"[a":                                   fault.InvalidToolParams,
		"{a":                                   fault.InvalidToolParams,
		"../*.go":                              fault.PathNotInWorkspace,
		top + "/*.go":                          fault.PathNotInWorkspace,
		"/**":                                  fault.PathNotInWorkspace,
		"ws/../../../**/x":                     fault.PathNotInWorkspace,
		strings.Repeat("{a,aa}", 24):           fault.InvalidToolParams, // takes seconds for one name
		strings.Repeat("a", maxGlob+1):         fault.InvalidToolParams,
		"{" + strings.Repeat("a,", 1001) + "}": fault.InvalidToolParams,
	} {
		_, err := f.Find(t.Context(), Find{Pattern: pattern, Limit: 10})
		require.Equal(t, code, fault.CodeOf(err), pattern)
		require.NotEmpty(t, fault.As(err).Remedy)
	}
	require.NoError(t, CheckGlob("*.{"+strings.Repeat("a,", 999)+"}"))
	require.NoError(t, CheckGlob(strings.Repeat("{a,b}", 9)+`\{a,b\}`))
	require.Empty(t, globbed(t, f, "*/../../*"), "a pattern does not climb")
}

func TestGlobLimit(t *testing.T) {
	f, _ := finderOver(t, tree(t, "b", "a", "c"))
	for limit, want := range map[int]int{0: 0, -1: 0, 2: 2, 3: 3, 4: 3} {
		found, err := f.Find(t.Context(), Find{Pattern: "*", Limit: limit})
		require.NoError(t, err)
		require.Len(t, found.Files, want)
		require.Equal(t, 3-want, found.More)
		if want > 0 {
			require.Equal(t, "a", found.Files[0].Rel())
		}
	}
}

func TestGlobDoesNotFollowLinksToDirectories(t *testing.T) {
	outside := tree(t, "secret.go")
	top := tree(t, "real/a.go", "loop/up ->..", "loop/self ->self", "link ->real", "file.go ->real/a.go", "out.go ->"+outside+"/secret.go", "gone.go ->nowhere")
	f, _ := finderOver(t, top)
	require.Equal(t, []string{"file.go", "real/a.go"}, globbed(t, f, "**/*.go"))
	require.Equal(t, []string{"link/a.go"}, globbed(t, f, "link/*.go"), "named, a link is followed")
}

func TestGlobCancelled(t *testing.T) {
	f, _ := finderOver(t, tree(t, "a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Find(ctx, Find{Pattern: "*", Limit: 10})
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.ErrorIs(t, err, context.Canceled)
}

func TestGlobOverSeveralDirectories(t *testing.T) {
	one, two := tree(t, "a.go", ".gitignore *.go"), tree(t, "b.go", "c.txt", ".gitignore *.txt")
	f, _ := finderOver(t, one, two)
	require.Empty(t, globbed(t, f, "*.go"), "relative to the target directory")
	require.Equal(t, []string{"b.go"}, globbed(t, f, two+"/[bc]*"), "each directory has its own rules")
}

func TestGitIsNeverEntered(t *testing.T) {
	top := tree(t, ".git/config", ".git/hooks/x.sample", "sub/.git/config", "worktree/.git file", "a", ".github/x", ".gitignore !.git")
	f, w := finderOver(t, top)
	require.Equal(t, []string{".github/x", ".gitignore", "a"}, globbed(t, f, "**"))
	require.Empty(t, globbed(t, f, ".git/**"))
	for name, want := range map[string]bool{".git": true, ".git/config": true, "sub/.git/x": true, ".github": false, "a.git": false, ".": false} {
		p, err := w.Resolve(name)
		require.NoError(t, err)
		require.Equal(t, want, ignored(t, f, p, false), name)
	}
}

// ignoreCases are .gitignore files, each with names (a directory ends in a
// slash) and whether git ignores them.
var ignoreCases = map[string]struct {
	rules string
	want  map[string]bool
}{
	"floating": {"*.log\nbuild\n", map[string]bool{
		"a.log": true, "sub/a.log": true, "a.logs": false, "build/": true, "build/x": true, "sub/build": true, "rebuild": false,
	}},
	"anchored": {"/top\nsub/inner\n/a*/x\n", map[string]bool{
		"top": true, "sub/top": false, "sub/inner": true, "deep/sub/inner": false, "abc/x": true, "abc/y/x": false,
	}},
	"directories only": {"out/\n/gen/\n", map[string]bool{
		"out": false, "out/": true, "out/x": true, "sub/out/": true, "sub/out": false, "gen/a/b": true, "sub/gen/": false,
	}},
	"negation": {"*.log\n!keep.log\nkeep.log.*\n", map[string]bool{
		"a.log": true, "keep.log": false, "sub/keep.log": false, "keep.log.1": true,
	}},
	"negation below an ignored directory": {"dir/\n!dir/keep\n", map[string]bool{
		"dir/keep": true, "dir/": true,
	}},
	"negation beside": {"dir/*\n!dir/keep\n", map[string]bool{
		"dir/": false, "dir/keep": false, "dir/x": true,
	}},
	"all but": {"/*\n!/src\n", map[string]bool{
		"a": true, "src/": false, "src/a": false, "docs/x": true,
	}},
	"double star": {"**/foo\nbar/**\na/**/b\n", map[string]bool{
		"foo": true, "x/y/foo": true, "bar/": false, "bar/x": true, "bar/x/y": true, "bar": false,
		"a/b": true, "a/x/b": true, "a/x/y/b": true, "a/x": false, "x/a/b": false,
	}},
	"double star, then negation": {"logs/**\n!logs/.keep\n", map[string]bool{
		"logs/": false, "logs/.keep": false, "logs/x": true,
	}},
	"double star inside a name": {"a**b\n", map[string]bool{"ab": true, "axxb": true, "a/b": false}},
	"everything":                {"**\n", map[string]bool{"a": true, "a/b": true}},
	"comments and blanks":       {"# a\n\n  \n\\#b\n\\!c\nd   \ne\\ \n", map[string]bool{"# a": false, "a": false, "#b": true, "!c": true, "d": true, "e ": true, "e": false}},
	"crlf and bom":              {"\xef\xbb\xbfa\r\nb\r\n", map[string]bool{"a": true, "b": true}},
	"classes":                   {"[ab].c\n[!x]y\n?z\n", map[string]bool{"a.c": true, "c.c": false, "ay": true, "xy": false, "qz": true, "z": false, "q/z": false}},
	"braces are literal":        {"{a,b}\n\\{c\\}\n", map[string]bool{"a": false, "{a,b}": true, "{c}": true, "c": false}},
	"a lone slash":              {"/\n", map[string]bool{"a": false, "a/": false}},
	"a lone bang":               {"a\n!\n", map[string]bool{"a": true}},
	"order":                     {"!a\na\n", map[string]bool{"a": true}},
	"bad class":                 {"[a\nb\n", map[string]bool{"[a": false, "b": true}},
	"brackets escaped":          {"\\[x\\]\n", map[string]bool{"[x]": true, "x": false}},
}

func TestIgnored(t *testing.T) {
	for name, tt := range ignoreCases {
		t.Run(name, func(t *testing.T) {
			top := tree(t)
			require.NoError(t, os.WriteFile(top+"/.gitignore", []byte(tt.rules), 0o644))
			f, w := finderOver(t, top)
			for path, want := range tt.want {
				rel, dir := strings.CutSuffix(path, "/")
				p, err := w.Resolve(rel)
				require.NoError(t, err)
				require.Equal(t, want, ignored(t, f, p, dir), path)
			}
		})
	}
}

// The table above agrees with git.
func TestIgnoreCasesAgainstGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	repository := tree(t)
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), git, args...)
		cmd.Dir = repository
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("init", "-q")
	require.NoError(t, err, out)
	for name, tt := range ignoreCases {
		require.NoError(t, os.WriteFile(repository+"/.gitignore", []byte(tt.rules), 0o644))
		for path, want := range tt.want {
			rel, dir := strings.CutSuffix(path, "/")
			file := filepath.Join(repository, rel)
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			if dir {
				require.NoError(t, os.Mkdir(file, 0o755))
			} else {
				require.NoError(t, os.WriteFile(file, nil, 0o644))
			}
			_, err = run("check-ignore", "-q", "--no-index", "--", rel)
			require.Equal(t, want, err == nil, "%s: %q", name, path)
			first, _, _ := strings.Cut(rel, "/")
			require.NoError(t, os.RemoveAll(filepath.Join(repository, first)))
		}
	}
}

func TestIgnoreFileIsReadAnewAndMayBeAnything(t *testing.T) {
	top := tree(t, ".gitignore a\n", "a", "b")
	f, _ := finderOver(t, top)
	require.Equal(t, []string{".gitignore", "b"}, globbed(t, f, "*"))
	require.NoError(t, os.WriteFile(top+"/.gitignore", []byte("b\n"), 0o644))
	require.Equal(t, []string{".gitignore", "a"}, globbed(t, f, "*"))

	outside := tree(t, "rules a\n")
	for _, odd := range []string{".gitignore/", ".gitignore ->" + outside + "/rules", ".gitignore ->nowhere"} {
		top := tree(t, "a", odd)
		f, _ := finderOver(t, top)
		require.Contains(t, globbed(t, f, "*"), "a", odd)
	}
}

func TestFinderIsConcurrent(t *testing.T) {
	f, w := finderOver(t, tree(t, ".gitignore *.log\n", "a.log", "b"))
	p, err := w.Resolve("a.log")
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if !ignored(t, f, p, false) {
				t.Error("not ignored")
			}
			if found, err := f.Find(t.Context(), Find{Pattern: "**", Limit: 10}); err != nil || len(found.Files) != 2 {
				t.Error(found, err)
			}
		})
	}
	wg.Wait()
}

func ignored(t testing.TB, f *Finder, p workspace.Path, dir bool) bool {
	t.Helper()
	v, err := f.Why(t.Context(), p, dir)
	require.NoError(t, err)
	return v.Ignored
}
