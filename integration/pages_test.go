package integration

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// block is one fenced block of a page, with the preceding comment that determines its check.
// CONTRIBUTING.md lists those comments for writers.
type block struct {
	page string // below the root of the repository
	line int    // of the fence, 1-based
	lang string // the language of the fence
	text string // with the final line feed
	how  string // how it is checked: one of the keys of conventions, "" for none
	rest string // the argument of the comment
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// conventions are the comments that may precede a block, and the form of their
// arguments.
var conventions = map[string]*regexp.Regexp{
	"code":      regexp.MustCompile(`^\S+ \S+$`),        // FILE NAME: Go code in a file that is compiled
	"run":       regexp.MustCompile(`^[a-z0-9-]+$`),     // CASE: bash runs it
	"output":    regexp.MustCompile(`^[a-z0-9-]+$`),     // CASE: the output of the previous block of the case
	"file":      regexp.MustCompile(`^[a-z0-9-]+ \S+$`), // CASE PATH: a file in the directory of the case
	"names":     regexp.MustCompile(`^$`),               // too long to run: all names in it exist
	"generated": regexp.MustCompile(`^.+$`),             // COMMAND: a test compares it with the output of that command
	"not run":   regexp.MustCompile(`^[^.]{10,}\.?$`),   // REASON: it cannot be run here
}

// conventionsHelp is the message for a block without a comment.
const conventionsHelp = "put one of <!-- run: CASE -->, <!-- output: CASE -->, <!-- file: CASE PATH -->, <!-- names -->, <!-- code: FILE NAME --> or " +
	"<!-- not run: REASON --> on the line before it; CONTRIBUTING.md explains each"

var directive = regexp.MustCompile(`^<!-- (code|run|output|file|names|generated|not run)(?:: (.*?))? -->$`)

// blocksOf parses a page. A fence that is not closed, or is indented, fails the test.
func blocksOf(t *testing.T, page string) []block {
	t.Helper()
	var found []block
	var open *block
	before := "" // the last line that is not blank
	for i, line := range strings.Split(readFile(t, page), "\n") {
		trimmed := strings.TrimSpace(line)
		lang, isFence := strings.CutPrefix(trimmed, "```")
		switch {
		case isFence && strings.HasPrefix(line, " "):
			t.Errorf("%s:%d: no test checks an indented block", page, i+1)
		case isFence && open == nil:
			open = &block{page: page, line: i + 1, lang: lang}
			if m := directive.FindStringSubmatch(before); m != nil {
				open.how, open.rest = m[1], m[2]
			}
		case isFence:
			found = append(found, *open)
			open, before = nil, ""
		case open != nil:
			open.text += line + "\n"
		case trimmed != "":
			before = trimmed
		}
	}
	if open != nil {
		t.Errorf("%s: the block is not closed", open)
	}
	return found
}

// allBlocks returns the blocks of every page.
func allBlocks(t *testing.T) []block {
	t.Helper()
	var all []block
	for _, page := range pages(t) {
		all = append(all, blocksOf(t, page)...)
	}
	return all
}

// GO-11: every command, file, output and code block of a page is checked.
func TestDocsBlocksAreChecked(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for _, b := range allBlocks(t) {
		if b.lang == "mermaid" && b.how != "generated" {
			checkDiagram(t, b)
			continue
		}
		form, ok := conventions[b.how]
		switch {
		case !ok:
			t.Errorf("%s: no test checks this block: %s", b, conventionsHelp)
		case !form.MatchString(b.rest):
			t.Errorf("%s: the comment %q of the block is incomplete: %s", b, b.how+": "+b.rest, conventionsHelp)
		case (b.how == "code") != (b.lang == "go"):
			t.Errorf("%s: Go blocks, and no others, have the comment <!-- code: FILE NAME -->", b)
		case (b.how == "run" || b.how == "names") && b.lang != "sh":
			t.Errorf("%s: only a block of sh can run, not one of %q", b, b.lang)
		}
		count[b.how]++
	}
	for _, how := range []string{"code", "run", "output", "file", "names"} {
		if count[how] < 3 {
			t.Errorf("only %d blocks of the kind %s were found", count[how], how)
		}
	}
}

// checkDiagram finds errors that prevent rendering: an unknown kind of diagram,
// unbalanced brackets, and links without an end.
func checkDiagram(t *testing.T, b block) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(b.text), "\n")
	if kind, _, _ := strings.Cut(lines[0], " "); !slices.Contains([]string{"flowchart", "sequenceDiagram"}, kind) {
		t.Errorf("%s: %q is not a known kind of diagram", b, lines[0])
	}
	pairs := map[rune]rune{']': '[', ')': '(', '}': '{'}
	for i, line := range lines[1:] {
		var open []rune
		for _, r := range line {
			if slices.Contains([]rune("[({"), r) {
				open = append(open, r)
			}
			if want, closes := pairs[r]; closes {
				if len(open) == 0 || open[len(open)-1] != want {
					t.Errorf("%s: line %d of the diagram closes %q, which is not open: %s", b, i+2, want, line)
					break
				}
				open = open[:len(open)-1]
			}
		}
		if len(open) > 0 {
			t.Errorf("%s: line %d of the diagram leaves %q open: %s", b, i+2, string(open), line)
		}
		if strings.HasSuffix(strings.TrimSpace(line), "-->") || strings.HasSuffix(strings.TrimSpace(line), "->>") {
			t.Errorf("%s: line %d of the diagram has no target: %s", b, i+2, line)
		}
	}
}

// pages lists every page of the documentation by its path below the root: those at
// the top, and all of docs.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	top, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range top {
		all = append(all, filepath.Base(path))
	}
	err = fs.WalkDir(os.DirFS(root), "docs", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".md") {
			all = append(all, path)
		}
		return err
	})
	if err != nil || len(all) < 30 {
		t.Fatalf("%d pages were found: %v", len(all), err)
	}
	return all
}
