package integration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/config/settings"
)

// The pages in docs name Go identifiers, as `pkg.Name` or `pkg.Type.Member.Member`. Every
// name must exist.
func TestDocsNameWhatExists(t *testing.T) {
	t.Parallel()
	known := newNames(t)
	for name := range fuzzTargets(t, "cli/commands/calls") { // the one package whose fuzz targets a page names in this form
		known.exported["calls."+name] = ""
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages", err)
	}
	name := regexp.MustCompile("`([a-z]+)\\.([A-Z][A-Za-z]*(?:\\.[A-Z][A-Za-z]*)*)`")
	for _, page := range pages {
		rel, _ := filepath.Rel(root, page)
		for _, m := range name.FindAllStringSubmatch(readFile(t, filepath.ToSlash(rel)), -1) {
			if _, ok := known.resolve(m[1] + "." + m[2]); known.packages[m[1]] && !ok {
				t.Errorf("%s names %s.%s, which does not exist", rel, m[1], m[2])
			}
		}
	}
}

// Each row of docs/names.md maps names to existing Go identifiers, directories and
// settings, or gives the reason why fettle has none.
func TestNamesPage(t *testing.T) {
	t.Parallel()
	rows := 0
	known := newNames(t)
	for cells, line := range rowsOf(t, "docs/names.md", "there") {
		if rows++; len(cells) != 2 {
			t.Errorf("not two cells: %s", line)
			continue
		}
		if reason, not := strings.CutPrefix(strings.TrimSpace(cells[1]), "not in fettle"); not && !strings.HasPrefix(reason, ": ") {
			t.Errorf("no reason: %s", line)
		}
		known.check(t, cells[1], line)
	}
	if rows < 150 {
		t.Errorf("only %d rows were found", rows)
	}
}

// Each row of docs/glossary.md has a term, identifiers that exist, a meaning of
// whole sentences, and the words that the term replaces.
func TestGlossaryPage(t *testing.T) {
	t.Parallel()
	known := newNames(t)
	terms := map[string]bool{}
	for cells, line := range rowsOf(t, "docs/glossary.md", "term") {
		if len(cells) != 4 {
			t.Errorf("not four cells: %s", line)
			continue
		}
		if terms[cells[0]] {
			t.Errorf("a second row for %s", cells[0])
		}
		terms[cells[0]] = true
		if known.check(t, cells[1], line) == 0 {
			t.Errorf("no identifier: %s", line)
		}
		if !strings.HasSuffix(cells[2], ".") || strings.TrimSpace(cells[3]) == "" {
			t.Errorf("the meaning or the replaced words are missing: %s", line)
		}
	}
	if len(terms) < 50 {
		t.Errorf("only %d terms were found", len(terms))
	}
}

// Each field in the table of docs/embedding.md is a field of Parameters, and the table has each group.
func TestParametersTable(t *testing.T) {
	t.Parallel()
	known := newNames(t)
	groups := map[string]bool{}
	for _, row := range table(t, readFile(t, "docs/embedding.md"), "field of config.Parameters") {
		for field := range strings.SplitSeq(row[0], ", ") {
			if _, ok := known.resolve("config.Parameters." + field); !ok {
				t.Errorf("config.Parameters.%s does not exist", field)
			}
			group, _, _ := strings.Cut(field, ".")
			groups[group] = true
		}
	}
	for id := range known.exported {
		if group, ok := strings.CutPrefix(id, "config.Parameters."); ok && token.IsExported(group) && !strings.Contains(group, ".") && !groups[group] {
			t.Errorf("the table has no field of %s", id)
		}
	}
}

// rowsOf yields the cells and the line of each row of a page's tables whose header begins with the
// given word. It skips headers and rulers.
func rowsOf(t *testing.T, page, header string) iter.Seq2[[]string, string] {
	t.Helper()
	text := readFile(t, page)
	return func(yield func([]string, string) bool) {
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| "+header+" ") {
				continue
			}
			if !yield(strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | "), line) {
				return
			}
		}
	}
}

// names are the names that a page can quote.
type names struct {
	packages map[string]bool
	exported map[string]string // the names of declared, with their types
}

func newNames(t *testing.T) names {
	t.Helper()
	packages, exported := declared(t)
	return names{packages, exported}
}

// resolve returns the type of an identifier, and whether it is declared. A member of a field's type
// follows the field, as in config.Parameters.Session.ID.
func (n names) resolve(id string) (typ string, ok bool) {
	if typ, ok = n.exported[id]; ok {
		return typ, true
	}
	at := strings.LastIndex(id, ".")
	if at < 0 {
		return "", false
	}
	if typ, _ = n.resolve(id[:at]); typ == "" {
		return "", false
	}
	return n.resolve(typ + id[at:])
}

// check reports each quoted Go identifier, directory and setting in a cell that
// does not exist, and returns how many there are.
func (n names) check(t *testing.T, cell, line string) (found int) {
	t.Helper()
	quoted := regexp.MustCompile("`([^`]+)`")
	identifier := regexp.MustCompile(`^([a-z0-9]+)\.([A-Z]\w*(?:\.[A-Z]\w*)*)$`)
	directory := regexp.MustCompile(`^(core|cli|integration|docs|\.ci)(/[a-z0-9/]+)?$`)
	setting := regexp.MustCompile(`^[a-z]+\.[A-Za-z.]+(\*)?$`)
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		found++
		id := identifier.FindStringSubmatch(m[1])
		switch {
		case id != nil && (id[1] == "context" || id[1] == "slog"): // the standard library's
		case id != nil && !n.packages[id[1]]:
			t.Errorf("package %s does not exist: %s", id[1], line)
		case id != nil:
			if _, ok := n.resolve(m[1]); !ok {
				t.Errorf("%s does not exist: %s", m[1], line)
			}
		case directory.MatchString(m[1]):
			if info, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil || !info.IsDir() {
				t.Errorf("directory %s does not exist: %s", m[1], line)
			}
		case setting.MatchString(m[1]):
			group, whole := strings.CutSuffix(m[1], "*")
			if !slices.ContainsFunc(settings.Keys(), func(k settings.Key) bool { return k.Path == group || whole && strings.HasPrefix(k.Path, group) }) {
				t.Errorf("setting %s does not exist: %s", m[1], line)
			}
		default:
			found--
		}
	}
	return found
}

// declared returns the names of the packages in core and cli and of their declarations, as pkg.Name
// and pkg.Type.Member. The value of a field is its type, as pkg.Name, or "" if it has no name.
func declared(t *testing.T) (packages map[string]bool, names map[string]string) {
	t.Helper()
	packages, names = map[string]bool{}, map[string]string{}
	for _, p := range goList(t, "linux", "./core/...", "./cli/...") {
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			packages[f.Name.Name] = true
			for _, d := range f.Decls {
				for id, typ := range identifiers(d) {
					if typ != "" && !strings.Contains(typ, ".") {
						typ = f.Name.Name + "." + typ
					}
					names[f.Name.Name+"."+id] = typ
				}
			}
		}
	}
	return packages, names
}

// fuzzTargets returns the fuzz targets in a directory.
func fuzzTargets(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(d.Name.Name, "Fuzz") {
				found[d.Name.Name] = true
			}
		}
	}
	return found
}

// identifiers returns the names of a declaration: Name, and Type.Member for methods and fields, a
// field with the name of its type.
func identifiers(d ast.Decl) map[string]string {
	ids := map[string]string{}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return map[string]string{d.Name.Name: ""}
		}
		return map[string]string{typeName(d.Recv.List[0].Type) + "." + d.Name.Name: ""}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					ids[n.Name] = ""
				}
			case *ast.TypeSpec:
				ids[s.Name.Name] = ""
				var members *ast.FieldList
				switch x := s.Type.(type) {
				case *ast.StructType:
					members = x.Fields
				case *ast.InterfaceType:
					members = x.Methods
				default:
					continue
				}
				for _, m := range members.List {
					for _, n := range m.Names {
						ids[s.Name.Name+"."+n.Name] = typeName(m.Type)
					}
				}
			}
		}
	}
	return ids
}

// typeName returns the name of a type: T of *T[P], and pkg.T for a type of another package.
func typeName(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.IndexListExpr:
		return typeName(x.X)
	case *ast.SelectorExpr:
		return typeName(x.X) + "." + x.Sel.Name
	case *ast.Ident:
		return x.Name
	}
	return ""
}
