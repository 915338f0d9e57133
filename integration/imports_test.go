package integration

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var platforms = []string{"linux", "darwin", "windows"}

// importTable returns the table of docs/architecture.md: the allowed imports of each
// package inside the module.
func importTable(t *testing.T) map[string][]string {
	t.Helper()
	may := map[string][]string{}
	for _, row := range table(t, readFile(t, "docs/architecture.md"), "package") {
		if len(row) != 3 {
			t.Fatalf("row %v of the import table has %d columns, not 3", row, len(row))
		}
		if _, twice := may[row[0]]; twice {
			t.Errorf("%s has two rows in the import table", row[0])
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

// GO-06: imports point only to lower layers, as the import table says; a package
// without a row fails.
func TestImports(t *testing.T) {
	t.Parallel()
	may := importTable(t)
	seen := map[string]bool{}
	for _, goos := range platforms {
		for _, p := range goList(t, goos, "./...") {
			name := p.name()
			seen[name] = true
			allowed, ok := may[name]
			if !ok {
				t.Errorf("%s: %s is missing from the import table of docs/architecture.md: add a row with its allowed imports", goos, name)
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

// covers reports whether an entry of the table allows an import: a package, dir/* for
// the packages directly below dir, or "anything".
func covers(entry, imported string) bool {
	ok, err := path.Match(entry, imported)
	return entry == "anything" || err == nil && ok
}

// GO-06: the table itself may not let core depend on cli, or a lower package on
// core/config.
func TestImportsTableIsLayered(t *testing.T) {
	t.Parallel()
	for name, allowed := range importTable(t) {
		if !strings.HasPrefix(name, "core/") {
			continue
		}
		for _, a := range allowed {
			if a == "anything" || strings.HasPrefix(a, "cli") || strings.HasPrefix(a, "integration") {
				t.Errorf("the import table lets %s import %s: core may import core only", name, a)
			}
			if a == "core/config" && name != "core/standard" && name != "core/standard/servers" && name != "core/config/configtest" {
				t.Errorf("the import table lets %s import core/config, which imports all of core", name)
			}
		}
	}
}

// HO-03: a package below the internal directory of core/config does not import
// core/config, tests included. The import table lists its allowed imports one by one.
func TestRooms(t *testing.T) {
	t.Parallel()
	const house = "core/config"
	may, packages := importTable(t), 0
	for _, p := range goList(t, "linux", "./"+house+"/internal/...") {
		packages++
		if slices.Contains(slices.Concat(p.Imports, p.TestImports, p.XTestImports), module+"/"+house) {
			t.Errorf("the package %s imports %s", p.name(), house)
		}
		for _, a := range may[p.name()] {
			if strings.HasPrefix(a, house+"/internal/") && strings.Contains(a, "*") {
				t.Errorf("the import table lets the package %s import %s: name the packages", p.name(), a)
			}
		}
	}
	if packages == 0 {
		t.Error("no package was found")
	}
}

// GO-06: tests respect the layers, too: nothing in core, tests included, needs the
// program; the pages in docs and memtemp, which sets up tests, import nothing.
func TestImportsOfTests(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, "linux", "./core/...") {
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if inside, ok := strings.CutPrefix(imported, module+"/"); ok && !strings.HasPrefix(inside, "core/") && inside != "docs" && inside != "integration/memtemp" {
				t.Errorf("a test of %s imports %s", p.name(), inside)
			}
		}
	}
}

// A package whose row says "tests only" is imported by test files and by other such
// packages.
func TestImportsOfTestHelpers(t *testing.T) {
	t.Parallel()
	helpers := map[string]bool{}
	for _, row := range table(t, readFile(t, "docs/architecture.md"), "package") {
		helpers[row[0]] = strings.HasSuffix(row[1], "tests only")
	}
	if !helpers["integration/memtemp"] || helpers["core/internal/lockedfile"] {
		t.Fatal("the table does not say which packages are for tests only")
	}
	for _, goos := range platforms {
		for _, p := range goList(t, goos, "./...") {
			for _, imported := range p.Imports {
				if helpers[strings.TrimPrefix(imported, module+"/")] && !helpers[p.name()] {
					t.Errorf("%s: %s imports %s outside its tests", goos, p.name(), imported)
				}
			}
		}
	}
}

// HO-06: bash is parsed in one package: no other package, and no test, uses the parser.
func TestOneReaderOfBash(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, "linux", "./...") {
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if strings.HasPrefix(imported, "mvdan.cc/sh/") && p.name() != "core/policy/shell" {
				t.Errorf("%s imports %s: parse bash in core/policy/shell only", p.name(), imported)
			}
		}
	}
}

// HO-06: there is one type for a problem in a file: no package declares another struct with
// a path, a line and a message, except for decisions of rules.
func TestOneProblem(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, "linux", "./core/...") {
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok || p.name() == "core/fault" && spec.Name.Name == "Problem" {
					return true
				}
				fields := map[string]bool{}
				if s, ok := spec.Type.(*ast.StructType); ok {
					for _, f := range s.Fields.List {
						for _, n := range f.Names {
							fields[n.Name] = true
						}
					}
				}
				if fields["Line"] && fields["Message"] && (fields["Path"] || fields["Source"]) && !fields["Decision"] {
					t.Errorf("%s declares %s: use fault.Problem", p.name(), spec.Name.Name)
				}
				return true
			})
		}
	}
}

// HO-04: a package of the program is small enough to be read in one sitting.
func TestPackagesOfTheProgramAreSmall(t *testing.T) {
	t.Parallel()
	const maxFiles, maxLines = 30, 4000 // without tests
	for _, p := range goList(t, "linux", "./cli/...") {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(p.name()), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		n, lines := 0, 0
		for _, name := range files {
			if !strings.HasSuffix(name, "_test.go") {
				n++
				lines += strings.Count(readFile(t, p.name()+"/"+filepath.Base(name)), "\n")
			}
		}
		if n > maxFiles || lines > maxLines {
			t.Errorf("%s has %d files and %d lines; at most %d and %d", p.name(), n, lines, maxFiles, maxLines)
		}
	}
}

// A package costs its importer everything that it links. These packages stay light: none links a
// model SDK, a protocol SDK or a front-end library. creack/pty, which core/config links through
// services/process, is not part of a front end: commands run in its pseudo-terminals. spf13/pflag,
// which viper imports, is not either.
func TestLinks(t *testing.T) {
	t.Parallel()
	models := []string{
		"google.golang.org/genai", "cloud.google.com/go", "github.com/anthropics/", "github.com/sashabaranov/", "github.com/openai/", "github.com/aws/",
	}
	protocols := []string{"github.com/modelcontextprotocol/", "github.com/a2aproject/", "google.golang.org/grpc", "google.golang.org/protobuf", "go.opentelemetry.io/"}
	terminals := []string{
		"charm.land/", "github.com/charmbracelet/", "github.com/muesli/", "github.com/alecthomas/chroma", "github.com/yuin/goldmark",
		"github.com/spf13/cobra", "golang.org/x/term",
	}
	tests := []string{"testing", "github.com/stretchr/testify", "github.com/rogpeppe/go-internal"}
	// Tool implementations link these. The normal forms of golang.org/x/text are used for the marks
	// around untrusted text.
	services := []string{
		module + "/core/services", module + "/core/config", module + "/core/policy", module + "/core/bus",
		"github.com/JohannesKaufmann/", "github.com/creack/pty", "github.com/fsnotify/fsnotify", "github.com/spf13/", "github.com/tailscale/hujson",
		"golang.org/x/net", "golang.org/x/sys", "golang.org/x/oauth2", "golang.org/x/sync", "golang.org/x/text/encoding", "mvdan.cc/sh", "net/http", "os/exec",
	}
	// A program that only changes files needs no part of an agent, no settings and no network.
	agents := []string{
		module + "/core/tools", module + "/core/policy", module + "/core/bus", module + "/core/scheduler", module + "/core/config", module + "/core/model",
		module + "/core/agent", module + "/core/mcp", "net/http", "os/exec", "encoding/gob", "github.com/spf13/", "github.com/creack/pty",
	}
	// The lexers and styles of chroma are initialized by every program that links them.
	heavy := []string{"google.golang.org/grpc", "google.golang.org/protobuf", "google.golang.org/genai", "cloud.google.com/go/auth", "charm.land/glamour", "github.com/charmbracelet/glamour", "github.com/alecthomas/chroma/v2/lexers", "github.com/alecthomas/chroma/v2/styles"}
	for pkg, without := range map[string][]string{
		"./core/tools":  slices.Concat(models, protocols, terminals, tests, services),
		"./core/files":  slices.Concat(models, protocols, terminals, tests, agents),
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

// FD-01: core/files links at most 25 packages of others.
func TestLinksOfFiles(t *testing.T) {
	t.Parallel()
	for _, goos := range platforms {
		others := 0
		for _, dep := range goList(t, goos, "-deps", "./core/files") {
			if !dep.Standard && dep.Module != nil && !dep.Module.Main {
				others++
			}
		}
		if others < 10 || others > 25 {
			t.Errorf("%s: core/files links %d packages of others", goos, others)
		}
	}
}

// The import weights in docs/dependencies.md equal the counts of go list -deps for
// Linux.
func TestLinksAreCounted(t *testing.T) {
	t.Parallel()
	rows := table(t, readFile(t, "docs/dependencies.md"), "import")
	var counted []string
	for _, row := range rows {
		counted = append(counted, row[0])
		own, others, modules := 0, 0, map[string]bool{}
		for _, dep := range goList(t, "linux", "-deps", "./"+row[0]) {
			switch {
			case dep.Standard || dep.Module == nil:
			case dep.Module.Main:
				own++
			default:
				others++
				modules[dep.Module.Path] = true
			}
		}
		if want := []string{row[0], fmt.Sprint(own), fmt.Sprint(others), fmt.Sprint(len(modules))}; !slices.Equal(row, want) {
			t.Errorf("docs/dependencies.md has %v, want %v", row, want)
		}
	}
	if want := []string{"core/files", "core/tools", "core/config", "cli/fettle"}; !slices.Equal(counted, want) {
		t.Errorf("docs/dependencies.md has the counts %v, want %v", counted, want)
	}
}
