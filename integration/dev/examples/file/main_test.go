package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FD-01: the program of the README changes the file in the working directory.
func TestProgram(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("hello.txt", []byte("hello\n"), 0o600))
	main()
	data, err := os.ReadFile("hello.txt")
	require.NoError(t, err)
	require.Equal(t, "hello, world\n", string(data))
}

// FD-01: the program has at most 25 lines.
func TestLines(t *testing.T) {
	text, err := os.ReadFile("main.go")
	require.NoError(t, err)
	_, program, _ := strings.Cut(string(text), "// code: program\n")
	program, _, found := strings.Cut(program, "\n// code: end")
	require.True(t, found)
	require.LessOrEqual(t, strings.Count(program, "\n"), 25)
}
