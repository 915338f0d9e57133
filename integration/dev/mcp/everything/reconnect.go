package main

import (
	"context"
	"time"

	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// addReconnectionTool adds a tool that disconnects its host during a call, if the
// host can reconnect.
func addReconnectionTool(b *toolbox) {
	b.add(tools.Define("test_reconnection", "Ends the connection while it runs. The host receives the result after it has reconnected.", tools.KindRead,
		func(ctx context.Context, _ none) (tools.Result, error) {
			if h, ok := host.FromContext(ctx).(host.DisconnectingHost); ok {
				h.Disconnect(10 * time.Millisecond)
			}
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return tools.Result{}, err
			}
			return say("The host has reconnected."), nil
		}, tools.WithParallel()))
}
