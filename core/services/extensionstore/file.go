package extensionstore

import (
	"errors"
	"io/fs"
)

// Maximum sizes of files.
const (
	maxManifest = 1 << 20
	maxHooks    = 1 << 20
	maxState    = 1 << 20 // files of fettle, and .env files
)

// cause returns an error of a file without the path.
func cause(err error) string {
	if e := new(fs.PathError); errors.As(err, &e) {
		err = e.Err
	}
	return err.Error()
}
