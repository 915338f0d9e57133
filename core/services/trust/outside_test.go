package trust_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// Record replaces the approvals of one project and no other.
func TestOutside(t *testing.T) {
	top := t.TempDir()
	dir := func(name string) string {
		path := filepath.Join(top, name)
		require.NoError(t, os.MkdirAll(path, 0o755))
		return path
	}
	a, b, etc, opt := dir("a"), dir("b"), dir("etc"), dir("opt")
	link := filepath.Join(top, "link")
	require.NoError(t, os.Symlink(a, link))
	file := filepath.Join(top, "home", "trusted_outside.json")
	o := trust.OpenOutsideApprovals(file)
	of := func(project string) []string {
		list, err := o.Approved(project)
		require.NoError(t, err)
		return list
	}

	require.Empty(t, of(a))
	require.NoError(t, o.Record(t.Context(), a, nil))
	require.NoFileExists(t, file, "nothing to record")
	require.NoError(t, o.Record(t.Context(), link, []string{opt, etc, etc}))
	require.Equal(t, []string{etc, opt}, of(a))
	require.Equal(t, []string{etc, opt}, of(link))
	require.Empty(t, of(b))
	require.NoError(t, o.Record(t.Context(), b, []string{etc}))
	require.NoError(t, o.Record(t.Context(), a, []string{opt}))
	require.Equal(t, []string{opt}, of(a))
	require.NoError(t, o.Record(t.Context(), a, nil))
	require.Empty(t, of(a))
	require.Equal(t, []string{etc}, of(b))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, fault.Cancelled, fault.CodeOf(o.Record(ended, a, []string{etc})))
	for _, text := range []string{`{"x"`, `[]`, `{"a": "b"}`, strings.Repeat(" ", 2<<20)} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := o.Approved(a)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), "%.20s", text)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(o.Record(t.Context(), a, []string{etc})), "%.20s", text)
	}
}

// A directory covers itself and all directories below, links resolved.
func TestCovers(t *testing.T) {
	top := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(top, "a", "sub"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(top, "ab"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(top, "ab"), filepath.Join(top, "a", "out")))
	require.NoError(t, os.Symlink(filepath.Join(top, "a"), filepath.Join(top, "in")))
	for path, want := range map[string]bool{
		"a": true, "a/sub": true, "in/sub": true, "a/new": true,
		"ab": false, "a/out": false, "a/../ab": false, ".": false, "a/out/..": true, // paths are cleaned before links are resolved
	} {
		require.Equal(t, want, trust.Covers([]string{filepath.Join(top, "a")}, top+"/"+path), path)
	}
	require.False(t, trust.Covers(nil, top))
	require.False(t, trust.Covers([]string{""}, top))
	require.False(t, trust.Covers([]string{top}, ""))
}
