package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// FD-01: the codemod changes text in its encoding, and no file that is not text.
func Example() {
	dir, err := os.MkdirTemp("", "codemod")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	project := filepath.Join(dir, "project")
	if err := os.MkdirAll(filepath.Join(project, "sub"), 0o755); err != nil {
		panic(err)
	}
	for name, text := range map[string]string{"a": "old\r\n", "b": "\x00old", "sub/c": "an old word", "d": "new\n"} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o644); err != nil {
			panic(err)
		}
	}
	os.Args = []string{"codemod", project, filepath.Join(dir, "recovery"), "old", "new"}
	main()
	// Output: changed: a, sub/c
}

// FD-01: if one file cannot be changed, none is.
func TestNone(t *testing.T) {
	project, recovery := t.TempDir(), filepath.Join(t.TempDir(), "recovery")
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.WriteFile(filepath.Join(project, name), []byte("old\n"), 0o644))
	}
	require.NoError(t, os.Link(filepath.Join(project, "b"), filepath.Join(t.TempDir(), "second")))
	_, err := replaceAll(context.Background(), project, recovery, "old", "new")
	require.Equal(t, fault.FileWriteFailure, fault.CodeOf(err), "%v", err)
	data, err := os.ReadFile(filepath.Join(project, "a"))
	require.NoError(t, err)
	require.Equal(t, "old\n", string(data))
}
