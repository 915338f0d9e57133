package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli"
)

// Each visible command has a page in the manual, which man (if installed) reads
// without a warning; equal sources give equal files.
func TestWrite(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	require.NoError(t, write(one, "2026-11-22"))
	require.NoError(t, write(two, "2026-11-22T10:20:30Z"))
	pages, err := filepath.Glob(filepath.Join(one, "man", "man1", "*.1"))
	require.NoError(t, err)
	scripts, err := filepath.Glob(filepath.Join(one, "completions", "*"))
	require.NoError(t, err)
	require.Len(t, scripts, 4)
	for _, name := range append(pages, scripts...) {
		have, err := os.ReadFile(name)
		require.NoError(t, err)
		again, err := os.ReadFile(strings.Replace(name, one, two, 1))
		require.NoError(t, err)
		require.True(t, bytes.Equal(have, again), name)
		require.NotEmpty(t, have, name)
	}
	for _, path := range [][]string{{"fettle"}, {"fettle", "call"}, {"fettle", "mcp", "add"}, {"fettle", "policy", "check"}} {
		page, err := os.ReadFile(filepath.Join(one, "man", "man1", strings.Join(path, "-")+".1"))
		require.NoError(t, err)
		command, _, err := cli.CommandTree().Find(path[1:])
		require.NoError(t, err)
		require.Contains(t, string(page), "Nov 2026")
		require.Contains(t, string(page), command.Short)
	}
	page, err := os.ReadFile(filepath.Join(one, "man", "man1", "fettle-guard.1"))
	require.NoError(t, err)
	for _, command := range []string{"hook", "mcp", "import"} {
		require.Contains(t, string(page), "\nfettle\\-guard "+command, "%s", page)
	}
	require.Error(t, write(one, "the day before"))

	if man, err := exec.LookPath("man"); err == nil {
		cmd := exec.CommandContext(t.Context(), man, append([]string{"--warnings", "-E", "UTF-8", "-l"}, pages...)...)
		cmd.Dir = filepath.Join(one, "man")
		cmd.Env = append(os.Environ(), "MANPAGER=cat", "LC_ALL=C.UTF-8", "MAN_KEEP_STDERR=1")
		var complaints bytes.Buffer
		cmd.Stderr = &complaints
		out, err := cmd.Output()
		require.NoError(t, err)
		require.Empty(t, complaints.String())
		require.Contains(t, string(out), "SYNOPSIS")
	}
}

// The list of a program's modules names each with version and checksum.
func TestSBOM(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	to := filepath.Join(t.TempDir(), "list.json")
	require.NoError(t, writeSBOM(self, to))
	file, err := os.Open(to)
	require.NoError(t, err)
	defer file.Close()
	var bom cyclonedx.BOM
	require.NoError(t, cyclonedx.NewBOMDecoder(file, cyclonedx.BOMFileFormatJSON).Decode(&bom))
	names := map[string]string{}
	for _, c := range *bom.Components {
		require.Equal(t, "pkg:golang/"+c.Name+"@"+c.Version, c.PackageURL)
		names[c.Name] = c.Version
	}
	require.Contains(t, names, "github.com/spf13/cobra")
	require.Contains(t, names, "std")
	require.Len(t, (*(*bom.Metadata.Component).Hashes)[0].Value, 64)

	require.Error(t, writeSBOM(filepath.Join("..", "..", "LICENSE"), to), "no program")
}
