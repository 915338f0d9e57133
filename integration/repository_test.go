package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	module = "github.com/fettle-dev/fettle"
	root   = ".." // of the repository, relative to this package
)

// listed holds the fields of a package in `go list -json` that these tests use.
type listed struct {
	ImportPath   string
	Dir          string
	Standard     bool
	Imports      []string
	TestImports  []string
	XTestImports []string
	GoFiles      []string
	Deps         []string
	Module       *struct {
		Path string
		Main bool
	}
}

// name returns the import path below the module's, "" for the module itself.
func (p listed) name() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// goList returns what go list -json prints for one platform in the repository's root:
// the packages of patterns such as ./core/..., or after -deps those that one package
// links, the package itself last.
func goList(t *testing.T, goos string, args ...string) []listed {
	t.Helper()
	all, err := listings[goos]()
	if err != nil {
		t.Fatal(err)
	}
	if args[0] == "-deps" {
		byPath := map[string]listed{}
		for _, p := range all {
			byPath[p.ImportPath] = p
		}
		p := byPath[module+strings.TrimPrefix(args[1], ".")]
		var deps []listed
		for _, path := range append(p.Deps, p.ImportPath) {
			deps = append(deps, byPath[path])
		}
		return deps
	}
	return slices.DeleteFunc(slices.Clone(all), func(p listed) bool {
		return p.Module == nil || !p.Module.Main || !slices.ContainsFunc(args, func(pattern string) bool {
			return strings.HasPrefix("./"+p.name()+"/", strings.TrimSuffix(pattern, "..."))
		})
	})
}

// listings hold for each platform all packages of the repository and those that they
// link, which are listed once for all tests.
var listings = map[string]func() ([]listed, error){
	"linux":   sync.OnceValues(func() ([]listed, error) { return list("linux") }),
	"darwin":  sync.OnceValues(func() ([]listed, error) { return list("darwin") }),
	"windows": sync.OnceValues(func() ([]listed, error) { return list("windows") }),
}

func list(goos string) ([]listed, error) {
	cmd := exec.CommandContext(context.Background(), "go", "list", "-deps", "-json=ImportPath,Dir,Standard,Imports,TestImports,XTestImports,GoFiles,Deps,Module", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list for %s: %w\n%s", goos, err, &stderr)
	}
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// table returns the rows of the first Markdown table whose header begins with the
// given cell, without header and ruler and without code marks.
func table(t *testing.T, text, first string) [][]string {
	t.Helper()
	var rows [][]string
	found := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			if found {
				break
			}
			continue
		}
		var cells []string
		for _, c := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(strings.ReplaceAll(c, "`", "")))
		}
		if found {
			rows = append(rows, cells)
		}
		found = found || strings.EqualFold(cells[0], first)
	}
	if len(rows) < 2 {
		t.Fatalf("no table with a first column %q", first)
	}
	return rows[1:]
}
