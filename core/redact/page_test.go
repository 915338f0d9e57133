package redact_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/redact"
)

var update = flag.Bool("update", false, "rewrite the table of docs/secrets.md")

// The published table matches the code.
func TestPage(t *testing.T) {
	const path, begin, end = "../../docs/secrets.md", "-update -->\n", "<!-- /generated -->"
	var table strings.Builder
	table.WriteString("\n| secret | shape |\n|---|---|\n")
	names := map[string]bool{}
	for _, s := range redact.Shapes() {
		require.False(t, names[s.Name], s.Name)
		names[s.Name] = true
		fmt.Fprintf(&table, "| %s | %s |\n", s.Name, s.Form)
	}
	table.WriteString("\n")
	require.Greater(t, len(names), 60)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(data), begin)
	require.True(t, found)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found)
	want := before + begin + table.String() + end + after
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
		return
	}
	require.Equal(t, want, string(data), "go test ./core/redact -run TestPage -update writes it again")
}
