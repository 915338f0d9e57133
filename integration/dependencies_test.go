package integration

import (
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// theCard lists the packages that the design fixes (GO-02).
var theCard = []string{
	"github.com/invopop/jsonschema",
	"github.com/santhosh-tekuri/jsonschema/v5",
	"github.com/stretchr/testify",
	"github.com/sergi/go-diff",
	"github.com/spf13/viper",
}

// requirements returns the direct requirements of go.mod.
func requirements(t *testing.T) map[string]bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	direct := map[string]bool{}
	for _, r := range mod.Require {
		if !r.Indirect {
			direct[r.Path] = true
		}
	}
	return direct
}

// GO-02: each direct dependency has a row that says what it does, why it was
// chosen over which alternative, and its licence; and no row is left over.
func TestDependencies(t *testing.T) {
	documented := map[string]bool{}
	for _, row := range table(t, readFile(t, "docs/dependencies.md"), "module") {
		if len(row) != 4 || slices.Contains(row, "") {
			t.Errorf("row %v needs four filled columns: module, what it does here, why this one, licence", row)
		}
		documented[row[0]] = true
	}
	direct := requirements(t)
	for _, m := range slices.Sorted(maps.Keys(direct)) {
		if !documented[m] {
			t.Errorf("docs/dependencies.md has no row for %s, which go.mod requires", m)
		}
	}
	for _, m := range slices.Sorted(maps.Keys(documented)) {
		if !direct[m] {
			t.Errorf("docs/dependencies.md has a row for %s, which go.mod does not require directly", m)
		}
	}
}

// GO-02: the packages of the card do the work that they are made for;
// testify does it in tests.
func TestDependenciesOfTheCardAreUsed(t *testing.T) {
	used := map[string]bool{}
	for _, p := range goList(t, "linux", "./...") {
		for _, imported := range p.Imports {
			used[imported] = true
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if strings.HasPrefix(imported, "github.com/stretchr/testify/") {
				used["github.com/stretchr/testify"] = true
			}
		}
	}
	for _, m := range theCard {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(used)), func(p string) bool { return p == m || strings.HasPrefix(p, m+"/") }) {
			t.Errorf("no package imports %s", m)
		}
	}
}
