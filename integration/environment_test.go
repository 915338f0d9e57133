package integration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TE-10: a test's changes to the environment or the current directory end with it:
// tests use t.Setenv and t.Chdir, which restore the values and fail in parallel
// tests. No other code in the repository changes either, including the program, except
// for memtemp: it sets TMPDIR before the tests of a package start.
func TestEnvironmentIsLeftAlone(t *testing.T) {
	t.Parallel()
	files, own := 0, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		files++
		if filepath.ToSlash(path) == root+"/integration/memtemp/memtemp.go" {
			return nil
		}
		changes, confined := environmentChanges(t, path, nil)
		own += confined
		for _, c := range changes {
			t.Errorf("%s changes the environment of the process; use t.Setenv or t.Chdir in a test, and parameters elsewhere", c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 || own == 0 {
		t.Errorf("%d files were scanned, with %d changes by tests: the scan is wrong", files, own)
	}
}

// Changes of the environment are found under any import name of the package.
func TestEnvironmentChangesAreFound(t *testing.T) {
	t.Parallel()
	source := `package p

import (
	"os"
	sys "syscall"
	"testing"
)

func f(t *testing.T) {
	t.Setenv("A", "b")
	_ = os.Setenv("A", "b")
	_ = sys.Chdir("/")
	change := os.Unsetenv
	_ = change("A")
	_ = os.Getenv("A")
}
`
	changes, confined := environmentChanges(t, "p.go", source)
	want := []string{"p.go:11:6: os.Setenv", "p.go:12:6: syscall.Chdir", "p.go:13:12: os.Unsetenv"}
	if !slices.Equal(changes, want) || confined != 1 {
		t.Errorf("found %q and %d changes through t, want %q and 1", changes, confined, want)
	}
}

// environmentChanges lists the places where a file changes the environment or the
// current directory of the process, and counts the changes that end with a test.
func environmentChanges(t *testing.T, path string, source any) (changes []string, confined int) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string]string{}
	for _, spec := range file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		name := imported[strings.LastIndexByte(imported, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = imported
	}
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"Setenv", "Unsetenv", "Clearenv", "Chdir", "Fchdir"}, s.Sel.Name) {
			return true
		}
		of, ok := s.X.(*ast.Ident)
		if !ok {
			return true
		}
		switch imported := imports[of.Name]; imported {
		case "os", "syscall", "golang.org/x/sys/unix", "golang.org/x/sys/windows":
			changes = append(changes, files.Position(s.Pos()).String()+": "+imported+"."+s.Sel.Name)
		case "":
			if of.Name == "t" || of.Name == "tb" || of.Name == "b" {
				confined++
			}
		}
		return true
	})
	return changes, confined
}
