package markdown

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/theme"
)

var update = flag.Bool("update", false, "rewrite what renderings are compared with")

var sixteen = theme.New(theme.Options{Name: theme.ANSI, Profile: colorprofile.ANSI})

// Each file of testdata at three terminal widths.
func TestRender(t *testing.T) {
	sources, err := filepath.Glob("testdata/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, source := range sources {
		text, err := os.ReadFile(source)
		require.NoError(t, err)
		for _, columns := range []int{80, 40, 20} {
			compare(t, fmt.Sprintf("%s.%d", source, columns), Render(string(text), columns, theme.Theme{}))
		}
		compare(t, source+".ansi", Render(string(text), 60, sixteen))
		compare(t, source+".dark", Highlighted(string(text), 60, dark, colours))
		compare(t, source+".ascii", Render(string(text), 60, theme.Theme{ASCII: true}))
	}
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, file)
}
