package extensions

import (
	"errors"
	"io/fs"
)

// Sizes up to which files are read.
const (
	maxManifest = 1 << 20
	maxHooks    = 1 << 20
	maxState    = 1 << 20 // of the files that fettle keeps, and of .env files
)

// cause is an error of a file without the name of the file.
func cause(err error) string {
	if e := new(fs.PathError); errors.As(err, &e) {
		err = e.Err
	}
	return err.Error()
}
