//go:build !linux

package workspace

import (
	"errors"
	"os"
)

func (o Overlay) opener() (func(string) (directory, error), error) {
	return nil, unsupportedFork("this system has no overlays", errors.ErrUnsupported)
}

// RemoveMade removes an empty directory that a change has created in a directory with that role.
func RemoveMade(dir string, _ Layer) error { return os.Remove(dir) }
