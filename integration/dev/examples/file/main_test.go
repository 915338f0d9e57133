package main

import (
	"context"
	"os"
)

// UI-06: the program of the README changes a file once, and its second change is refused.
func Example_replaceGreeting() {
	dir, err := os.MkdirTemp("", "readme")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(dir+"/hello.txt", []byte("Good morning\n"), 0o644); err != nil {
		panic(err)
	}
	if err := replaceGreeting(context.Background(), dir); err != nil {
		panic(err)
	}
	// Output:
	// success
	// error file_changed_since_read
}
