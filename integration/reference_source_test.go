package integration_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// source holds the declarations of a package's Go files.
type source struct {
	name      string // of the package, which precedes the names of its structs on pages
	structs   map[string]structure
	aliases   map[string]string // names of types in other packages, by the name here
	constants []constant
}

// structure is a struct in its JSON form.
type structure struct {
	doc    string
	fields []structField
}

// structField is an encoded field. An embedded struct has no name.
type structField struct {
	name     string
	typ      ast.Expr
	optional bool
	doc      string
}

// constant is a typed string constant.
type constant struct {
	name, typ, value string
	doc              string // its own comment
	about            string // the comment of its group
}

// parsePackage parses the files of a directory below the root, without tests.
func parsePackage(t *testing.T, dir string) *source {
	t.Helper()
	s := &source{name: path.Base(dir), structs: map[string]structure{}, aliases: map[string]string{}}
	files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					s.addType(spec, commentOf(spec.Doc, decl.Doc))
				case *ast.ValueSpec:
					s.addConstants(spec, decl)
				}
			}
		}
	}
	require.NotEmpty(t, files, dir)
	return s
}

// follow adds the structs and constants of the package in dir for which s has
// aliases, under the names of the aliases.
func (s *source) follow(t *testing.T, dir string) {
	t.Helper()
	other := parsePackage(t, dir)
	for name, original := range s.aliases {
		if body, ok := other.structs[original]; ok {
			s.structs[name] = body
		}
		for _, c := range other.ofType(original) {
			c.typ = name
			s.constants = append(s.constants, c)
		}
	}
}

func (s *source) addType(spec *ast.TypeSpec, doc string) {
	if original, ok := spec.Type.(*ast.SelectorExpr); ok && spec.Assign.IsValid() {
		s.aliases[spec.Name.Name] = original.Sel.Name
	}
	body, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	made := structure{doc: doc}
	for _, field := range body.Fields.List {
		doc := commentOf(field.Doc, field.Comment)
		if len(field.Names) == 0 {
			made.fields = append(made.fields, structField{typ: field.Type, doc: doc})
			continue
		}
		if field.Tag == nil {
			continue
		}
		_, tag, _ := strings.Cut(field.Tag.Value, `json:"`)
		tag, _, _ = strings.Cut(tag, `"`)
		if name, options, _ := strings.Cut(tag, ","); name != "" && name != "-" {
			made.fields = append(made.fields, structField{name, field.Type, strings.Contains(options, "omit"), doc})
		}
	}
	s.structs[spec.Name.Name] = made
}

func (s *source) addConstants(spec *ast.ValueSpec, decl *ast.GenDecl) {
	if decl.Tok != token.CONST || spec.Type == nil || len(spec.Values) != 1 {
		return
	}
	lit, ok := spec.Values[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return
	}
	value, err := strconv.Unquote(lit.Value)
	if err != nil || value == "" {
		return
	}
	doc := commentOf(spec.Doc, spec.Comment)
	if !decl.Lparen.IsValid() {
		doc = commentOf(decl.Doc, spec.Comment)
	}
	s.constants = append(s.constants, constant{spec.Names[0].Name, typeName(spec.Type), value, doc, commentOf(decl.Doc)})
}

// ofType returns the constants of a type.
func (s *source) ofType(name string) []constant {
	var found []constant
	for _, c := range s.constants {
		if c.typ == name {
			found = append(found, c)
		}
	}
	return found
}

// commentOf returns the text of the first non-empty comment.
func commentOf(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := strings.TrimSpace(g.Text()); text != "" {
			return text
		}
	}
	return ""
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	case *ast.StarExpr:
		return typeName(e.X)
	}
	return ""
}

// jsonKind returns the JSON type of a field, and the struct of the package that it
// refers to, if any.
func (s *source) jsonKind(e ast.Expr) (kind, leads string) {
	switch e := e.(type) {
	case *ast.StarExpr:
		return s.jsonKind(e.X)
	case *ast.ArrayType:
		of, leads := s.jsonKind(e.Elt)
		return "list: " + of, leads
	case *ast.MapType:
		of, leads := s.jsonKind(e.Value)
		return "map: " + of, leads
	}
	name := typeName(e)
	if _, ok := s.structs[name]; ok {
		return "[" + name + "](#" + strings.ToLower(s.name+name) + ")", name
	}
	var values []string
	for _, c := range s.ofType(name) {
		values = append(values, "`"+c.value+"`")
	}
	if len(values) > 0 {
		return strings.Join(values, ", "), ""
	}
	known := map[string]string{
		"string": "text", "bool": "true or false", "int": "whole number", "int64": "whole number", "float64": "number",
		"json.RawMessage": "any JSON", "time.Time": "time, RFC 3339", "any": "any JSON",
	}
	return cmp.Or(known[name], "text"), ""
}

// writeStruct writes the table of a struct's fields, including those of embedded
// structs, and returns the structs that they refer to.
func (s *source) writeStruct(b *strings.Builder, name string) (leads []string) {
	b.WriteString("\n| key | holds | |\n|---|---|---|\n")
	var write func(name string)
	write = func(name string) {
		for _, f := range s.structs[name].fields {
			if f.name == "" {
				write(typeName(f.typ))
				continue
			}
			kind, to := s.jsonKind(f.typ)
			if to != "" {
				leads = append(leads, to)
			}
			key := "`" + f.name + "`"
			if f.optional {
				key += " (may be absent)"
			}
			b.WriteString("| " + key + " | " + inCell(kind) + " | " + inCell(summary(f.doc, "")) + " |\n")
		}
	}
	write(name)
	return leads
}

// packagesBelow lists the directories below the root that contain Go files other than
// tests.
func packagesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	require.NoError(t, filepath.WalkDir(filepath.Join("..", dir), func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if entry.Name() == "testdata" || entry.Name() == "templates" {
			return filepath.SkipDir
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if len(files) > 0 {
			rel, _ := filepath.Rel("..", dir)
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	}))
	return all
}
