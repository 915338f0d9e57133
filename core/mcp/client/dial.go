package client

import (
	"context"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
)

// Dial implements [mcp.Dialer].
func (d *Dialer) Dial(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
	return nil, fault.New(fault.InvalidConfig, "mcp.dial", "No transport is spoken yet.", "")
}
