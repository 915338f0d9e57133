package readonly_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy/readonly"
)

// PB-01: the commands of each option, run in a directory with files named like
// options: nothing is written, and no program of the directory runs.
func TestNothingChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs thousands of commands")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"f": "a\nb\n", "p": "a\n", "x": "touch ran\n", "-i": "", "--pre=x": "", "-o": "", "-delete": "", "--output=out": "", "auto": "a\n", "3": "", "%h": "", "a.json": "{}",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
	before := tree(t, dir)
	endless := []string{"sleep", "tail", "free", "timeout", "bash", "xargs", "git", "go"}
	for _, r := range readonly.Rows() {
		words, operands := begins(t, r)
		if _, err := exec.LookPath(words[0]); err != nil || slices.Contains(endless, words[0]) || r.Is("wraps") {
			continue
		}
		for _, o := range r.Options {
			given := append(slices.Clone(words), o.Name)
			if !o.Optional {
				for _, kind := range o.Values {
					given = append(given, values[kind])
				}
			}
			given = append(append(given, operands...), "f", "x")
			for check(given...) != "" && len(given) > len(words)+1 {
				given = given[:len(given)-1]
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			cmd := exec.CommandContext(ctx, given[0], given[1:]...) //nolint:gosec // the table lists them
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH") + ":" + dir, "HOME=" + dir, "LC_ALL=C"}
			_ = cmd.Run()
			cancel()
			require.Equal(t, before, tree(t, dir), "%q", given)
		}
	}
}

// tree returns the files of a directory with their contents.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, err := os.ReadFile(path)
			b.WriteString(path + "=" + string(text) + "\n")
			return err
		}
		b.WriteString(path + "\n")
		return err
	}))
	return b.String()
}
