package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FD-01: the program of the README changes the file in the working directory.
func Example() {
	dir, err := os.MkdirTemp("", "readme")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chdir(dir); err != nil {
		panic(err)
	}
	if err := os.WriteFile("hello.txt", []byte("hello\n"), 0o644); err != nil {
		panic(err)
	}
	main()
	data, err := os.ReadFile("hello.txt")
	fmt.Printf("%s%v", data, err)
	// Output:
	// hello.txt: "hello, world\n", version 853ff93762a0
	// hello, world
	// <nil>
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
