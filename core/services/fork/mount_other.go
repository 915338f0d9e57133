//go:build !linux

package fork

import (
	"context"

	"github.com/fettle-dev/fettle/core/fault"
)

type mounting struct{}

func (*Mount) lock(context.Context, bool) (func(), error) {
	return nil, fault.New(fault.ForkUnsupported, "fork.mount", "This system has no overlays.", "Set fork.copy to true, so that the fork is a copy of the directories.")
}

func (*Mount) begin(context.Context) error { return nil }

func (*Mount) end(context.Context) error { return nil }

func (*Mount) release() {}
