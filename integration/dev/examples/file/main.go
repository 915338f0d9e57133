// Program file is the first example of README.md: it reads a file and changes it.

// code: program
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/fettle-dev/fettle/core/files"
)

func main() {
	dir, err := files.Open(".", files.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer dir.Close()
	hello, err := dir.Read(context.Background(), "hello.txt")
	if err == nil {
		hello, err = dir.Patch(context.Background(), hello, "@@ -1 +1 @@\n-hello\n+hello, world\n")
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %q, version %.12s\n", hello.Name, hello.Data, hello.SHA256)
}

// code: end
