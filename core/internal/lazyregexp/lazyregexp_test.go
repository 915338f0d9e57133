package lazyregexp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

func TestNew(t *testing.T) {
	t.Parallel()
	re := lazyregexp.New(`^a+$`)
	require.True(t, re().MatchString("aa"))
	require.Same(t, re(), re())
	require.Panics(t, func() { lazyregexp.New(`(`)() })
}

// Every expression in core is valid, so that its first use does not panic.
func TestExpressionsAreValid(t *testing.T) {
	t.Parallel()
	count := 0
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		constants := make(map[string]ast.Expr)
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
				for i, name := range spec.Names {
					constants[name.Name] = spec.Values[i]
				}
			}
			return true
		})
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "New" {
				return true
			}
			if x, ok := f.X.(*ast.Ident); ok && x.Name == "lazyregexp" {
				count++
				_, err := regexp.Compile(text(t, path, call.Args[0], constants))
				require.NoError(t, err, path)
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, count, 50)
}

// text returns the value of a string literal, of a constant of the file, or of several that are joined.
func text(t *testing.T, path string, e ast.Expr, constants map[string]ast.Expr) string {
	t.Helper()
	if sum, ok := e.(*ast.BinaryExpr); ok {
		return text(t, path, sum.X, constants) + text(t, path, sum.Y, constants)
	}
	if name, ok := e.(*ast.Ident); ok && constants[name.Name] != nil {
		return text(t, path, constants[name.Name], constants)
	}
	literal, ok := e.(*ast.BasicLit)
	require.True(t, ok, "%s: an expression is not a literal", path)
	value, err := strconv.Unquote(literal.Value)
	require.NoError(t, err)
	return value
}
