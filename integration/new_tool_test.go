package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// trimmed makes the build cache of one temporary directory valid for the next run, whose directory
// has another name.
const trimmed = "GOFLAGS=-mod=mod -trimpath"

// The files of fettle new tool compile and pass their test in a module that embeds
// fettle; a second tool can be added.
func TestNewTool(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command, which tests the written files, is not installed")
	}
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		return string(text)
	}
	module := regexp.MustCompile(`(?m)^module .*$`).ReplaceAllString(read("go.mod"), "module example.org/agent")
	write("go.mod", module+"\nrequire github.com/fettle-dev/fettle v0.0.0\n\nreplace github.com/fettle-dev/fettle => "+filepath.ToSlash(root)+"\n")
	write("go.sum", read("go.sum"))
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), trimmed, "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %q: %s", name, args, out)
	}
	run("fettle", "new", "tool", "count_words", "--dir", "internal/words")
	run("fettle", "new", "tool", "list_windows", "--dir", "internal/words")
	run("fettle", "new", "tool", "string")
	require.FileExists(t, filepath.Join(dir, "stringtool", "string_tool.go"))
	run("go", "vet", "./...")
	run("go", "test", "./...")
}

// In fettle's own repository a new tool is a built-in tool, which passes its test in
// a copy of the files that such a tool needs.
func TestNewBuiltInTool(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command, which tests the written files, is not installed")
	}
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), trimmed, "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %q: %s", name, args, out)
		return string(out)
	}
	require.NoError(t, os.CopyFS(filepath.Join(dir, "core"), os.DirFS(filepath.Join("..", "core"))))
	require.Contains(t, run("fettle", "new", "tool", "count_words", "--json"), "core/policy/wellknown.go")
	require.FileExists(t, filepath.Join(dir, "core", "tools", "countwords", "count_words_tool.go"))
	run("go", "vet", "./core/tools/countwords")
	run("go", "test", "./core/tools/countwords")
}
