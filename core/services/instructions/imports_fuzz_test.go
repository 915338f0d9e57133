package instructions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Imports come from the workspace, are bounded, and end, for any text.
func FuzzImports(f *testing.F) {
	for _, s := range []string{"@a.md", "@../secret.md @/etc/passwd @~/x", "@out.md @dir/../../secret.md", "@AGENTS.md @loop.md", "`@a.md` @a.md,", "@./a.md\n```\n@a.md\n", "@a.md\x00 @\xff/x", strings.Repeat("@loop.md ", 50)} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, content string, flat bool) {
		top := tree(t, "secret.md do not show", "ws/a.md A", "ws/loop.md @AGENTS.md @a.md", "ws/out.md ->../secret.md", "ws/dir/x.md @../a.md")
		require.NoError(t, os.WriteFile(filepath.Join(top, "ws", "AGENTS.md"), []byte(content), 0o600))
		o := Options{}
		if flat {
			o.Imports = ImportFlat
		}
		w, err := workspace.Open(filepath.Join(top, "ws"))
		require.NoError(t, err)
		defer func() { require.NoError(t, w.Close()) }()
		p, err := w.Resolve("x.go")
		require.NoError(t, err)
		docs, err := New(w, o).For(t.Context(), p, nil)
		require.NoError(t, err)
		for _, d := range docs {
			require.True(t, utf8.ValidString(d.Text))
			require.LessOrEqual(t, len(d.Text), 600*(len(content)+1)+maxExpanded)
			if !strings.Contains(content, "do not show") {
				require.NotContains(t, d.Text, "do not show")
			}
		}
	})
}
