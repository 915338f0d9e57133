// Program formatter formats the Go files of a directory, beside editors that save them.
package main

import (
	"context"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/files"
)

func main() {
	if err := formatAll(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// formatAll formats the Go files below a directory, and prints the names of the changed ones.
func formatAll(ctx context.Context, name string) error {
	dir, err := files.Open(name, files.Options{})
	if err != nil {
		return err
	}
	defer dir.Close()
	return fs.WalkDir(os.DirFS(name), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || filepath.Ext(path) != ".go" {
			return err
		}
		return formatFile(ctx, dir, path)
	})
}

// code: formatFile
// formatFile formats a file. If an editor saves it meanwhile, it formats what the editor has saved.
func formatFile(ctx context.Context, dir *files.Dir, name string) error {
	for {
		file, err := dir.Read(ctx, name)
		if err != nil {
			return err
		}
		formatted, err := format.Source(file.Data)
		if err != nil || string(formatted) == string(file.Data) {
			return err
		}
		_, err = dir.Write(ctx, file, formatted)
		if errors.Is(err, &fault.Error{Code: fault.FileChangedSinceRead}) {
			continue
		}
		if err == nil {
			fmt.Println(name)
		}
		return err
	}
}

// code: end
