package extensionstore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// EX-03: every template can be installed without problems.
func TestNew(t *testing.T) {
	for _, template := range append(extensionstore.Templates(), "") {
		t.Run("template "+template, func(t *testing.T) {
			w := newWorld(t)
			dir := filepath.Join(w.home, "deep", "my-ext")
			written, err := extensionstore.New(extensionstore.Skeleton{Dir: dir, Template: template})
			require.NoError(t, err)
			require.Contains(t, written, filepath.Join(dir, "fettle-extension.json"))
			v, err := w.store().Validate(t.Context(), dir)
			require.NoError(t, err)
			require.Empty(t, v.Findings)
			require.True(t, v.Valid)
			require.Equal(t, "my-ext", v.Name)
			require.NotEqual(t, extensionstore.Parts{}, v.Brings)
			_, err = w.store().Install(t.Context(), extensionstore.InstallRequest{Source: dir}, w.user)
			require.NoError(t, err)
			for _, file := range written {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				require.NotContains(t, string(text), "EXTENSION-NAME")
				require.NotContains(t, string(text), "CONTEXT-FILE")
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	require.NoError(t, os.Mkdir(taken, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(taken, "fettle-extension.json"), []byte("mine"), 0o644))
	for k, code := range map[extensionstore.Skeleton]fault.Code{
		{}:                                      fault.InvalidToolParams,
		{Dir: filepath.Join(dir, "a_b")}:        fault.InvalidToolParams,
		{Dir: filepath.Join(dir, "none")}:       fault.InvalidToolParams,
		{Dir: dir + "/a", Template: "plain"}:    fault.InvalidToolParams,
		{Dir: dir + "/a", Template: "../plain"}: fault.InvalidToolParams,
		{Dir: taken, Template: "hooks"}:         fault.AttemptToCreateExist,
	} {
		_, err := extensionstore.New(k)
		require.Equal(t, code, fault.CodeOf(err), "%+v: %v", k, err)
	}
	entries, err := os.ReadDir(taken)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	text, err := os.ReadFile(filepath.Join(taken, "fettle-extension.json"))
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))
}

// A file in the place of a directory fails, and leaves nothing.
func TestNewTakesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "skills"), nil, 0o644))
	_, err := extensionstore.New(extensionstore.Skeleton{Dir: dir, Template: "skills"})
	require.Equal(t, fault.FileWriteFailure, fault.CodeOf(err))
	require.NoFileExists(t, filepath.Join(dir, "fettle-extension.json"))
}
