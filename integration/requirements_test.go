package integration

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const catalogue = "docs/requirements.md"

var requirementID = regexp.MustCompile(`\b[A-Z]{2}-[0-9]{2}\b`)

// HO-02: tests cite requirements by their IDs. Each cited ID has a row of the
// catalogue, each row that is not planned is cited by a test, and nothing else cites
// one: other code and other pages state the reason.
func TestRequirements(t *testing.T) {
	t.Parallel()
	planned := requirementRows(t)
	cited := map[string]bool{}
	for _, name := range repositoryFiles(t) {
		if name == catalogue || name == "CHANGELOG.md" {
			continue
		}
		test := strings.HasSuffix(name, "_test.go") || path.Ext(name) == ".txtar" || strings.Contains(name, "testdata/")
		if !test && path.Ext(name) != ".go" && path.Ext(name) != ".md" && path.Ext(name) != ".json" {
			continue
		}
		for i, line := range strings.Split(readFile(t, name), "\n") {
			for _, id := range requirementID.FindAllString(line, -1) {
				if _, known := planned[id]; !known {
					t.Errorf("%s:%d cites %s, which has no row in %s", name, i+1, id, catalogue)
				}
				if !test {
					t.Errorf("%s:%d cites %s: state the reason instead, and cite the ID in the test", name, i+1, id)
				}
				cited[id] = cited[id] || test
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(planned)) {
		if !planned[id] && !cited[id] {
			t.Errorf("no test cites %s: add it to the comment of the test that proves it, or mark the row planned", id)
		}
	}
}

// requirementRows reads the catalogue: its IDs, and whether each is planned.
func requirementRows(t *testing.T) map[string]bool {
	t.Helper()
	const most = 25 // words
	row := regexp.MustCompile(`^\| (\S+) \| ([^|]+) \| (?:(planned) )?\|$`)
	planned := map[string]bool{}
	for i, line := range strings.Split(readFile(t, catalogue), "\n") {
		if !strings.HasPrefix(line, "| ") || line == "| ID | requirement | status |" {
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil || !requirementID.MatchString(m[1]) {
			t.Errorf("%s:%d is not a row of ID, requirement and status: %s", catalogue, i+1, line)
			continue
		}
		if _, twice := planned[m[1]]; twice {
			t.Errorf("%s:%d is the second row of %s", catalogue, i+1, m[1])
		}
		if n := len(strings.Fields(m[2])); n > most {
			t.Errorf("%s:%d has %d words; at most %d", catalogue, i+1, n, most)
		}
		planned[m[1]] = m[3] != ""
	}
	if len(planned) < 400 {
		t.Fatalf("%s has %d rows", catalogue, len(planned))
	}
	return planned
}

// repositoryFiles lists the files of the repository by their paths below the root,
// without hidden directories and installed npm packages.
func repositoryFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.Type().IsRegular():
			files = append(files, name)
		}
		return nil
	})
	if err != nil || len(files) < 1000 {
		t.Fatalf("%d files were found: %v", len(files), err)
	}
	return files
}
