package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// GO-01: the top level and the parts of core that the design prescribes. A directory
// for a later part of the design is added to the list when it has content.
func TestLayout(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		".ci/run", ".gitignore", "go.mod", "go.sum",
		"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "LICENSE",
		"core/bus", "core/config", "core/fault", "core/policy", "core/scheduler", "core/services", "core/tools",
		"cli/fettle/main.go", "cli/hub/go.mod", "integration",
		"docs/architecture.md", "docs/safety-model.md", "docs/adding-a-tool.md", "docs/dependencies.md", "docs/embedding.md", "docs/cli.md", "docs/policy.md",
	} {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			t.Errorf("the design requires %s: %v", name, err)
		}
	}

	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains([]string{"core", "cli", "integration", "docs"}, e.Name()) {
			t.Errorf("%s/ is at the top level; further parts belong below core/", e.Name())
		}
	}
}

// HB-01: the hub is a module of its own, so that no requirement of NATS is in the main module.
func TestLayoutHubIsAModule(t *testing.T) {
	t.Parallel()
	if !strings.Contains(readFile(t, "cli/hub/go.mod"), "github.com/nats-io/nats.go") {
		t.Error("cli/hub/go.mod does not require NATS")
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if strings.Contains(readFile(t, name), "nats-io") {
			t.Errorf("%s of the main module mentions NATS", name)
		}
	}
}

// The program has three lines: its code is in package cli, where it can be called and
// tested.
func TestLayoutProgramIsThreeLines(t *testing.T) {
	t.Parallel()
	_, body, ok := strings.Cut(readFile(t, "cli/fettle/main.go"), "func main() {\n")
	if !ok {
		t.Fatal("cli/fettle/main.go has no func main")
	}
	if lines := strings.Count(strings.TrimSuffix(strings.TrimSpace(body), "}"), "\n"); lines > 1 {
		t.Errorf("func main has %d lines in its body; move them to package cli", lines)
	}
}

// GO-10, GO-12, HO-09: one command checks format, vet, build and all tests, without cgo, and
// builds for the other platforms.
func TestLayoutOneCommandChecksAll(t *testing.T) {
	t.Parallel()
	script := readFile(t, ".ci/run")
	for _, step := range []string{"set -euo pipefail", "gofmt -l", "go vet ./...", "go build ./...", "go test", "CGO_ENABLED=0", "for os in darwin windows", "GOOS=$os go build"} {
		if !strings.Contains(script, step) {
			t.Errorf(".ci/run has no %q", step)
		}
	}
}

// HO-10: no file of code is longer than 500 lines.
func TestLayoutFilesAreShort(t *testing.T) {
	t.Parallel()
	const most = 500
	for _, name := range repositoryFiles(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if lines := strings.Count(readFile(t, name), "\n"); lines > most {
			t.Errorf("%s has %d lines; at most %d", name, lines, most)
		}
	}
}
