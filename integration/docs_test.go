package integration

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// GO-11: Go code on a page is code that is compiled and run. Each ```go block
// is preceded by a comment <!-- code: FILE NAME -->, and equals what stands
// in that file between the lines "// code: NAME" and "// code: end".
func TestDocsCodeIsCompiled(t *testing.T) {
	header := regexp.MustCompile(`^<!-- code: (\S+) (\S+) -->$`)
	blocks := 0
	for _, page := range pages(t) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(string(data), "\n```go\n")
		for i, part := range parts[1:] {
			blocks++
			code, _, _ := strings.Cut(part, "\n```")
			before := strings.Split(strings.TrimSpace(parts[i]), "\n")
			m := header.FindStringSubmatch(before[len(before)-1])
			if m == nil {
				t.Errorf("%s: a block of Go has no comment that says where it is compiled:\n%s", page, code)
				continue
			}
			if want := region(t, m[1], m[2]); code != want {
				t.Errorf("%s differs from %s, %s; the page should have\n%s", page, m[1], m[2], want)
			}
		}
	}
	if blocks < 3 {
		t.Errorf("only %d blocks of Go were found", blocks)
	}
}

// Links between the pages lead somewhere.
func TestDocsLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^):#]+)\)`) // what has a colon leads out of the repository
	found := 0
	for _, page := range pages(t) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			found++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d links were found", found)
	}
}

// pages lists every page of the repository's documentation.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// region returns the named part of a file, its common indentation taken off.
func region(t *testing.T, file, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(readFile(t, file), "// code: "+name+"\n")
	if !ok {
		t.Fatalf("%s has no line // code: %s", file, name)
	}
	body, _, ok := strings.Cut(rest, "// code: end")
	if !ok {
		t.Fatalf("%s does not end // code: %s", file, name)
	}
	lines := strings.Split(strings.TrimRight(body, "\t\n"), "\n")
	indent := len(lines[0]) - len(strings.TrimLeft(lines[0], "\t"))
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, strings.Repeat("\t", indent))
	}
	return strings.Join(lines, "\n")
}
