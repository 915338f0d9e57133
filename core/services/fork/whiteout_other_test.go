//go:build !linux

package fork_test

import (
	"context"
	"errors"

	"github.com/fettle-dev/fettle/core/services/fork"
)

func whiteout(string) error { return errors.ErrUnsupported }

func opaque(string) error { return errors.ErrUnsupported }

func childCommand(context.Context, *fork.Store, string, func() error) error {
	return errors.ErrUnsupported
}
