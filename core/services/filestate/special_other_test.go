//go:build !unix

package filestate

import (
	"errors"
	"testing"
)

func mkfifo(string) error { return errors.ErrUnsupported }

func mksocket(*testing.T, string) error { return errors.ErrUnsupported }
