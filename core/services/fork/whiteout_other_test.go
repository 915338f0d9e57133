//go:build !linux

package fork_test

import "errors"

func whiteout(string) error { return errors.ErrUnsupported }

func opaque(string) error { return errors.ErrUnsupported }
