package discovery

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// gitIn returns a func that runs git in a new repository at top, without the user's configuration.
// The test is skipped without git.
func gitIn(t testing.TB, top string) func(stdin string, args ...string) string {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	run := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), git, args...)
		cmd.Dir = top
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES="+filepath.Dir(top))
		cmd.Stdin = strings.NewReader(stdin)
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		if err := cmd.Run(); err != nil && errOut.Len() > 0 {
			t.Fatalf("git %q: %v %s", args, err, errOut.String())
		}
		return out.String()
	}
	run("", "init", "-q")
	return run
}

// verdicts returns git's verdict on each path: the place and the text of the line that ignores it,
// or "".
func verdicts(t testing.TB, run func(string, ...string) string, paths []string) map[string]string {
	t.Helper()
	fields := strings.Split(run(strings.Join(paths, "\x00")+"\x00", "check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"), "\x00")
	require.Len(t, fields, len(paths)*4+1)
	said := make(map[string]string)
	for ; len(fields) >= 4; fields = fields[4:] {
		source, line, pattern, path := fields[0], fields[1], fields[2], fields[3]
		said[path] = ""
		if source != "" && !strings.HasPrefix(pattern, "!") {
			said[path] = source + ":" + line + ":" + pattern
		}
	}
	return said
}

// partsOf returns a few directories of a repository, not ignored, each below the previous one.
func partsOf(t testing.TB, top string, run func(string, ...string) string) (dirs []string) {
	t.Helper()
	for dir := "."; len(dirs) < 2; {
		names, err := os.ReadDir(filepath.Join(top, dir))
		require.NoError(t, err)
		i := slices.IndexFunc(names, func(d os.DirEntry) bool {
			path := filepath.Join(dir, d.Name())
			return d.IsDir() && d.Name() != ".git" && verdicts(t, run, []string{path})[path] == ""
		})
		if i < 0 {
			break
		}
		dir = filepath.Join(dir, names[i].Name())
		dirs = append(dirs, dir)
	}
	return dirs
}

// compareWithGit compares git with a Finder for every path below a directory of the repository at
// top, which is the workspace. It returns the number of compared paths, and of ignored ones.
func compareWithGit(t testing.TB, top, directory string, run func(string, ...string) string) (compared, ignoredPaths int) {
	t.Helper()
	directory = filepath.Join(top, directory)
	f, w := finderOver(t, directory)
	isDir, isFile := make(map[string]bool), make(map[string]bool)
	var paths []string
	require.NoError(t, filepath.WalkDir(directory, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == directory {
			return err
		}
		if d.Name() == ".git" {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(top, path)
		paths = append(paths, rel)
		isDir[rel], isFile[rel] = d.IsDir(), d.Type().IsRegular()
		return err
	}))
	if len(paths) == 0 {
		return 0, 0
	}
	for path, want := range verdicts(t, run, paths) {
		p, err := w.Resolve(filepath.Join(top, path))
		require.NoError(t, err)
		v, err := f.Why(t.Context(), p, isDir[path])
		require.NoError(t, err)
		got := ""
		if v.Ignored {
			ignoredPaths++
			source, err := filepath.Rel(top, v.Source)
			require.NoError(t, err)
			got = fmt.Sprintf("%s:%d:%s", source, v.Line, v.Pattern)
		}
		if got != want {
			for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
				rules, _ := os.ReadFile(filepath.Join(top, dir, ".gitignore"))
				t.Logf("%s/.gitignore: %q", dir, rules)
				if dir == "." {
					break
				}
			}
		}
		require.Equal(t, want, got, "%q", path)
		compared++
	}
	// A walk shows the files that are not ignored.
	shown := make(map[string]bool)
	start, err := w.Resolve(".")
	require.NoError(t, err)
	_, err = f.Walk(t.Context(), Walk{Start: start, Depth: -1}, func(file File) bool {
		rel, err := filepath.Rel(top, filepath.Join(directory, file.Rel()))
		require.NoError(t, err)
		shown[rel] = true
		return true
	})
	require.NoError(t, err)
	for path, why := range verdicts(t, run, paths) {
		if isFile[path] {
			require.Equal(t, why == "", shown[path], "%q", path)
		}
	}
	return compared, ignoredPaths
}

// pieces of related patterns and names.
var (
	patternPieces = []string{
		"a", "b", "ab", "c", "ba", "A", ".x", "a b", "-", "]", "ä", "{a,b}",
		"*", "*", "**", "***", "?", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[!]a]", "[[:alpha:]]", "[[:upper:]b]", "[a-", "[[:x:]]", "[[:a]", "[]-a]", "[b-a]", `[\]a]`, `[\a-c]`,
		`\a`, `\*`, `\!`, `\#`, `\\`, `\`, `\ `, "/", "/", "/", "**/", "/**/", "/**", "#", "!", " ", "\t", "\r",
	}
	namePieces = []string{"a", "b", "ab", "c", "ba", "A", ".x", "a b", "-", "]", "ä", "*", "!", "#", `\`, "{a,b}", " ", "\t", "\n", "\r", "\xff"}
)

// Fewer pieces, so that paths and patterns with several stars match often.
var (
	densePatternPieces = []string{"a", "b", "a", "b", "*", "*", "**", "?", "/", "/", "[ab]", "[!b]", "**/", "/**", "/**/"}
	denseNamePieces    = []string{"a", "b"}
)

// vocabulary contains the parts of one tree's patterns and names.
type vocabulary struct {
	*rand.Rand
	patterns, names []string
}

func randomName(r vocabulary) string {
	for {
		var b strings.Builder
		for range 1 + r.IntN(3) {
			b.WriteString(r.names[r.IntN(len(r.names))])
		}
		if name := b.String(); len(name) < 20 {
			return name
		}
	}
}

func randomRules(r vocabulary) string {
	var b strings.Builder
	if r.IntN(20) == 0 {
		b.WriteString("\uFEFF")
	}
	for range r.IntN(6) {
		if r.IntN(4) == 0 {
			b.WriteByte('!')
		}
		if r.IntN(4) == 0 {
			b.WriteByte('/')
		}
		for range 1 + r.IntN(5) {
			b.WriteString(r.patterns[r.IntN(len(r.patterns))])
		}
		if r.IntN(5) == 0 {
			b.WriteByte('/')
		}
		if r.IntN(8) == 0 {
			b.WriteByte(' ')
		}
		if r.IntN(15) == 0 {
			b.WriteByte('\r')
		}
		b.WriteByte('\n')
	}
	text := b.String()
	if r.IntN(4) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

// randomTree fills dir with files, directories and ignore files.
func randomTree(t testing.TB, r vocabulary, dir string, depth int) {
	t.Helper()
	for range 2 + r.IntN(6) {
		path := filepath.Join(dir, randomName(r))
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		switch n := r.IntN(10); {
		case n < 4 && depth > 0:
			require.NoError(t, os.Mkdir(path, 0o755))
			randomTree(t, r, path, depth-1)
		case n == 9:
			require.NoError(t, os.Symlink("..", path))
		default:
			require.NoError(t, os.WriteFile(path, nil, 0o644))
		}
	}
	if r.IntN(2) == 0 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(randomRules(r)), 0o644))
	}
}

// Paths that git ignores are ignored, by the same line of the same file: on trees with ignore files
// in every directory. FETTLE_FULL=1 tries many.
func TestAgainstGitCheckIgnore(t *testing.T) {
	trees := 12
	if os.Getenv("FETTLE_FULL") != "" {
		trees = 2000
	}
	compared, ignoredPaths, parts := 0, 0, 0
	for seed := range uint64(trees) {
		r := vocabulary{rand.New(rand.NewPCG(seed, 4)), patternPieces, namePieces}
		if seed%2 == 1 {
			r.patterns, r.names = densePatternPieces, denseNamePieces
		}
		top, err := os.MkdirTemp(t.TempDir(), "tree")
		require.NoError(t, err)
		top, err = filepath.EvalSymlinks(top)
		require.NoError(t, err)
		run := gitIn(t, top)
		require.NoError(t, os.MkdirAll(filepath.Join(top, ".git/info"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(top, ".git/info/exclude"), []byte(randomRules(r)), 0o644))
		randomTree(t, r, top, 3)
		c, i := compareWithGit(t, top, ".", run)
		compared, ignoredPaths = compared+c, ignoredPaths+i
		for _, directory := range partsOf(t, top, run) {
			c, i = compareWithGit(t, top, directory, run)
			compared, ignoredPaths, parts = compared+c, ignoredPaths+i, parts+1
		}
		require.NoError(t, os.RemoveAll(top))
	}
	t.Logf("%d trees and %d parts of them, %d paths, %d of them ignored: no difference", trees, parts, compared, ignoredPaths)
	require.Greater(t, parts, trees/2, "too few parts of repositories")
	require.Greater(t, ignoredPaths, compared/20, "too few are ignored to prove anything")
}
