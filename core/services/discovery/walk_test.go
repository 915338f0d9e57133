package discovery

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// walked returns the files of a walk from a directory, in the order given.
func walked(t testing.TB, f *Finder, w *workspace.Workspace, start string) ([]string, Tally) {
	t.Helper()
	p, err := w.Resolve(start)
	require.NoError(t, err)
	var files []string
	tally, err := f.Walk(t.Context(), Walk{Start: p, Depth: -1}, func(file File) bool {
		files = append(files, file.Rel())
		return true
	})
	require.NoError(t, err)
	return files, tally
}

// Files come sorted by path, with directories in order, for all kinds of names.
func TestWalkOrder(t *testing.T) {
	entries := []string{"a", "a.b/x", "a.b/y/z", "a-b", "a/", "ab/c", "line\nbreak/f", "bad\xff", "é", "z/"}
	for i := range 500 {
		entries = append(entries, fmt.Sprintf("many%d/d%d/f%d", i%7, i%31, i))
	}
	entries = slices.DeleteFunc(entries, func(e string) bool { return e == "a/" })
	f, w := finderOver(t, tree(t, entries...))
	files, _ := walked(t, f, w, ".")
	require.Len(t, files, len(entries)-1)
	require.True(t, slices.IsSorted(files), "%q", files)
}

// A walk ends with its caller or its context, and leaves no goroutine behind.
func TestWalkEnds(t *testing.T) {
	var entries []string
	for i := range 400 {
		entries = append(entries, fmt.Sprintf("d%03d/f", i))
	}
	f, w := finderOver(t, tree(t, entries...))
	start, err := w.Resolve(".")
	require.NoError(t, err)
	n := 0
	_, err = f.Walk(t.Context(), Walk{Start: start, Depth: -1}, func(File) bool { n++; return n < 5 })
	require.NoError(t, err)
	require.Equal(t, 5, n)
	ctx, cancel := context.WithCancel(t.Context())
	_, err = f.Walk(ctx, Walk{Start: start, Depth: -1}, func(File) bool { cancel(); return true })
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.ErrorIs(t, err, context.Canceled)
}

// Links are not followed, so that cycles do no harm.
func TestWalkDoesNotFollowLinks(t *testing.T) {
	top := tree(t, ".gitignore closed/\n", "closed/f", "open/f", "loop ->.", "open/up ->..")
	f, w := finderOver(t, top)
	files, tally := walked(t, f, w, ".")
	require.Equal(t, []string{".gitignore", "open/f"}, files)
	require.Equal(t, 1, tally.Ignored)
	require.Equal(t, []Verdict{{true, top + "/.gitignore", 1, "closed/", top + "/closed"}}, tally.Reasons)
}

// A named path is shown although it is ignored, with the reason; the rules inside it apply.
func TestNamedDirectoriesAreNotIgnored(t *testing.T) {
	top := tree(t, ".gitignore build/\n*.o\n", "build/a.o", "build/sub/b.o", "build/sub/c.tmp", "build/.gitignore *.tmp\n", "x.o")
	f, w := finderOver(t, top)
	files, tally := walked(t, f, w, "build")
	require.Equal(t, []string{".gitignore", "a.o", "sub/b.o"}, files)
	require.Equal(t, Verdict{true, top + "/.gitignore", 1, "build/", top + "/build"}, tally.Start)
	files, tally = walked(t, f, w, "build/sub")
	require.Equal(t, []string{"b.o"}, files)
	require.True(t, tally.Start.Ignored)
	require.Equal(t, []string{"x.o"}, globbed(t, f, "x.o"))
	require.Empty(t, globbed(t, f, "*.o"))

	p, err := w.Resolve("build/sub/b.o")
	require.NoError(t, err)
	v, err := f.Why(t.Context(), p, false)
	require.NoError(t, err)
	require.Equal(t, top+`/.gitignore:1: "build/"`, v.String())
	require.Equal(t, top+"/build", v.Path)
}

// The layout's own file and custom ones take precedence over git's, including negations.
func TestOwnAndCustomFiles(t *testing.T) {
	top := tree(t, ".gitignore *.log\nbuilt/\n", ".fettleignore secret\n!keep.log\n!built/\n", "custom !secret\n/a\n", "sub/.fettleignore a\n",
		"a", "secret", "keep.log", "b.log", "sub/a", "sub/secret", "sub/b", "built/x")
	f, w := finderOver(t, top)
	for name, tt := range map[string]struct {
		options Options
		want    string
	}{
		"git alone":  {Options{}, "a secret sub/a sub/b sub/secret"},
		"own":        {Options{IgnoreFile: ".fettleignore"}, "a built/x keep.log sub/b"},
		"own alone":  {Options{IgnoreFile: ".fettleignore", NoGitIgnore: true}, "a b.log built/x keep.log sub/b"},
		"custom too": {Options{IgnoreFile: ".fettleignore", CustomFiles: []string{"custom", "absent", "/etc/passwd"}}, "built/x keep.log secret sub/b sub/secret"},
		"none":       {Options{NoGitIgnore: true}, "a b.log built/x keep.log secret sub/a sub/b sub/secret"},
	} {
		files, _ := walked(t, f.With(tt.options), w, ".")
		files = slices.DeleteFunc(files, func(f string) bool { return f == "custom" || strings.HasSuffix(f, "ignore") })
		require.Equal(t, tt.want, strings.Join(files, " "), name)
	}
}

// A nested repository has its own rules; an ignored one is not entered. Each agrees with git.
func TestNestedRepositories(t *testing.T) {
	top := tree(t, ".gitignore *.log\nhidden/\n", "nested/a.log", "nested/b.tmp", "nested/c", "nested/d/e.tmp", "nested/.gitignore *.tmp\n", "hidden/f", "x.log",
		"module/g.log", "module/h.own", "module/.git gitdir: ./.real\n", "module/.real/info/exclude *.own\n.real\n")
	outer, nested := gitIn(t, top), gitIn(t, top+"/nested")
	gitIn(t, top+"/hidden")
	require.NoError(t, os.MkdirAll(top+"/nested/.git/info", 0o755))
	require.NoError(t, os.WriteFile(top+"/nested/.git/info/exclude", []byte("c\n"), 0o644))
	f, w := finderOver(t, top)
	files, _ := walked(t, f, w, ".")
	require.Equal(t, []string{".gitignore", "module/g.log", "nested/.gitignore", "nested/a.log"}, files)

	inner := []string{"a.log", "b.tmp", "c", "d/e.tmp", ".gitignore"}
	for name, why := range verdicts(t, nested, inner) {
		p, err := w.Resolve(filepath.Join("nested", name))
		require.NoError(t, err)
		require.Equal(t, why != "", ignored(t, f, p, false), name)
	}
	for name, why := range verdicts(t, outer, []string{"hidden", "x.log", "nested"}) {
		p, err := w.Resolve(name)
		require.NoError(t, err)
		require.Equal(t, why != "", ignored(t, f, p, name != "x.log"), name)
	}
}

// If the workspace is inside a repository, the rules above it apply, up to the repository's root
// and not beyond; but not to the workspace directory.
func TestRulesAboveTheWorkspace(t *testing.T) {
	top := tree(t, ".gitignore nothing\n*.far\n", "repo/.git/info/exclude *.own\n", "repo/.gitignore *.log\n/part/only\n/only\nhidden/\n*.kept\n", "repo/part/.gitignore !a.kept\n/sub/x\n",
		"repo/part/sub/f.far", "repo/part/sub/f.log", "repo/part/sub/f.own", "repo/part/sub/a.kept", "repo/part/sub/b.kept", "repo/part/sub/x", "repo/part/sub/only", "repo/part/only", "repo/part/y",
		"repo/hidden/f.log", "repo/hidden/sub/.gitignore *.tmp\n", "repo/hidden/sub/f.log", "repo/hidden/sub/f.tmp", "repo/nested/.git/HEAD x", "repo/nested/f.log", "link ->repo/part", "lone/f.far")
	for directory, want := range map[string]string{
		"repo/part/sub":   "a.kept f.far only",
		"repo/part":       ".gitignore sub/a.kept sub/f.far sub/only y",
		"link":            ".gitignore sub/a.kept sub/f.far sub/only y",
		"repo/hidden":     "f.log sub/.gitignore sub/f.log",
		"repo/hidden/sub": ".gitignore f.log",
		"repo/nested":     "f.log",
		"lone":            "f.far",
	} {
		f, w := finderOver(t, filepath.Join(top, directory))
		files, _ := walked(t, f, w, ".")
		require.Equal(t, want, strings.Join(files, " "), directory)
		all, _ := walked(t, f.With(Options{NoGitIgnore: true}), w, ".")
		require.GreaterOrEqual(t, len(all), len(files))
	}
	f, w := finderOver(t, top+"/repo/part/sub")
	p, err := w.Resolve("f.log")
	require.NoError(t, err)
	v, err := f.Why(t.Context(), p, false)
	require.NoError(t, err)
	require.Equal(t, top+`/repo/.gitignore:1: "*.log"`, v.String())
	require.Equal(t, p.String(), v.Path)
}

// Patterns that cause exponential backtracking elsewhere finish quickly.
func TestHostilePatterns(t *testing.T) {
	name := strings.Repeat("a", 250)
	deep := strings.Repeat("a/", 100) + "a"
	for _, pattern := range []string{
		strings.Repeat("*a", 120) + "b", strings.Repeat("**/", 60) + "b", strings.Repeat("a/**/", 60) + "b", strings.Repeat("**/*a*a*a", 20) + "b",
		"/" + strings.Repeat("[!b]*", 100) + "b", strings.Repeat("?*", 200) + "b/**",
	} {
		r, ok := parseRule(pattern)
		require.True(t, ok)
		require.False(t, r.matches(name, true), pattern)
		require.False(t, r.matches(deep, true), pattern)
	}
}

// A pattern is parsed and matched without a panic, and if a rule matches a path, it may reach its
// directory.
func FuzzRules(f *testing.F) {
	fuzzseed.Add(f)
	f.Add("*.log\n!a\n/b/**/c\n[a-z]\\ \n", "b/x/c", true)
	f.Add("a/[!]-b]*/**\n[[:alpha:]\n\\\n//\n", "a/c/d", false)
	f.Fuzz(func(t *testing.T, text, path string, dir bool) {
		file := newRuleFile("f", "", text)
		if file == nil || path == "" || strings.HasPrefix(path, "/") || strings.Contains(path, "//") || strings.HasSuffix(path, "/") {
			return
		}
		name := lastElement(path)
		parent := strings.TrimSuffix(strings.TrimSuffix(path, name), "/")
		whole := level{file, file.anchored}
		seen := whole.from(parent)
		require.Equal(t, whole.match(parent, name, dir), seen.match(parent, name, dir))
	})
}
