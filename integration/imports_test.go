package integration

import (
	"path"
	"slices"
	"strings"
	"testing"
)

var platforms = []string{"linux", "darwin", "windows"}

// importTable is the table of docs/architecture.md: for each package what it
// may import inside the module.
func importTable(t *testing.T) map[string][]string {
	t.Helper()
	may := map[string][]string{}
	for _, row := range table(t, readFile(t, "docs/architecture.md"), "package") {
		if len(row) != 3 {
			t.Fatalf("row %v of the import table has %d columns, not 3", row, len(row))
		}
		if _, twice := may[row[0]]; twice {
			t.Errorf("%s stands in the import table twice", row[0])
		}
		may[row[0]] = nil
		for _, p := range strings.Split(row[2], ",") {
			if p = strings.TrimSpace(p); p != "" && p != "nothing" {
				may[row[0]] = append(may[row[0]], p)
			}
		}
	}
	return may
}

// GO-06: imports only point to plainer packages, as the import table says;
// a package that is not in it has no layer yet and fails.
func TestImports(t *testing.T) {
	may := importTable(t)
	seen := map[string]bool{}
	for _, goos := range platforms {
		for _, p := range goList(t, goos, "./...") {
			name := p.name()
			seen[name] = true
			allowed, ok := may[name]
			if !ok {
				t.Errorf("%s: %s is missing from the import table of docs/architecture.md: give it a row that says what it may import", goos, name)
				continue
			}
			for _, imported := range p.Imports {
				inside, ok := strings.CutPrefix(imported, module+"/")
				if ok && !slices.ContainsFunc(allowed, func(a string) bool { return covers(a, inside) }) {
					t.Errorf("%s: %s imports %s; the import table allows it %v", goos, name, inside, allowed)
				}
			}
		}
	}
	for name, allowed := range may {
		if !seen[name] {
			t.Errorf("the import table has a row for %s, which does not exist", name)
		}
		for _, a := range allowed {
			if a != "anything" && !strings.Contains(a, "*") && !seen[a] {
				t.Errorf("the import table lets %s import %s, which does not exist", name, a)
			}
		}
	}
}

// covers reports whether an entry of the table allows an import: a package,
// dir/* for the packages right below dir, or "anything".
func covers(entry, imported string) bool {
	ok, err := path.Match(entry, imported)
	return entry == "anything" || err == nil && ok
}

// GO-06: the table itself may not let core depend on cli, nor a plain package
// on core/config.
func TestImportsTableIsLayered(t *testing.T) {
	for name, allowed := range importTable(t) {
		if !strings.HasPrefix(name, "core/") {
			continue
		}
		for _, a := range allowed {
			if a == "anything" || strings.HasPrefix(a, "cli") || strings.HasPrefix(a, "integration") {
				t.Errorf("the import table lets %s import %s: core stands on core alone", name, a)
			}
			if a == "core/config" && name != "core/standard" && name != "core/config/configtest" {
				t.Errorf("the import table lets %s import core/config, which knows everybody", name)
			}
		}
	}
}

// GO-06: tests too may not turn the layers round: nothing in core, its tests
// included, needs the program.
func TestImportsOfTests(t *testing.T) {
	for _, p := range goList(t, "linux", "./core/...") {
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if inside, ok := strings.CutPrefix(imported, module+"/"); ok && !strings.HasPrefix(inside, "core/") {
				t.Errorf("a test of %s imports %s", p.name(), inside)
			}
		}
	}
}

// Whoever imports a package pays for all that it links. These stay light.
func TestLinks(t *testing.T) {
	models := []string{"google.golang.org/genai", "github.com/anthropics/", "github.com/sashabaranov/", "github.com/openai/"}
	protocols := []string{"github.com/modelcontextprotocol/", "github.com/a2aproject/", "google.golang.org/grpc"}
	terminals := []string{"charm.land/", "github.com/charmbracelet/", "github.com/alecthomas/chroma", "github.com/spf13/cobra", "golang.org/x/term"}
	tests := []string{"testing", "github.com/stretchr/testify", "github.com/rogpeppe/go-internal"}
	heavy := []string{"google.golang.org/grpc", "charm.land/glamour", "github.com/charmbracelet/glamour", "github.com/alecthomas/chroma"}
	for pkg, without := range map[string][]string{
		"./core/tools":  slices.Concat(models, protocols, terminals, tests),
		"./core/config": slices.Concat(models, protocols, terminals, tests),
		"./cli/fettle":  slices.Concat(heavy, tests),
	} {
		deps := goList(t, "linux", "-deps", pkg)
		if len(deps) < 10 {
			t.Errorf("%s links only %d packages: the listing is wrong", pkg, len(deps))
		}
		for _, dep := range deps {
			for _, w := range without {
				if dep.ImportPath == strings.TrimSuffix(w, "/") || strings.HasPrefix(dep.ImportPath, strings.TrimSuffix(w, "/")+"/") {
					t.Errorf("%s links %s", pkg, dep.ImportPath)
				}
			}
		}
	}
}
