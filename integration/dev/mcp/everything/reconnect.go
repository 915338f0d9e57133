package main

import (
	"context"
	"time"

	"github.com/fettle-dev/fettle/core/tools"
)

// addReconnectionTool adds a tool that disconnects its host during a call, if the
// host can reconnect.
func addReconnectionTool(b *toolbox) {
	b.add(tools.Define("test_reconnection", "Ends the connection while it runs. The host receives the result after it has reconnected.", tools.KindRead,
		func(ctx context.Context, _ none) (tools.Result, error) {
			if host, ok := tools.HostOf(ctx).(tools.DisconnectingHost); ok {
				host.Disconnect(10 * time.Millisecond)
			}
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return tools.Result{}, err
			}
			return say("The host has reconnected."), nil
		}, tools.WithParallel()))
}
