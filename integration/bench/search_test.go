package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/search"
)

// searchTree makes a repository of 5,000 files, with FETTLE_FULL=1 100,000, of
// 3 KB of source-like text each: a quarter of them is ignored, one of the
// others holds a needle.
func searchTree(b *testing.B) (top string, files int) {
	b.Helper()
	files = 5_000
	if os.Getenv("FETTLE_FULL") != "" {
		files = 100_000
	}
	top, err := filepath.EvalSymlinks(b.TempDir())
	require.NoError(b, err)
	random := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("func return if err nil string int the value of context package import type struct interface for range select case 2024 Reader")
	require.NoError(b, os.Mkdir(filepath.Join(top, ".git"), 0o755))
	require.NoError(b, os.WriteFile(filepath.Join(top, ".gitignore"), []byte("*.log\nbuild/\n/dist\nnode_modules/\n!keep.log\ndocs/_build\n*.py[cod]\n"), 0o644))
	for i := range files {
		dir := filepath.Join(top, fmt.Sprintf("m%02d/p%02d/q%d", i/10_000, i/200%50, i/20%10))
		if i%20 == 0 {
			require.NoError(b, os.MkdirAll(dir, 0o755))
		}
		var text strings.Builder
		for line := range 90 {
			for range 6 {
				text.WriteString(words[random.IntN(len(words))] + " ")
			}
			if i == files/2+1 && line == 50 {
				text.WriteString("a rare_Needle here")
			}
			text.WriteByte('\n')
		}
		name := fmt.Sprintf("file%d.%s", i, []string{"go", "ts", "md", "log"}[i%4])
		require.NoError(b, os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o644))
	}
	return top, files
}

// ripgrep returns a func that runs rg in a folder and counts the lines that it
// prints. The benchmark is skipped without it.
func ripgrep(b *testing.B, top string, args ...string) func() int {
	b.Helper()
	rg, err := exec.LookPath("rg")
	if err != nil {
		b.Skip("ripgrep is not installed")
	}
	return func() int {
		cmd := exec.CommandContext(b.Context(), rg, append([]string{"--no-config", "--hidden", "-g", "!.git"}, args...)...)
		cmd.Dir = top
		out, err := cmd.Output()
		if len(out) > 0 { // else 1 says that nothing was found
			require.NoError(b, err)
		}
		return strings.Count(string(out), "\n")
	}
}

func finder(b *testing.B, top string) (f *discovery.Finder, start workspace.Path) {
	b.Helper()
	files, err := workspace.Open(top)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, files.Close()) })
	start, err = files.Resolve(".")
	require.NoError(b, err)
	return discovery.New(files).With(discovery.Options{MaxFiles: 1 << 30}), start
}

// searches are looked for in the trees of BenchmarkSearch and
// BenchmarkSearchSource.
var searches = []struct {
	name, pattern string
	fold          bool
}{
	{"rare literal", "rare_Needle", false},
	{"rare literal, any case", "rare_Needle", true},
	{"common literal", "return", false},
	{"common literal, any case", "return", true},
	{"expression with a literal", `func \w+Reader\(`, false},
	{"expression without one", `[0-9]{4}-[0-9]{2}|[A-Z]{12}`, false},
	{"alternatives", "foo|bar|baz|quux", false},
}

func benchSearches(b *testing.B, top string) {
	f, start := finder(b, top)
	for _, tt := range searches {
		b.Run(tt.name, func(b *testing.B) {
			args := []string{"-n", "--no-heading", "-e", tt.pattern}
			if tt.fold {
				args = append(args, "-i")
			}
			var want, got int
			rg := ripgrep(b, top, args...)
			p, err := discovery.CompilePattern(tt.pattern, false, tt.fold)
			require.NoError(b, err)
			beside(b, func() { want = rg() }, func() {
				r, err := f.Search(b.Context(), discovery.Search{Pattern: p, Start: start, MaxBytes: 1 << 30})
				require.NoError(b, err)
				got = r.Matches
			})
			require.InDelta(b, want, got, 5, "ripgrep leaves out what follows a NUL byte")
		})
	}
}

// Budget: 1.5 × ripgrep for a rare literal.
func BenchmarkSearch(b *testing.B) {
	top, _ := searchTree(b)
	benchSearches(b, top)
}

// The same in a real tree, the source of Go.
func BenchmarkSearchSource(b *testing.B) {
	root, err := exec.CommandContext(b.Context(), "go", "env", "GOROOT").Output()
	require.NoError(b, err)
	top, err := filepath.EvalSymlinks(filepath.Join(strings.TrimSpace(string(root)), "src"))
	if err != nil {
		b.Skip("the source of Go is not there")
	}
	benchSearches(b, top)
}

// Budget: 1.2 × `rg --files`.
func BenchmarkWalk(b *testing.B) {
	top, files := searchTree(b)
	f, start := finder(b, top)
	b.Run("walk", func(b *testing.B) {
		rg := ripgrep(b, top, "--files")
		beside(b, func() { require.Equal(b, files*3/4+1, rg()) }, func() {
			n := 0
			_, err := f.Walk(b.Context(), discovery.Walk{Start: start, Depth: -1}, func(discovery.File) bool { n++; return true })
			require.NoError(b, err)
			require.Equal(b, files*3/4+1, n)
		})
	})
	b.Run("glob", func(b *testing.B) {
		rg := ripgrep(b, top, "--files", "-g", "*.ts")
		beside(b, func() { require.Equal(b, files/4, rg()) }, func() {
			found, err := f.Find(b.Context(), discovery.Find{Pattern: "**/*.ts", Dir: start, Limit: files})
			require.NoError(b, err)
			require.Len(b, found.Files, files/4)
		})
	})
}

// everything may be shown.
type everything struct{}

func (everything) MayShow(workspace.Path) bool { return true }

// searchCalls are the calls that BenchmarkSearchMemory measures.
var searchCalls = map[string]struct {
	tool string
	args map[string]any
}{
	"nothing":        {"", nil},
	"rare literal":   {search.SearchFileContent, map[string]any{"pattern": "rare_Needle"}},
	"common literal": {search.SearchFileContent, map[string]any{"pattern": "return"}},
	"names only":     {search.SearchFileContent, map[string]any{"pattern": "return", "names_only": true, "total_max_matches": 1 << 20}},
	"expression":     {search.SearchFileContent, map[string]any{"pattern": `\w+_\w+ {3}here`}},
	"glob":           {search.Glob, map[string]any{"pattern": "**/*.ts"}},
}

// searchOnce makes one of searchCalls, as a process of its own.
func searchOnce(ctx context.Context, top, name string) error {
	call := searchCalls[name]
	if call.tool == "" {
		return nil
	}
	files, err := workspace.Open(top)
	if err != nil {
		return err
	}
	all, err := search.Factories()
	if err != nil {
		return err
	}
	for _, f := range all {
		if f.Spec().Name != call.tool {
			continue
		}
		args, err := json.Marshal(call.args)
		if err != nil {
			return err
		}
		tool := f.Bind(search.Services{Paths: files, Finder: discovery.New(files), Visible: everything{}})
		invocation, err := tool.Build(args)
		if err != nil {
			return err
		}
		result, err := invocation.Execute(ctx, nil)
		if err != nil {
			return err
		}
		return asError(result)
	}
	return fmt.Errorf("no tool %s", call.tool)
}

func asError(r tools.Result) error {
	if r.Error != nil {
		return r.Error
	}
	return nil
}
