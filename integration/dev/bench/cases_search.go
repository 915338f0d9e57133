package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// ripgrep is the name of its contestant, which budgets refer to.
const ripgrep = "ripgrep"

// SearchPattern is a pattern that is searched for in both trees.
type SearchPattern struct {
	Key, Title, Pattern string
	Fold                bool
}

// searchPatterns are the patterns of the cases search/TREE-KEY.
func searchPatterns(tree string) []SearchPattern {
	needle := "rare_Needle" // occurs once
	if tree == "go" {
		needle = "ascii85" // in about ten lines, in a part that quick runs have, too
	}
	return []SearchPattern{
		{"rare", "a rare literal", needle, false},
		{"rare-fold", "a rare literal, case-insensitive", needle, true},
		{"common", "a common literal", "return", false},
		{"common-fold", "a common literal, case-insensitive", "return", true},
		{"expression", "`func \\w+Reader\\(`", `func \w+Reader\(`, false},
		{"no-literal", "`[0-9]{4}-[0-9]{2}\\|[A-Z]{12}`", `[0-9]{4}-[0-9]{2}|[A-Z]{12}`, false},
		{"alternatives", "`foo\\|bar\\|baz\\|quux`", "foo|bar|baz|quux", false},
	}
}

func searchCases() []Case {
	var all []Case
	for _, tree := range []struct {
		key, title string
		get        func(*Lab, context.Context) (Tree, error)
	}{{"generated", "generated files", (*Lab).Generated}, {"go", "Go's source", (*Lab).GoSource}} {
		generated := tree.key == "generated"
		for _, p := range searchPatterns(tree.key) {
			c := Case{ID: "search/" + tree.key + "-" + p.Key, Title: tree.title + ": " + p.Title,
				Description: "All matching lines are found in the files that no ignore rule excludes; the files are in the page cache. " +
					"For fettle this is the finder below the tool, without formatted output; for gemini-cli-core it is the tool.",
				Contestants: []Contestant{{"fettle", Ours, searcher(tree.get, p)}}}
			if p.Key == "alternatives" {
				c.Budgets = []Budget{{Kind: Ratio, Most: 1.2, Against: ripgrep, Full: generated}}
			}
			if p.Key == "rare" {
				c.Contestants = append(c.Contestants, Contestant{"WalkDir, ReadFile, Contains", Floor, scanByHand(tree.get, p.Pattern)})
				if generated {
					c.Budgets = []Budget{{Kind: Ratio, Most: 1.5, Against: ripgrep, Full: true}}
				}
			}
			all = append(all, c)
		}
		walk := Case{ID: "search/" + tree.key + "-walk", Title: tree.title + ": a walk", Description: "Every file that no ignore rule excludes is listed.",
			Contestants: []Contestant{{"fettle", Ours, walker(tree.get)}, {"WalkDir", Floor, walkByHand(tree.get)}}}
		pattern := map[string]string{"generated": "**/*.ts", "go": "**/*_test.go"}[tree.key]
		glob := Case{ID: "search/" + tree.key + "-glob", Title: tree.title + ": a glob, `" + pattern + "`", Description: "Every file that matches a pattern is listed, newest first. For fettle this is the finder below the tool; for gemini-cli-core it is the tool.",
			Contestants: []Contestant{{"fettle", Ours, globber(tree.get, pattern)}}}
		if generated {
			walk.Budgets = []Budget{{Kind: Ratio, Most: 1.2, Against: ripgrep, Full: true}}
			glob.Budgets = []Budget{{Kind: Ratio, Most: 1.2, Against: ripgrep, Full: true}}
		}
		all = append(all, walk, glob)
	}
	return all
}

// finding prepares a call of a finder in a tree.
func finding(get func(*Lab, context.Context) (Tree, error), find func(ctx context.Context, f *discovery.Finder, start workspace.Path, tree Tree) error) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		tree, err := get(lab, ctx)
		if err != nil {
			return nil, err
		}
		files, err := workspace.Open(tree.Top)
		if err != nil {
			return nil, err
		}
		start, err := files.Resolve(".")
		if err != nil {
			return nil, errors.Join(err, files.Close())
		}
		f := discovery.New(files).With(discovery.Options{MaxFiles: 1 << 30})
		return &Prepared{InProcess: true, Close: files.Close, Run: timed(func(ctx context.Context) error { return find(ctx, f, start, tree) })}, nil
	}
}

func searcher(get func(*Lab, context.Context) (Tree, error), p SearchPattern) func(context.Context, *Lab) (*Prepared, error) {
	return finding(get, func(ctx context.Context, f *discovery.Finder, start workspace.Path, tree Tree) error {
		pattern, err := discovery.CompilePattern(p.Pattern, false, p.Fold)
		if err != nil {
			return err
		}
		r, err := f.Search(ctx, discovery.Search{Pattern: pattern, Start: start, MaxBytes: 1 << 30})
		if err == nil && tree.Files > 0 && p.Key == "rare" && r.Matches != 1 {
			err = fmt.Errorf("%d matches of the needle", r.Matches)
		}
		return err
	})
}

func walker(get func(*Lab, context.Context) (Tree, error)) func(context.Context, *Lab) (*Prepared, error) {
	return finding(get, func(ctx context.Context, f *discovery.Finder, start workspace.Path, tree Tree) error {
		n := 0
		_, err := f.Walk(ctx, discovery.Walk{Start: start, Depth: -1}, func(discovery.File) bool { n++; return true })
		if err == nil && (n == 0 || tree.Files > 0 && n != tree.Files) {
			err = fmt.Errorf("the walk listed %d files", n)
		}
		return err
	})
}

func globber(get func(*Lab, context.Context) (Tree, error), pattern string) func(context.Context, *Lab) (*Prepared, error) {
	return finding(get, func(ctx context.Context, f *discovery.Finder, start workspace.Path, tree Tree) error {
		found, err := f.Find(ctx, discovery.Find{Pattern: pattern, Dir: start, Limit: 1 << 30})
		if err == nil && (len(found.Files) == 0 || tree.Files > 0 && len(found.Files) != tree.Files/3) {
			err = fmt.Errorf("the glob listed %d files", len(found.Files))
		}
		return err
	})
}

// walkByHand lists all files, including ignored ones.
func walkByHand(get func(*Lab, context.Context) (Tree, error)) func(context.Context, *Lab) (*Prepared, error) {
	return overTree(get, func(string) error { return nil })
}

// scanByHand searches for a literal in all files, including ignored ones.
func scanByHand(get func(*Lab, context.Context) (Tree, error), literal string) func(context.Context, *Lab) (*Prepared, error) {
	return overTree(get, func(path string) error {
		data, err := os.ReadFile(path)
		_ = bytes.Contains(data, []byte(literal))
		return err
	})
}

func overTree(get func(*Lab, context.Context) (Tree, error), each func(path string) error) func(context.Context, *Lab) (*Prepared, error) {
	return func(ctx context.Context, lab *Lab) (*Prepared, error) {
		tree, err := get(lab, ctx)
		if err != nil {
			return nil, err
		}
		return &Prepared{InProcess: true, Run: timed(func(ctx context.Context) error {
			return filepath.WalkDir(tree.Top, func(path string, e fs.DirEntry, err error) error {
				switch {
				case err != nil:
					return err
				case e.IsDir():
					if strings.HasSuffix(path, string(filepath.Separator)+".git") {
						return filepath.SkipDir
					}
					return ctx.Err()
				case e.Type().IsRegular():
					return each(path)
				}
				return nil
			})
		})}, nil
	}
}
