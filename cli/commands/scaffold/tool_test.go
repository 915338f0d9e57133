package scaffold

import (
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The created files are formatted as by gofmt for every tool name.
func TestNewToolIsFormatted(t *testing.T) {
	for _, name := range []string{"a", "count_words", strings.Repeat("long_", 10) + "name", "range"} {
		for _, builtIn := range []bool{false, true} {
			made, err := planTool(t.TempDir(), name, "", strings.ReplaceAll(name, "_", "")+"tool")
			require.NoError(t, err)
			made.builtIn = builtIn
			_, templates := made.templates()
			for _, file := range templates {
				got, err := made.fill(file)
				require.NoError(t, err)
				require.NotContains(t, got, "{{", "%s of %s", file, name)
				want, err := format.Source([]byte(got))
				require.NoError(t, err, "%s of %s", file, name)
				require.Equal(t, string(want), got, "%s of %s", file, name)
			}
		}
	}
}

func TestPackageClause(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"plain":        {"package main\n", "main"},
		"comments":     {"// package one\n\n/* package\ntwo */ package /* x */ three // four\n\nimport \"fmt\"\n", "three"},
		"constraint":   {"//go:build linux\n\npackage p\n", "p"},
		"empty":        {"", ""},
		"other":        {"func main() {}\n", ""},
		"no name":      {"package \"p\"\n", ""},
		"unfinished":   {"package", ""},
		"not in UTF-8": {"\xff\xfepackage p\n", ""},
		"broken":       {"/* package p\n", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.go")
			require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o600))
			require.Equal(t, tt.want, packageClause(file))
		})
	}
	require.Empty(t, packageClause(filepath.Join(t.TempDir(), "none.go")))
}
