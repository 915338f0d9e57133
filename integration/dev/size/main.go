// Command size counts the lines of code of core and cli for each package, and how many of them
// existed at an earlier commit: go run -C integration/dev ./size REV.
//
// A line of code contains a Go token. Comments, blank lines, files named _test.go and testdata do
// not count. A current line existed at REV if code of core or cli contained it at REV, without
// regard to white space. Each line of REV counts once, for the package that had it first. Moved
// code therefore counts as kept. A changed line counts as added, even if only a name in it changed.
// The column kept is the minimum that remains of the old code, and now is the current total.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
)

// tree holds the lines of code of each package, without surrounding white space.
type tree map[string][]string

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run -C integration/dev ./size REV")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run(rev string, out io.Writer) error {
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("find the checkout: %w", err)
	}
	root := strings.TrimSpace(string(top))
	then, err := load(root, rev)
	if err != nil {
		return err
	}
	now, err := load(root, "")
	if err != nil {
		return err
	}
	return report(out, then, now)
}

// report prints a row for each package and one for all.
func report(out io.Writer, then, now tree) error {
	kept := survivors(then, now)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "then\tnow\tkept\tadded\t package\t")
	var sum [3]int
	packages := slices.Collect(maps.Keys(then))
	for name := range now {
		if then[name] == nil {
			packages = append(packages, name)
		}
	}
	slices.Sort(packages)
	for _, name := range packages {
		counts := [3]int{len(then[name]), len(now[name]), kept[name]}
		for i, n := range counts {
			sum[i] += n
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t %s\t\n", counts[0], counts[1], counts[2], counts[1]-counts[2], name)
	}
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\t all\t\n", sum[0], sum[1], sum[2], sum[1]-sum[2])
	return w.Flush()
}

// survivors returns the number of lines of each package of now that are in then. A line of then
// counts once, first for its own package.
func survivors(then, now tree) map[string]int {
	left := map[string]map[string]int{} // by package, by line
	for name, lines := range then {
		left[name] = map[string]int{}
		for _, line := range lines {
			left[name][line]++
		}
	}
	kept, rest, spare := map[string]int{}, tree{}, map[string]int{}
	for name, lines := range now {
		for _, line := range lines {
			if left[name][line] > 0 {
				left[name][line]--
				kept[name]++
			} else {
				rest[name] = append(rest[name], line)
			}
		}
	}
	for _, lines := range left {
		for line, n := range lines {
			spare[line] += n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		for _, line := range rest[name] {
			if spare[line] > 0 {
				spare[line]--
				kept[name]++
			}
		}
	}
	return kept
}

// load reads the code of a revision, or of the checkout if rev is empty.
func load(root, rev string) (tree, error) {
	args := []string{"ls-files", "--cached", "--others", "--exclude-standard", "core", "cli"}
	if rev != "" {
		args = []string{"ls-tree", "-r", "--name-only", rev, "core", "cli"}
	}
	list := exec.Command("git", args...)
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", cmp.Or(rev, "the checkout"), err)
	}
	t := tree{}
	for name := range strings.Lines(string(names)) {
		name = strings.TrimSpace(name)
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/testdata/") {
			continue
		}
		source, err := read(root, rev, name)
		if os.IsNotExist(err) {
			continue // deleted, and not yet committed
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		t[path.Dir(name)] = append(t[path.Dir(name)], code(source)...)
	}
	return t, nil
}

func read(root, rev, name string) ([]byte, error) {
	if rev == "" {
		return os.ReadFile(path.Join(root, name))
	}
	show := exec.Command("git", "show", rev+":"+name)
	show.Dir = root
	return show.Output()
}

// code returns the lines of a source that contain a token, without surrounding white space. Each
// line of a raw string counts unless it is blank.
func code(source []byte) []string {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	held := map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue // not written in the source
		}
		first := file.Line(pos)
		for i := range strings.Count(text, "\n") + 1 {
			held[first+i] = true
		}
	}
	var lines []string
	in := bufio.NewScanner(bytes.NewReader(source))
	in.Buffer(nil, len(source)+1)
	for n := 1; in.Scan(); n++ {
		if line := strings.TrimSpace(in.Text()); held[n] && line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
