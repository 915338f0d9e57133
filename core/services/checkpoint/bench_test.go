package checkpoint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// benchProject creates a project of n different files of 4 kB, 100 in a directory.
func benchProject(b *testing.B, n int) (dir string, begin func(store string) *checkpoint.Recorder) {
	b.Helper()
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		directory := filepath.Join(dir, fmt.Sprint("d", i/100))
		if i%100 == 0 {
			if err := os.Mkdir(directory, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		text := fmt.Sprintf("package p%d\n", i) + strings.Repeat("// four thousand bytes or so\n", 140)
		if err := os.WriteFile(filepath.Join(directory, fmt.Sprint("f", i, ".go")), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	files, err := workspace.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = files.Close() })
	finder := discovery.New(files)
	return dir, func(store string) *checkpoint.Recorder {
		return checkpoint.New(checkpoint.Options{Dir: store}).Record(checkpoint.RecorderOptions{
			Session: "bench", Files: files, Finder: func() *discovery.Finder { return finder },
		})
	}
}

func benchCall(b *testing.B, r *checkpoint.Recorder, c checkpoint.Call, change func()) {
	taken, err := r.Begin(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	change()
	taken.End(b.Context())
}

// A call of a file tool that changes a file of 4 kB, without the change itself.
func BenchmarkFileTool(b *testing.B) {
	dir, begin := benchProject(b, 1)
	r := begin(b.TempDir())
	defer func() { _ = r.Close() }()
	path := filepath.Join(dir, "d0", "f0.go")
	n := 0
	for b.Loop() {
		benchCall(b, r, checkpoint.Call{Tool: "safe_patch", Paths: []string{path}}, func() {
			b.StopTimer()
			n++
			if err := os.WriteFile(path, []byte(strings.Repeat(fmt.Sprintln("line", n), 400)), 0o644); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		})
	}
}

// A command that changes nothing: the first of a project, the first of a later session, and any
// other.
func BenchmarkCommand(b *testing.B) {
	sizes := []int{5_000}
	if os.Getenv("FETTLE_FULL") != "" {
		sizes = append(sizes, 50_000) // creating them takes a minute
	}
	for _, n := range sizes {
		_, begin := benchProject(b, n)
		command := checkpoint.Call{Tool: "run_shell_command"}
		b.Run(fmt.Sprintf("first/%d", n), func(b *testing.B) {
			for b.Loop() {
				r := begin(b.TempDir())
				benchCall(b, r, command, func() {})
				_ = r.Close()
			}
		})
		store := b.TempDir()
		r := begin(store)
		benchCall(b, r, command, func() {})
		b.Run(fmt.Sprintf("next/%d", n), func(b *testing.B) {
			for b.Loop() {
				benchCall(b, r, command, func() {})
			}
		})
		_ = r.Close()
		b.Run(fmt.Sprintf("resumed/%d", n), func(b *testing.B) {
			for b.Loop() {
				r := begin(store)
				benchCall(b, r, command, func() {})
				_ = r.Close()
			}
		})
	}
}
