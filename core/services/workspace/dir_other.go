//go:build !linux

package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// readNames reads a directory through package os, which returns types with the names.
func readNames(file *os.File, in directory, _ []byte, yield func(Name) bool) error {
	const batch = 256
	for {
		entries, err := file.ReadDir(batch)
		for _, e := range entries {
			mode := e.Type()
			if mode&fs.ModeIrregular != 0 {
				info, err := in.lstat(e.Name())
				if err != nil {
					continue
				}
				mode = info.Mode.Type()
			}
			if !yield(Name{e.Name(), mode}) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
