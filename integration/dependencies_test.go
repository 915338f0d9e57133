package integration

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// prescribedModules lists the packages that the design prescribes (GO-02).
var prescribedModules = []string{
	"github.com/invopop/jsonschema",
	"github.com/santhosh-tekuri/jsonschema/v5",
	"github.com/stretchr/testify",
	"github.com/sergi/go-diff",
	"github.com/spf13/viper",
}

// requirements returns the direct requirements of the go.mod in a directory of the
// repository, with their versions.
func requirements(t *testing.T, dir string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = filepath.Join(root, dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct {
			Path, Version string
			Indirect      bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	direct := map[string]string{}
	for _, r := range mod.Require {
		if !r.Indirect {
			direct[r.Path] = r.Version
		}
	}
	return direct
}

// released checks that the date of a row is the release date of the version, if the
// module cache contains it, and otherwise that it is a date.
func released(t *testing.T, dir, module, version, day string) {
	t.Helper()
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		t.Errorf("docs/dependencies.md: %s has no valid date: %v", module, err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-mod=mod", "-m", "-f", `{{with .Time}}{{.UTC.Format "2006-01-02"}}{{end}}`, module+"@"+version)
	cmd.Dir, cmd.Env = filepath.Join(root, dir), append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	if known := strings.TrimSpace(string(out)); err == nil && known != "" && known != day {
		t.Errorf("docs/dependencies.md: %s %s has the date %s, want %s", module, version, day, known)
	}
}

// HO-08: docs/dependencies.md lists the requirements of nested modules as in their go.mod.
func TestDependenciesOfNestedModules(t *testing.T) {
	t.Parallel()
	for _, row := range table(t, readFile(t, "docs/dependencies.md"), "nested module") {
		dir := filepath.FromSlash(row[0])
		module, _, _ := strings.Cut(row[1], ",")
		found := false
		for path, version := range requirements(t, dir) {
			if path != module && !strings.HasPrefix(path, module+"/") {
				continue
			}
			found = true
			if version != row[2] {
				t.Errorf("docs/dependencies.md says %s for %s; %s requires %s", row[2], path, dir, version)
			}
			released(t, dir, path, row[2], row[3])
		}
		if !found {
			t.Errorf("docs/dependencies.md: %s is listed with %s, which it does not require", row[0], module)
		}
	}
}

// GO-02: each direct dependency has a row with its purpose, the rejected alternative,
// its licence, its version and the release date; no other rows exist.
func TestDependencies(t *testing.T) {
	t.Parallel()
	documented, direct := map[string]bool{}, requirements(t, ".")
	for _, row := range table(t, readFile(t, "docs/dependencies.md"), "module") {
		if len(row) != 6 || slices.Contains(row, "") {
			t.Errorf("row %v needs six filled columns: module, version, released, purpose, why this one, licence", row)
			continue
		}
		documented[row[0]] = true
		if version := direct[row[0]]; version != "" && version != row[1] {
			t.Errorf("docs/dependencies.md says %s for %s; go.mod requires %s", row[1], row[0], version)
		}
		released(t, ".", row[0], row[1], row[2])
	}
	for _, m := range slices.Sorted(maps.Keys(direct)) {
		if !documented[m] {
			t.Errorf("docs/dependencies.md has no row for %s, which go.mod requires", m)
		}
	}
	for _, m := range slices.Sorted(maps.Keys(documented)) {
		if direct[m] == "" {
			t.Errorf("docs/dependencies.md has a row for %s, which go.mod does not require directly", m)
		}
	}
}

// GO-02: the library or the program imports each direct requirement of go.mod. The row of a
// requirement that only tests use has that remark.
func TestDependenciesAreImported(t *testing.T) {
	t.Parallel()
	code, tests := map[string]bool{}, map[string]bool{}
	direct := requirements(t, ".")
	use := func(used map[string]bool, imports []string) {
		for module := range direct {
			if slices.ContainsFunc(imports, func(p string) bool { return p == module || strings.HasPrefix(p, module+"/") }) {
				used[module] = true
			}
		}
	}
	packages, imported := goList(t, "linux", "./..."), map[string]bool{}
	for _, p := range packages {
		for _, path := range p.Imports {
			imported[path] = true
		}
	}
	for _, p := range packages {
		forTests := strings.Contains(p.ImportPath, "/internal/") && !imported[p.ImportPath] || strings.HasPrefix(p.name(), "integration")
		if !forTests {
			use(code, p.Imports)
		}
		use(tests, slices.Concat(p.Imports, p.TestImports, p.XTestImports))
	}
	for _, row := range table(t, readFile(t, "docs/dependencies.md"), "module") {
		module, testsOnly := row[0], strings.Contains(row[3], "(tests only)")
		switch {
		case !tests[module]:
			t.Errorf("no package imports %s", module)
		case code[module] == testsOnly:
			t.Errorf("docs/dependencies.md: %s is marked as tests only: %t; imported by core or cli: %t", module, testsOnly, code[module])
		}
	}
	for _, module := range prescribedModules {
		if !tests[module] {
			t.Errorf("no package imports %s", module)
		}
	}
}
