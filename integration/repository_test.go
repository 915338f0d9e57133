package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	Module       *struct {
		Path string
		Main bool
	}
}

// name returns the import path below the module's, "" for the module itself.
func (p listed) name() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// goList runs go list -json for one platform in the repository's root.
func goList(t *testing.T, goos string, args ...string) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Dir,Standard,Imports,TestImports,XTestImports,GoFiles,Module"}, args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s for %s: %v\n%s", strings.Join(args, " "), goos, err, &stderr)
	}
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
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
