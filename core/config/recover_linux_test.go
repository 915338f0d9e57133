package config_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/commit"
)

// recoveryDir finds the recovery directory of the project at target: the
// user's settings directory has one per project.
func recoveryDir(t *testing.T, home, target string) string {
	t.Helper()
	file := filepath.Join(target, "a.txt")
	require.NoError(t, os.WriteFile(file, []byte("a\n"), 0o600))
	require.NoError(t, os.Link(file, filepath.Join(target, "b.txt")))
	c := newConfig(t, config.Parameters{TargetDir: target, Environment: config.Environment{HomeDir: home}, Policy: config.Policy{ApprovalMode: "yolo"}})
	require.NoError(t, c.Initialize(t.Context()))
	r := call(t, c, "write_file", map[string]any{"file_path": "a.txt", "content": "b\n", "base_content_sha256": read(t, c, "a.txt").SHA256})
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
	found, err := filepath.Glob(filepath.Join(home, ".fettle", "tmp", "*", "recovery"))
	require.NoError(t, err)
	require.Len(t, found, 1, "a file with two names is written through the recovery directory")
	return found[0]
}

func TestRecover(t *testing.T) { // FS-64
	target, home := t.TempDir(), t.TempDir()
	dir := recoveryDir(t, home, target)
	part, broken := filepath.Join(dir, "1.part"), filepath.Join(dir, "2.recovery")
	require.NoError(t, os.WriteFile(part, []byte("half"), 0o600))
	require.NoError(t, os.WriteFile(broken, []byte("not a recovery file"), 0o600))

	c := newConfig(t, config.Parameters{TargetDir: target, Environment: config.Environment{HomeDir: home}})
	require.NoError(t, c.Initialize(t.Context()))
	require.FileExists(t, part, "Initialize changes no file: a command that only lists tools initializes too")

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Recover(gone)
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.FileExists(t, part)

	child, err := c.Derive(config.DeriveParameters{})
	require.NoError(t, err)
	defer child.Close()
	for range 2 {
		for _, each := range []*config.Config{c, child} {
			left, err := each.Recover(t.Context())
			require.NoError(t, err)
			require.Len(t, left, 1)
			require.Equal(t, commit.LeftoverUnresolved, left[0].State)
			require.Equal(t, broken, left[0].Record)
			require.NoFileExists(t, part)
		}
	}
}

func TestRecoverSet(t *testing.T) { // TX-03
	target, home := t.TempDir(), t.TempDir()
	dir := recoveryDir(t, home, target)
	file, temp := filepath.Join(target, "c.txt"), filepath.Join(target, ".fettle-set-0123456789abcdef-0")
	require.NoError(t, os.WriteFile(file, []byte("new\n"), 0o600))
	require.NoError(t, os.WriteFile(temp, []byte("old\n"), 0o600))
	journal := filepath.Join(dir, "0123456789abcdef.set-exchanging")
	require.NoError(t, os.WriteFile(journal, fmt.Appendf(nil, `{"version": 1, "files": [{"path": %[1]q, "dir": %[2]q, "name": "c.txt", "temp": %[3]q, "old": "%[4]x", "new": "%[5]x", "new_size": 4}]}`,
		file, target, filepath.Base(temp), sha256.Sum256([]byte("old\n")), sha256.Sum256([]byte("new\n"))), 0o600))

	c := newConfig(t, config.Parameters{TargetDir: target, Environment: config.Environment{HomeDir: home}})
	require.NoError(t, c.Initialize(t.Context()))
	left, err := c.Recover(t.Context())
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, commit.LeftoverUndone, left[0].State)
	require.Equal(t, []string{file}, left[0].Set)
	require.Equal(t, journal, left[0].Record)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "old\n", string(data))
	require.NoFileExists(t, temp)
	require.NoFileExists(t, journal)
}
