package discovery

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// benchTree makes a tree of files of source-like text, one of which holds a
// needle: 20,000, or with FETTLE_FULL=1 100,000, of which a part is ignored.
func benchTree(b *testing.B) (top string, files int) {
	files = 20_000
	if os.Getenv("FETTLE_FULL") != "" {
		files = 100_000
	}
	top, err := filepath.EvalSymlinks(b.TempDir())
	require.NoError(b, err)
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("func return if err nil string int the value of context package import type struct interface for range select case")
	require.NoError(b, os.Mkdir(top+"/.git", 0o755))
	require.NoError(b, os.WriteFile(top+"/.gitignore", []byte("*.o\n*.log\nbuild/\n/dist\nnode_modules/\n!keep.log\ndocs/_build\n*.py[cod]\n"), 0o644))
	for i := range files {
		dir := fmt.Sprintf("%s/m%02d/p%02d/q%d", top, i/10_000, i/200%50, i/20%10)
		if i%20 == 0 {
			require.NoError(b, os.MkdirAll(dir, 0o755))
		}
		var text strings.Builder
		for range 60 {
			for range 6 {
				text.WriteString(words[r.IntN(len(words))] + " ")
			}
			text.WriteByte('\n')
		}
		if i == files*3/4+1 {
			text.WriteString("a rare_Needle here\n")
		}
		require.NoError(b, os.WriteFile(fmt.Sprintf("%s/file%d.%s", dir, i, []string{"go", "ts", "md", "log"}[i%4]), []byte(text.String()), 0o644))
	}
	return top, files
}

// floor runs ripgrep over the tree, as what the benchmarks beside it are
// compared with.
func floor(b *testing.B, top string, args ...string) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		b.Skip("ripgrep is not installed")
	}
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), rg, append([]string{"--no-config", "--hidden"}, args...)...)
		cmd.Dir = top
		out, err := cmd.Output()
		require.NoError(b, err)
		require.NotEmpty(b, out)
	}
}

func BenchmarkTree(b *testing.B) {
	top, files := benchTree(b)
	f, w := finderOver(b, top)
	start, err := w.Resolve(".")
	require.NoError(b, err)
	shownFiles := files*3/4 + 1 // no logs, and the ignore file
	b.Run("walk", func(b *testing.B) {
		for b.Loop() {
			n := 0
			_, err := f.Walk(b.Context(), Walk{Start: start, Depth: -1}, func(File) bool { n++; return true })
			require.NoError(b, err)
			require.Equal(b, shownFiles, n)
		}
	})
	b.Run("walk/rg", func(b *testing.B) { floor(b, top, "--files") })
	b.Run("glob", func(b *testing.B) {
		for b.Loop() {
			found, err := f.Find(b.Context(), Find{Pattern: "**/*.ts", Limit: files})
			require.NoError(b, err)
			require.Len(b, found.Files, files/4)
		}
	})
	b.Run("glob/rg", func(b *testing.B) { floor(b, top, "--files", "-g", "*.ts") })
	for name, fold := range map[string]bool{"search": false, "search-fold": true} {
		b.Run(name, func(b *testing.B) {
			p, err := CompilePattern("rare_Needle", false, fold)
			require.NoError(b, err)
			for b.Loop() {
				r, err := f.Search(b.Context(), Search{Pattern: p, Start: start})
				require.NoError(b, err)
				require.Equal(b, 1, r.Matches)
			}
		})
	}
	b.Run("search/rg", func(b *testing.B) { floor(b, top, "rare_Needle") })
	b.Run("search-fold/rg", func(b *testing.B) { floor(b, top, "-i", "rare_Needle") })
}
