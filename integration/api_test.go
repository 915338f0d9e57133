package integration_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	apiFile    = "testdata/api.txt"
	apiCommand = "go test ./integration -run TestAPI -update"
)

// HO-05: the public API is listed in a file, one line per declaration, so that a change is
// visible in a review. -update rewrites the file.
func TestAPI(t *testing.T) {
	t.Parallel()
	got := api(t)
	if *update {
		require.NoError(t, os.WriteFile(apiFile, []byte(strings.Join(got, "\n")+"\n"), 0o644))
	}
	text, err := os.ReadFile(apiFile)
	require.NoError(t, err)
	want := strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
	for _, line := range missingFrom(got, want) {
		t.Errorf("removed, which breaks embedders: %s", line)
	}
	for _, line := range missingFrom(want, got) {
		t.Errorf("new: %s", line)
	}
	if t.Failed() {
		t.Logf("If the change is intended, run %s and add it to CHANGELOG.md.", apiCommand)
	}
	require.Greater(t, len(got), 1_000, "the packages were not found")
}

// HO-05: what embedders and tool authors use can be read in an hour. Fields and methods count.
func TestAPISize(t *testing.T) {
	t.Parallel()
	const limit = 2_300
	face := []string{
		"core/agent", "core/bus", "core/commands", "core/config", "core/config/configtest", "core/extensions", "core/fault",
		"core/files", "core/hooks", "core/mcp", "core/model", "core/model/anthropic", "core/model/gemini", "core/model/openai",
		"core/model/replay", "core/model/script", "core/policy", "core/scheduler", "core/services/filestate",
		"core/services/patch", "core/services/tracker", "core/skills", "core/standard", "core/tools", "core/tools/tooltest",
	}
	count := map[string]int{}
	total := 0
	for _, line := range api(t) {
		name, _, _ := strings.Cut(line, ": ")
		if slices.Contains(face, name) && !strings.HasSuffix(line, "that are not exported") {
			count[name]++
			total++
		}
	}
	require.LessOrEqual(t, total, limit, "%v", count)
	t.Logf("%d symbols: %v", total, count)
}

// The lines of a declaration.
func TestAPILines(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
type S struct { A, B int; c string; *T; M map[string]int `+"`json:\"m,omitempty\"`"+` }
type T interface { Do(ctx context.Context, n int) (err error); fmt.Stringer; hidden() }
type F func(a, b int) error
type U = S
type G[K comparable] []K
type lower struct { Seen int }
const ( One Code = "one"; Two, three Code = "two", "three" )
const ( First Kind = iota; Second )
var V, w error
func New[P any](p P, more ...string) (*S, error) { return nil, nil }
func (s *S) Run() {}
func (g G[K]) Len() int { return 0 }
func (l lower) Hidden() {}
func helper() {}
`, parser.SkipObjectResolution)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{
		"type S struct", "type S struct, A int", "type S struct, B int", "type S struct, *T", "type S struct, M map[string]int `json:\"m,omitempty\"`",
		"type S struct, fields that are not exported",
		"type T interface", "type T interface, Do(ctx context.Context, n int) (err error)", "type T interface, fmt.Stringer", "type T interface, methods that are not exported",
		"type F func(a, b int) error", "type U = S", "type G[K comparable] []K",
		`const One Code = "one"`, `const Two Code = "two"`, "const First Kind", "const Second Kind", "var V error",
		"func New[P any](p P, more ...string) (*S, error)", "method (s *S) Run()", "method (g G[K]) Len() int",
	}, exportedBy(file))
}

// missingFrom returns the lines that are not in others.
func missingFrom(others, lines []string) []string {
	known := map[string]bool{}
	for _, line := range others {
		known[line] = true
	}
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return known[line] })
}

// api lists the public declarations of the packages below core on Linux, sorted.
func api(t *testing.T) []string {
	t.Helper()
	context := build.Default
	context.GOOS, context.GOARCH, context.CgoEnabled = "linux", "amd64", false
	var lines []string
	require.NoError(t, filepath.WalkDir("../core", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "internal" || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		if ok, err := context.MatchFile(filepath.Dir(name), filepath.Base(name)); err != nil || !ok {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, line := range exportedBy(file) {
			lines = append(lines, path.Dir(filepath.ToSlash(name))[len("../"):]+": "+line)
		}
		return nil
	}))
	slices.Sort(lines)
	return slices.Compact(lines)
}

// exportedBy lists the exported declarations of a file.
func exportedBy(file *ast.File) []string {
	var lines []string
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			lines = append(lines, function(d)...)
		case *ast.GenDecl:
			var typ ast.Expr // a constant without a type has the type of the previous one
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					lines = append(lines, typeLines(spec)...)
				case *ast.ValueSpec:
					if spec.Type != nil || len(spec.Values) > 0 {
						typ = spec.Type
					}
					lines = append(lines, values(d.Tok, spec, typ)...)
				}
			}
		}
	}
	return lines
}

func function(d *ast.FuncDecl) []string {
	if !d.Name.IsExported() {
		return nil
	}
	if d.Recv == nil {
		return []string{"func " + d.Name.Name + typeParameters(d.Type.TypeParams) + signatureOf(d.Type)}
	}
	receiver := d.Recv.List[0]
	if base := strings.TrimLeft(printed(receiver.Type), "*"); !ast.IsExported(base) {
		return nil
	}
	name := ""
	if len(receiver.Names) > 0 {
		name = receiver.Names[0].Name + " "
	}
	return []string{fmt.Sprintf("method (%s%s) %s%s", name, printed(receiver.Type), d.Name.Name, signatureOf(d.Type))}
}

func values(kind token.Token, spec *ast.ValueSpec, typ ast.Expr) []string {
	var lines []string
	for i, name := range spec.Names {
		if !name.IsExported() {
			continue
		}
		line := kind.String() + " " + name.Name
		if typ != nil {
			line += " " + printed(typ)
		}
		if i < len(spec.Values) && kind == token.CONST {
			if value, ok := spec.Values[i].(*ast.BasicLit); ok {
				line += " = " + value.Value
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func typeLines(spec *ast.TypeSpec) []string {
	if !spec.Name.IsExported() {
		return nil
	}
	head := "type " + spec.Name.Name + typeParameters(spec.TypeParams)
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		return append([]string{head + " struct"}, members(head+" struct, ", typ.Fields, "fields")...)
	case *ast.InterfaceType:
		return append([]string{head + " interface"}, members(head+" interface, ", typ.Methods, "methods")...)
	}
	if spec.Assign.IsValid() {
		return []string{head + " = " + printed(spec.Type)}
	}
	return []string{head + " " + printed(spec.Type)}
}

// members lists the fields of a struct or the methods of an interface.
func members(head string, list *ast.FieldList, what string) []string {
	var lines []string
	hidden := false
	for _, field := range list.List {
		tag := ""
		if field.Tag != nil {
			tag = " " + field.Tag.Value
		}
		if len(field.Names) == 0 { // embedded
			lines = append(lines, head+printed(field.Type)+tag)
		}
		for _, name := range field.Names {
			if !name.IsExported() {
				hidden = true
				continue
			}
			if method, ok := field.Type.(*ast.FuncType); ok && what == "methods" {
				lines = append(lines, head+name.Name+signatureOf(method))
			} else {
				lines = append(lines, head+name.Name+" "+printed(field.Type)+tag)
			}
		}
	}
	if hidden {
		lines = append(lines, head+what+" that are not exported")
	}
	return lines
}

func typeParameters(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var all []string
	for _, field := range list.List {
		for _, name := range field.Names {
			all = append(all, name.Name+" "+printed(field.Type))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// signatureOf returns a func's type without the keyword and without type parameters.
func signatureOf(typ *ast.FuncType) string {
	plain := *typ
	plain.TypeParams = nil
	return strings.TrimPrefix(printed(&plain), "func")
}

// printed formats an expression on one line.
func printed(e ast.Expr) string {
	var b strings.Builder
	if err := format.Node(&b, token.NewFileSet(), e); err != nil {
		panic(err) // the parser has just accepted it
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
