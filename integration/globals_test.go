package integration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"testing"
)

// GO-07, FT-02: sessions share no state, so packages have none. A package-level
// variable is written only in its declaration; init functions do nothing; the global
// viper instance is never used (GO-04).
func TestGlobals(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, "linux", "./core/...", "./cli/...") {
		for _, problem := range globalState(t, p) {
			t.Errorf("%s: %s", p.name(), problem)
		}
	}
}

// globalState lists the uses of global state in a package. It resolves names without the packages
// that p imports, so it needs no build.
func globalState(t *testing.T, p listed) []string {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: noPackages{}, Error: func(error) {}} // unresolved imports are expected
	pkg, _ := conf.Check(p.ImportPath, fset, files, info)

	var problems []string
	report := func(n ast.Node, what string) {
		pos := fset.Position(n.Pos())
		problems = append(problems, filepath.Base(pos.Filename)+" "+what)
	}
	// written reports e if it is a variable of the package, or lies in one.
	written := func(e ast.Expr) {
		for {
			switch x := e.(type) {
			case *ast.ParenExpr:
				e = x.X
			case *ast.IndexExpr:
				e = x.X
			case *ast.StarExpr:
				e = x.X
			case *ast.SelectorExpr:
				e = x.X
			case *ast.Ident:
				if v, ok := info.Uses[x].(*types.Var); ok && v.Parent() == pkg.Scope() {
					report(x, "writes the package's variable "+x.Name)
				}
				return
			default:
				return
			}
		}
	}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" {
					report(d, "has a func init")
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					v, ok := s.(*ast.ValueSpec)
					if !ok || d.Tok != token.VAR {
						continue
					}
					if holdsState(v) {
						report(v, "keeps state in the package's variable "+v.Names[0].Name)
					}
					if compiles(v) {
						report(v, "compiles the regular expression "+v.Names[0].Name+" at import")
					}
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, lhs := range n.Lhs {
					written(lhs)
				}
			case *ast.IncDecStmt:
				written(n.X)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					written(n.X)
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear") && len(n.Args) > 0 {
					written(n.Args[0])
				}
				if s, ok := n.Fun.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "viper" && s.Sel.Name != "New" && s.Sel.Name != "NewWithOptions" && s.Sel.Name != "KeyDelimiter" {
						report(n, "calls viper."+s.Sel.Name+", which may reach the shared instance")
					}
				}
			}
			return true
		})
	}
	return problems
}

// holdsState reports whether the type of a variable exists to be changed: a lock, a once, a pool,
// an atomic, a channel.
func holdsState(v *ast.ValueSpec) bool {
	state := false
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && (x.Name == "sync" || x.Name == "atomic") && n.Sel.Name != "OnceValue" && n.Sel.Name != "OnceValues" {
				state = true
			}
		case *ast.ChanType:
			state = true
		}
		return true
	}
	if v.Type != nil {
		ast.Inspect(v.Type, look)
	}
	for _, e := range v.Values {
		ast.Inspect(e, look)
	}
	return state
}

// compiles reports whether a regular expression is compiled before main. BE-03: a package compiles
// one at its first use; core/internal/lazyregexp does so.
func compiles(v *ast.ValueSpec) bool {
	found := false
	for _, e := range v.Values {
		ast.Inspect(e, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "regexp" && s.Sel.Name == "MustCompile" {
					found = true
				}
			}
			_, later := n.(*ast.FuncLit)
			return !later
		})
	}
	return found
}

// noPackages is an importer that fails for every path.
type noPackages struct{}

func (noPackages) Import(path string) (*types.Package, error) {
	return nil, &types.Error{Msg: "not loaded: " + path}
}

// The scan finds the violations that it is written for.
func TestGlobalsAreFound(t *testing.T) {
	t.Parallel()
	found := globalState(t, listed{ImportPath: "example", Dir: "testdata/globals", GoFiles: []string{"globals.go"}})
	want := []string{
		"globals.go keeps state in the package's variable mu",
		"globals.go compiles the regular expression word at import",
		"globals.go has a func init",
		"globals.go writes the package's variable registry",
		"globals.go writes the package's variable registry",
		"globals.go writes the package's variable count",
		"globals.go calls viper.Set, which may reach the shared instance",
	}
	if len(found) != len(want) {
		t.Fatalf("found %q, want %q", found, want)
	}
	for i := range want {
		if found[i] != want[i] {
			t.Errorf("found %q, want %q", found[i], want[i])
		}
	}
}
