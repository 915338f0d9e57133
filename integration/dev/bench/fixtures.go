package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// source returns n bytes of lines that resemble a program.
func source(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "\tif err := step%d(ctx, \"name\"); err != nil { // <%d>\n", i, i)
	}
	return b.String()[:n]
}

// readSizes are the sizes of the files of the cases read/NAME.
func readSizes() []struct {
	Name, Title string
	Bytes       int
} {
	return []struct {
		Name, Title string
		Bytes       int
	}{{"1kb", "1 KB", 1 << 10}, {"100kb", "100 KB", 100 << 10}, {"1mb", "1 MB", 1 << 20}}
}

// lineCounts are the sizes of the texts of the cases patch/N-lines,
// edit/N-lines and write/N-lines.
func lineCounts() []int { return []int{200, 5_000, 50_000} }

// Change is a text with ten changes spread over it, and the diffs in both directions, forward (0)
// and back (1), as git writes them. A contestant applies them alternately, so that the file is
// unchanged after every second turn.
type Change struct {
	Texts [2]string
	Diffs [2]string
	// Lines are the first changed line, as it is in each of Texts, with its line feed, for tools
	// that replace one string. Singles are the texts before and after that change alone.
	Lines   [2]string
	Singles [2]string
}

// changeOf returns the Change of a text of n lines. The diffs are of a file named "f".
func changeOf(n int) Change {
	olds := make([]string, n)
	for i := range olds {
		olds[i] = fmt.Sprintf("\tline %06d of the file, with some text\n", i)
		if i%7 == 0 {
			olds[i] = "}\n"
		}
	}
	news := append([]string(nil), olds...)
	around := min(10, n/20-2) // hunks must not overlap
	var diffs [2]strings.Builder
	for b := range diffs {
		diffs[b].WriteString("--- a/f\n+++ b/f\n")
	}
	var c Change
	for k := range 10 {
		at := n/20 + k*(n/10) + 1
		if at%7 == 0 {
			at++
		}
		now := fmt.Sprintf("\tline %06d, changed\n", at)
		for b, change := range [2][2]string{{olds[at], now}, {now, olds[at]}} {
			d := &diffs[b]
			fmt.Fprintf(d, "@@ -%d,%d +%d,%d @@\n", at-around+1, 2*around+1, at-around+1, 2*around+1)
			for i := at - around; i < at; i++ {
				d.WriteString(" " + olds[i])
			}
			d.WriteString("-" + change[0] + "+" + change[1])
			for i := at + 1; i <= at+around; i++ {
				d.WriteString(" " + olds[i])
			}
		}
		news[at] = now
		if k == 0 {
			c.Lines = [2]string{olds[at], now}
			c.Singles[1] = strings.Join(news, "")
		}
	}
	c.Texts = [2]string{strings.Join(olds, ""), strings.Join(news, "")}
	c.Singles[0] = c.Texts[0]
	c.Diffs = [2]string{diffs[0].String(), diffs[1].String()}
	return c
}

// Tree is a directory to search in.
type Tree struct {
	Top string // absolute, links resolved
	// Files is the number of files that no ignore rule excludes, including .gitignore; 0: unknown.
	Files int
}

// Generated returns a repository of 5,000 files, or 100,000 with -full, of 3 KB of source-like text
// each. A quarter of them is ignored; one of the others contains rare_Needle. It is the same in
// every run.
func (l *Lab) Generated(ctx context.Context) (Tree, error) {
	return Shared(ctx, l, "generated tree", func(ctx context.Context) (Tree, func() error, error) {
		files := l.Size(400, 5_000, 100_000)
		l.Note("generating %d files", files)
		top, err := l.TempDir("tree")
		if err != nil {
			return Tree{}, nil, err
		}
		return Tree{Top: top, Files: files*3/4 + 1}, nil, generate(ctx, top, files)
	})
}

func generate(ctx context.Context, top string, files int) error {
	random := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("func return if err nil string int the value of context package import type struct interface for range select case 2024 Reader")
	if err := os.Mkdir(filepath.Join(top, ".git"), 0o755); err != nil {
		return err
	}
	const ignored = "*.log\nbuild/\n/dist\nnode_modules/\n!keep.log\ndocs/_build\n*.py[cod]\n"
	if err := os.WriteFile(filepath.Join(top, ".gitignore"), []byte(ignored), 0o644); err != nil {
		return err
	}
	for i := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		dir := filepath.Join(top, fmt.Sprintf("m%02d/p%02d/q%d", i/10_000, i/200%50, i/20%10))
		if i%20 == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
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
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// GoSource returns the source tree of Go's standard library, which every Go installation has.
func (l *Lab) GoSource(ctx context.Context) (Tree, error) {
	return Shared(ctx, l, "source of Go", func(ctx context.Context) (Tree, func() error, error) {
		root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
		if err != nil {
			return Tree{}, nil, absent("go env GOROOT: %v", err)
		}
		part := "src"
		if l.Quick {
			part = "src/encoding"
		}
		top, err := filepath.EvalSymlinks(filepath.Join(strings.TrimSpace(string(root)), filepath.FromSlash(part)))
		if err != nil {
			return Tree{}, nil, absent("the source of Go is not installed")
		}
		return Tree{Top: top}, nil, nil
	})
}
