// Package fuzzseed loads the committed inputs of a fuzz target from its archive,
// testdata/fuzz/NAME.txtar. Tests only.
package fuzzseed

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// version is the first line of every input, as the go command writes it.
const version = "go test fuzz v1"

// Add adds the inputs of the archive to f's seeds. Each file of the archive has
// the format and the name that the go command gives an input. An archive that is
// absent or cannot be read fails the test.
func Add(f *testing.F) {
	f.Helper()
	path := filepath.Join("testdata", "fuzz", f.Name()+".txtar")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		f.Fatalf("%s is absent; remove the call of Add if the target has no inputs", path)
	}
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range txtar.Parse(data).Files {
		values, err := decode(string(file.Data))
		if err != nil {
			f.Fatalf("%s: %s: %v", path, file.Name, err)
		}
		f.Add(values...)
	}
}

// decode reads the values of one input, of the types that the targets use: one
// conversion of a literal per line.
func decode(text string) (values []any, err error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != version {
		return nil, fmt.Errorf("the first line is %q, not %q", lines[0], version)
	}
	for _, line := range lines[1:] {
		value, err := decodeValue(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		values = append(values, value)
	}
	return values, nil
}

func decodeValue(line string) (any, error) {
	expr, err := parser.ParseExpr(line)
	if err != nil {
		return nil, err
	}
	call, ok := expr.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return nil, errors.New("not a conversion of one literal")
	}
	kind := "[]byte"
	if ident, ok := call.Fun.(*ast.Ident); ok {
		kind = ident.Name
	}
	sign, literal := "", ""
	kindOfLiteral := token.IDENT
	switch arg := call.Args[0].(type) {
	case *ast.Ident:
		literal = arg.Name
	case *ast.BasicLit:
		literal, kindOfLiteral = arg.Value, arg.Kind
	case *ast.UnaryExpr:
		if number, ok := arg.X.(*ast.BasicLit); ok && arg.Op == token.SUB {
			sign, literal, kindOfLiteral = "-", number.Value, number.Kind
		}
	}
	switch kind {
	case "[]byte", "string":
		text, err := strconv.Unquote(literal)
		if kind == "string" {
			return text, err
		}
		return []byte(text), err
	case "bool":
		return strconv.ParseBool(literal)
	case "int":
		return strconv.Atoi(sign + literal)
	case "byte":
		if kindOfLiteral == token.CHAR {
			char, _, _, err := strconv.UnquoteChar(literal[1:len(literal)-1], '\'')
			return byte(char), err
		}
		n, err := strconv.ParseUint(literal, 0, 8)
		return byte(n), err
	}
	return nil, fmt.Errorf("type %s is not supported", kind)
}
