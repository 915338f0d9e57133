package process_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/process"
)

// FK-03: a save of an editor while a command runs in a fork is a conflict with the command's change of the same file, and with no
// other one.
func TestOverlaysBesideEditor(t *testing.T) { both(t, testOverlaysBesideEditor) }

func testOverlaysBesideEditor(t *testing.T, top string) {
	const clean, doubted = "clean", "unknown_base"
	save := func(ws, name string) error {
		path := filepath.Join(ws, name)
		if err := os.WriteFile(path+"~", []byte("editor\n"), 0o600); err != nil {
			return err
		}
		return os.Rename(path+"~", path)
	}
	for name, tt := range map[string]struct {
		edit func(ws string) error
		want map[string]string
	}{
		"nothing":     {func(string) error { return nil }, map[string]string{"a": clean, "d/b": clean, "d/n": clean, "d/e/f": clean}},
		"by rename":   {func(ws string) error { return save(ws, "a") }, map[string]string{"a": doubted, "d/b": clean, "d/n": clean, "d/e/f": clean}},
		"in place":    {func(ws string) error { return os.WriteFile(filepath.Join(ws, "d/b"), []byte("editor\n"), 0o600) }, map[string]string{"a": clean, "d/b": doubted, "d/n": clean, "d/e/f": clean}},
		"elsewhere":   {func(ws string) error { return save(ws, "other") }, map[string]string{"a": clean, "d/b": clean, "d/n": clean, "d/e/f": clean}},
		"a neighbour": {func(ws string) error { return save(ws, "d/g") }, map[string]string{"a": clean, "d/b": clean, "d/n": doubted, "d/e/f": clean}},
		"a directory": {func(ws string) error {
			if err := os.Rename(filepath.Join(ws, "d"), filepath.Join(ws, "old")); err != nil {
				return err
			}
			return os.Rename(filepath.Join(ws, "z"), filepath.Join(ws, "d"))
		}, map[string]string{"a": clean, "d/b": doubted, "d/n": doubted, "d/e/f": doubted}},
		"a new file": {func(ws string) error { return os.WriteFile(filepath.Join(ws, "d/n"), []byte("editor\n"), 0o600) }, map[string]string{"a": clean, "d/b": clean, "d/n": doubted, "d/e/f": clean}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp(top, "")
			require.NoError(t, err)
			f := newForked(t, dir, map[string]string{"a": "a\n", "d/b": "b\n", "d/e/f": "f\n", "d/g": "g\n", "other": "o\n", "z/b": "z\n", "z/e/f": "z\n"}, nil)
			var once sync.Once
			r, err := f.s.Run(t.Context(), process.Command{
				Line: "cat a d/b >/dev/null; echo $TMPDIR; until test -e $TMPDIR/go; do sleep 0.01; done; echo mine >>a; rm d/b; echo mine >d/n; chmod 755 d/e/f", Dir: f.ws,
				Output: func(chunk string) {
					once.Do(func() {
						assert.NoError(t, tt.edit(f.ws))
						assert.NoError(t, os.WriteFile(filepath.Join(strings.TrimSpace(chunk), "go"), nil, 0o600))
					})
				},
			})
			require.NoError(t, err)
			require.NoError(t, r.Unrecorded)
			report, err := f.f.Compare(t.Context(), nil)
			require.NoError(t, err)
			got := make(map[string]string)
			for _, file := range report.Files {
				got[file.Path] = string(file.Verdict)
				if file.Kind != "" {
					got[file.Path] = string(file.Kind)
				}
			}
			require.Equal(t, tt.want, got)
		})
	}
}
