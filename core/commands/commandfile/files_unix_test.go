//go:build unix

package commandfile_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/commands/commandfile"
)

// A pipe without a writer does not block.
func TestFilesPipe(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.toml"), 0o600))
	all, problems, err := commandfile.New(commandfile.Options{Dirs: []commandfile.Dir{{Path: dir}}}).Load(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].Message, "not a regular file")
}
