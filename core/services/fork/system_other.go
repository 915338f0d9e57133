//go:build !linux

package fork

import (
	"errors"
	"fmt"
	"os"
)

func clone(_, _ *os.File) bool { return false }

func probe(string) error {
	return fmt.Errorf("this system has no overlays: %w", errors.ErrUnsupported)
}

func isWhiteout(string) bool { return false }

func isOpaque(string) bool { return false }

func isForged(string) bool { return false }

func exchange(*os.File, string, string) error { return errors.ErrUnsupported }

func renameNew(*os.File, string, string) error { return errors.ErrUnsupported }

func clearOpaque(string) error { return errors.ErrUnsupported }
