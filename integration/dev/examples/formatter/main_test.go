package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// FD-01: the formatter changes the files that are not formatted.
func Example() {
	dir, err := os.MkdirTemp("", "formatter")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"a.go": "package  a\n", "b.go": "package b\n", "c.txt": "package  c\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			panic(err)
		}
	}
	os.Args = []string{"formatter", dir}
	main()
	data, err := os.ReadFile(filepath.Join(dir, "a.go"))
	fmt.Printf("%s%v", data, err)
	// Output:
	// a.go
	// package a
	// <nil>
}

// FD-01: a file with a mistake stays as it is.
func TestMistake(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package  a {\n"), 0o644))
	require.Error(t, formatAll(context.Background(), dir))
	data, err := os.ReadFile(filepath.Join(dir, "a.go"))
	require.NoError(t, err)
	require.Equal(t, "package  a {\n", string(data))
}
