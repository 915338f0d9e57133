package integration

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// GO-11: Go code on a page is compiled and run. A comment <!-- code: FILE NAME -->
// precedes each ```go block, which equals the part of that file between the lines "//
// code: NAME" and "// code: end".
func TestDocsCodeIsCompiled(t *testing.T) {
	t.Parallel()
	for _, b := range allBlocks(t) {
		file, name, _ := strings.Cut(b.rest, " ")
		if b.how != "code" || name == "" {
			continue // TestDocsBlocksAreChecked reports it
		}
		if want := region(t, file, name) + "\n"; b.text != want {
			t.Errorf("%s differs from %s, %s; the page should have\n%s", b, file, name, want)
		}
	}
}

// Links between the pages are valid: the file exists, and so does the heading.
func TestDocsLinksLead(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^):\s]+)\)`) // a colon marks an external link
	found := 0
	headings := map[string]map[string]bool{} // by page
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(readFile(t, page), -1) {
			found++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = path.Join(path.Dir(page), file)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
				continue
			}
			if anchor == "" {
				continue
			}
			if headings[target] == nil {
				headings[target] = anchors(readFile(t, target))
			}
			if !headings[target][anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", page, m[1], target)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d links were found", found)
	}
}

// anchors returns the anchors of a page's headings, in the form that repository hosts
// generate.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	dropped := regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if heading := strings.TrimLeft(line, "#"); !fenced && heading != line && strings.HasPrefix(heading, " ") {
			name := dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			all[strings.ReplaceAll(name, " ", "-")] = true
		}
	}
	return all
}

// region returns a named part of a file, without its common indentation.
func region(t *testing.T, file, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(readFile(t, file), "// code: "+name+"\n")
	if !ok {
		t.Fatalf("%s has no line // code: %s", file, name)
	}
	body, _, ok := strings.Cut(rest, "// code: end")
	if !ok {
		t.Fatalf("%s has no // code: end after // code: %s", file, name)
	}
	lines := strings.Split(strings.TrimRight(body, "\t\n"), "\n")
	indent := len(lines[0]) - len(strings.TrimLeft(lines[0], "\t"))
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, strings.Repeat("\t", indent))
	}
	return strings.Join(lines, "\n")
}

// The reading path: each page ends with a link to the next, and the index and
// README.md list all of them in order.
func TestDocsPath(t *testing.T) {
	t.Parallel()
	way := []string{"adding-a-tool.md", "embedding.md", "policy.md", "safety-model.md", "architecture.md"}
	for i, page := range way[:len(way)-1] {
		lines := strings.Split(strings.TrimSpace(readFile(t, "docs/"+page)), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "Next: ") || !strings.Contains(last, "]("+way[i+1]+")") {
			t.Errorf("docs/%s must end with \"Next:\" and a link to %s", page, way[i+1])
		}
	}
	for page, prefix := range map[string]string{"README.md": "](docs/", "docs/README.md": "]("} {
		_, rest, _ := strings.Cut(readFile(t, page), map[string]string{"README.md": "## Start here", "docs/README.md": "## The path"}[page])
		for _, step := range way[:len(way)-1] {
			var found bool
			if _, rest, found = strings.Cut(rest, prefix+step+")"); !found {
				t.Errorf("the path of %s does not list %s in its order", page, step)
			}
		}
	}
}

// The index lists every page.
func TestDocsIndex(t *testing.T) {
	t.Parallel()
	index := readFile(t, "docs/README.md")
	for _, page := range pages(t) {
		name, ok := strings.CutPrefix(page, "docs/")
		if ok && !strings.HasPrefix(name, "tools/") && name != "README.md" && !strings.Contains(index, "]("+name) {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}
