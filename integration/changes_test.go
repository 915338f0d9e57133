package integration_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const changesDir = "integration/testdata/changes"

var (
	changeFigure  = regexp.MustCompile(`at most \*\*(\d+)\*\* hand-written files`)
	changeTouches = regexp.MustCompile(`(?m)^diff --git a/(\S+) b/`)
	changeCommand = regexp.MustCompile(`(?m)^(go (?:test|run) .*?)(?: *#.*)?$`)
	changeNames   = regexp.MustCompile("`([^`\\s]+/[^`\\s]+)`")
	placeholder   = regexp.MustCompile(`\b[A-Z]{2,}\b`)
	blobLine      = regexp.MustCompile(`(?m)^index [0-9a-f]+\.\.[0-9a-f]+( \d+)?\n`)
)

// Each page of docs/changes has a patch that follows it: the patch applies to the
// checkout and changes no more hand-written files than the page says. With
// FETTLE_FULL=1 it is applied to a copy, and the commands of the page succeed there.
// -update rewrites each patch for the current checkout.
func TestChanges(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git, which applies the patches, is not installed")
	}
	repository, err := filepath.Abs("..")
	require.NoError(t, err)
	patches, err := filepath.Glob(filepath.Join(repository, changesDir, "*.patch"))
	require.NoError(t, err)
	pages, err := filepath.Glob(filepath.Join(repository, "docs/changes/*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	require.Len(t, patches, len(pages), "each page of docs/changes has one patch in %s", changesDir)
	for _, file := range patches {
		name := strings.TrimSuffix(filepath.Base(file), ".patch")
		t.Run(name, func(t *testing.T) {
			if *update {
				redoChange(t, repository, file)
			}
			checkChange(t, repository, file, textOf(t, "docs/changes/"+name+".md"))
		})
	}
}

func checkChange(t *testing.T, repository, file, page string) {
	require.Contains(t, page, changesDir+"/"+filepath.Base(file), "the page does not name its patch")
	figure := changeFigure.FindStringSubmatch(page)
	require.NotNil(t, figure, "the page does not give the number of files that a change touches: at most **N** hand-written files")
	most, err := strconv.Atoi(figure[1])
	require.NoError(t, err)
	patch, err := os.ReadFile(file)
	require.NoError(t, err)
	var written []string
	for _, m := range changeTouches.FindAllStringSubmatch(string(patch), -1) {
		if path := m[1]; !strings.HasSuffix(path, "_test.go") && path != "CHANGELOG.md" {
			written = append(written, path)
		}
	}
	require.NotEmpty(t, written)
	require.LessOrEqual(t, len(written), most, "%v", written)
	require.Empty(t, unnamed(page, written), "the patch changes files that the page does not name")
	out, err := gitIn(t, repository, "apply", "--check", "-v", file)
	require.NoError(t, err, "the patch does not apply to the checkout; rewrite it: go test ./integration -run TestChanges -update\n%s", out)
	if os.Getenv("FETTLE_FULL") == "" {
		return
	}
	dir := t.TempDir()
	copyCheckout(t, repository, dir)
	out, err = gitIn(t, dir, "apply", file)
	require.NoError(t, err, "%s", out)
	commands := [][]string{{"go", "build", "./..."}, append([]string{"go", "vet"}, changedPackages(string(patch))...)}
	page = strings.ReplaceAll(page, "'", "")
	require.NotEmpty(t, pageCommands(page), "the page has no line that begins with go test")
	for _, args := range append(commands, pageCommands(page)...) {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "FETTLE_FULL=", "CGO_ENABLED=0", "GOFLAGS=-trimpath -vet=off -ldflags=-w") // so that copies share what is built, and no package is vetted that is not changed
		begun := time.Now()
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%q: %s", args, out)
		t.Logf("%q: %v", args, time.Since(begun).Round(time.Second))
	}
}

// pageCommands returns the commands of a page. Consecutive commands that differ only
// in the tests that they run are one, as each links the test binary of its package.
func pageCommands(page string) [][]string {
	var commands [][]string
	for _, m := range changeCommand.FindAllStringSubmatch(page, -1) {
		args := strings.Fields(m[1])
		run := slices.Index(args, "-run") + 1
		if n := len(commands); n > 0 && run > 0 && run < len(args) && len(commands[n-1]) == len(args) {
			merged := slices.Clone(commands[n-1])
			merged[run] = args[run]
			if slices.Equal(merged, args) {
				commands[n-1][run] += "|" + args[run]
				continue
			}
		}
		commands = append(commands, args)
	}
	return commands
}

func TestPageCommands(t *testing.T) {
	t.Parallel()
	const page = "go test ./a -run TestA -update # writes\ngo test ./a -run TestB -update\ngo test ./a -run TestA\ngo test ./b\n"
	require.Equal(t, [][]string{{"go", "test", "./a", "-run", "TestA|TestB", "-update"}, {"go", "test", "./a", "-run", "TestA"}, {"go", "test", "./b"}}, pageCommands(page))
}

// unnamed lists the paths that a page does not contain in full. A word in capitals in a path of the
// page matches any name. Such a pattern counts for one file only, and patterns with fewer such
// words are matched first.
func unnamed(page string, paths []string) []string {
	var names []string
	for _, m := range changeNames.FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	open := func(name string) int { return len(placeholder.FindAllString(name, -1)) }
	slices.SortStableFunc(names, func(a, b string) int { return open(a) - open(b) })
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		i := slices.IndexFunc(names, func(name string) bool {
			pattern := placeholder.ReplaceAllString(regexp.QuoteMeta(name), `[^/]+`)
			return regexp.MustCompile("^" + pattern + "$").MatchString(path)
		})
		if i >= 0 && open(names[i]) > 0 {
			names = slices.Delete(names, i, i+1)
		}
		return i >= 0
	})
}

// HO-07: a file of the same name in another directory does not count.
func TestChangesUnnamed(t *testing.T) {
	t.Parallel()
	const page = "`core/a/NAME.go`, `builtin.go` and `core/b/builtin.go`"
	require.Empty(t, unnamed(page, []string{"core/a/version.go", "core/b/builtin.go"}))
	require.Equal(t, []string{"core/c/builtin.go"}, unnamed(page, []string{"core/b/builtin.go", "core/c/builtin.go"}))
	require.Equal(t, []string{"core/a/version.go"}, unnamed(page, []string{"core/a/builtin.go", "core/a/version.go"}))
	require.Equal(t, []string{"core/a/deep/version.go"}, unnamed(page, []string{"core/a/deep/version.go"}))
}

// changedPackages returns the directories of the Go files that a patch changes.
func changedPackages(patch string) []string {
	var dirs []string
	for _, m := range changeTouches.FindAllStringSubmatch(patch, -1) {
		if filepath.Ext(m[1]) == ".go" {
			dirs = append(dirs, "./"+filepath.Dir(m[1]))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// redoChange rewrites a patch for the current checkout. It applies the patch to the
// latest commit that accepts it, and rebases the change onto the checkout, including
// moved files. If no commit accepts the patch, it is applied with one line of
// context. It fails with the hunks that must be redone by hand.
func redoChange(t *testing.T, repository, file string) {
	if _, err := gitIn(t, repository, "apply", "--check", file); err == nil {
		return
	}
	dir := t.TempDir()
	gitOut(t, dir, "clone", "-q", "--shared", "--no-checkout", repository, ".")
	identity := []string{"-c", "user.name=change", "-c", "user.email=change@localhost", "-c", "merge.renameLimit=9999"}
	commit := func() string {
		gitOut(t, dir, "add", "-A")
		gitOut(t, dir, append(slices.Clone(identity), "commit", "-q", "--allow-empty", "-m", "a state")...)
		return gitOut(t, dir, "rev-parse", "HEAD")
	}
	base := ""
	for _, candidate := range strings.Fields(gitOut(t, repository, "log", "-n", "300", "--format=%H")) {
		gitOut(t, dir, "read-tree", candidate)
		if _, err := gitIn(t, dir, "apply", "--cached", "--check", file); err == nil {
			base = candidate
			break
		}
	}
	change := ""
	if base != "" {
		gitOut(t, dir, "checkout", "-qf", "--detach", base)
		gitOut(t, dir, "apply", file)
		change = commit()
		gitOut(t, dir, "checkout", "-q", "--detach", base)
		gitOut(t, dir, "rm", "-rq", "--ignore-unmatch", ".")
	} else {
		gitOut(t, dir, "checkout", "-qf", "--orphan", "checkout", "HEAD")
		gitOut(t, dir, "rm", "-rqf", "--ignore-unmatch", ".")
	}
	copyCheckout(t, repository, dir)
	now := commit()
	if base != "" {
		if out, err := gitIn(t, dir, append(slices.Clone(identity), "cherry-pick", change)...); err != nil {
			conflicts, _ := gitIn(t, dir, "diff")
			t.Fatalf("%s: edit the parts between <<<<<<< and >>>>>>>, and the hunks of removed files, by hand:\n%s\n%s\n%s", file, out, conflicts,
				gitOut(t, dir, "show", "--format=", change))
		}
	} else {
		if out, err := gitIn(t, dir, "apply", "-C1", "--reject", file); err != nil {
			t.Fatalf("%s: redo the rejected hunks by hand:\n%s", file, out)
		}
		commit()
	}
	fresh, err := gitIn(t, dir, "diff", "--no-color", "--no-ext-diff", "--no-renames", "--unified=1", now, "HEAD")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, blobLine.ReplaceAll(fresh, nil), 0o644))
}

// copyCheckout copies the tracked and the untracked, not ignored files of a checkout.
func copyCheckout(t *testing.T, from, to string) {
	names, err := gitIn(t, from, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil { // an unpacked archive
		require.NoError(t, os.CopyFS(to, os.DirFS(from)))
		return
	}
	for name := range bytes.SplitSeq(bytes.TrimRight(names, "\x00"), []byte{0}) {
		source, target := filepath.Join(from, string(name)), filepath.Join(to, string(name))
		info, err := os.Lstat(source)
		if err != nil {
			continue // removed, but not committed
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(target), 0o755))
		if info.Mode()&os.ModeSymlink != 0 {
			link, err := os.Readlink(source)
			require.NoError(t, err)
			require.NoError(t, os.Symlink(link, target))
			continue
		}
		text, err := os.ReadFile(source)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(target, text, info.Mode().Perm()))
	}
}

// gitIn runs git in a directory, without the user's configuration.
func gitIn(t *testing.T, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C")
	return cmd.CombinedOutput()
}

func gitOut(t *testing.T, dir string, args ...string) string {
	out, err := gitIn(t, dir, args...)
	require.NoError(t, err, "git %q: %s", args, out)
	return strings.TrimSpace(string(out))
}
