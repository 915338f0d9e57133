// Program codemod replaces a word in all text files of a directory: in all of them, or in none.
package main

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"os"
	"strings"

	"github.com/fettle-dev/fettle/core/files"
)

func main() {
	dir, recovery, from, to := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	changed, err := replaceAll(context.Background(), dir, recovery, from, to)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("changed:", strings.Join(changed, ", "))
}

// code: replaceAll
// replaceAll replaces a word in the text files of a directory, and returns the names of the changed
// ones. recovery is a directory outside of it, which undoes or completes the work of a killed run.
func replaceAll(ctx context.Context, name, recovery, from, to string) (changed []string, err error) {
	dir, err := files.Open(name, files.Options{Rebase: true, Recovery: recovery})
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if _, err := dir.Recover(ctx); err != nil {
		return nil, err
	}
	var changes []files.Change
	err = fs.WalkDir(os.DirFS(name), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		file, err := dir.Read(ctx, path)
		if err != nil {
			return err
		}
		text, err := file.Text()
		if err != nil || !strings.Contains(text, from) {
			return nil // not text, or without the word
		}
		data, err := file.Encode(strings.ReplaceAll(text, from, to))
		changes = append(changes, files.Write(file, data))
		return err
	})
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	after, err := dir.Apply(ctx, changes...)
	for _, file := range after {
		changed = append(changed, file.Name)
	}
	return changed, err
}

// code: end
