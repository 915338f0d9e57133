package integration_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	referenceDir     = "../docs/reference"
	referenceCommand = "go test ./integration -run TestReference -update"
)

// The pages in docs/reference match the code, and there are no others. -update
// rewrites them.
func TestReference(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"cli.md":         commandReference(t),
		"errors.md":      errorReference(t),
		"events.md":      eventReference(t),
		"environment.md": environmentReference(t),
	}
	for name, page := range want {
		want[name] = requirements.ReplaceAllString(page, "")
	}
	if *update {
		require.NoError(t, os.MkdirAll(referenceDir, 0o755))
		for name, page := range want {
			require.NoError(t, os.WriteFile(filepath.Join(referenceDir, name), []byte(page), 0o644))
		}
	}
	have, err := os.ReadDir(referenceDir)
	require.NoError(t, err)
	for _, entry := range have {
		if want[entry.Name()] == "" && entry.Name() != "README.md" {
			t.Errorf("docs/reference/%s is not generated: remove it", entry.Name())
		}
	}
	for name, page := range want {
		got, err := os.ReadFile(filepath.Join(referenceDir, name))
		require.NoError(t, err)
		if strings.ReplaceAll(string(got), "\r\n", "\n") != page {
			t.Errorf("docs/reference/%s differs from the code; %s rewrites it", name, referenceCommand)
		}
	}
}

// requirements matches requirement numbers in comments, which mean nothing to readers
// of the pages.
var requirements = regexp.MustCompile(` \([A-Z]{2}-[0-9]{2}(, [A-Z]{2}-[0-9]{2})*\)`)

// referencePage starts a page.
func referencePage(title, intro string) *strings.Builder {
	var b strings.Builder
	b.WriteString("# " + title + "\n\n<!-- Written by a test from the code: " + referenceCommand + " -->\n\n" + intro + "\n")
	return &b
}

// inCell escapes a text for a table cell.
func inCell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

// marked returns a text as code in a table cell; "" stays "".
func marked(s string) string {
	if s == "" {
		return ""
	}
	return "`" + inCell(s) + "`"
}
