package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// addSpeakingTools adds tools that send messages to their host during a call:
// [host.FromContext] returns the caller's host.
func addSpeakingTools(b *toolbox) {
	b.add(tools.Define("test_tool_with_logging", "Logs three messages of level info while it runs.", tools.KindRead,
		func(ctx context.Context, _ none) (tools.Result, error) {
			for i, message := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
				if i > 0 {
					if err := pause(ctx, 50*time.Millisecond); err != nil {
						return tools.Result{}, err
					}
				}
				logInfo(ctx, message)
			}
			return say("Three messages were logged."), nil
		}, tools.WithParallel()))

	b.add(tools.Define("test_logging_tool", "Logs one message of level info.", tools.KindRead,
		func(ctx context.Context, _ none) (tools.Result, error) {
			logInfo(ctx, "test_logging_tool runs")
			return say("A message was logged. Clients receive it if they requested its level."), nil
		}, tools.WithParallel()))

	b.add(tools.Define("test_tool_with_progress", "Reports its progress: 0, 50 and 100 of 100.", tools.KindRead,
		func(ctx context.Context, _ none) (tools.Result, error) {
			h := host.FromContext(ctx)
			for _, done := range []float64{0, 50, 100} {
				if done > 0 {
					if err := pause(ctx, 50*time.Millisecond); err != nil {
						return tools.Result{}, err
					}
				}
				h.Progress(host.Progress{Done: done, Total: 100, Message: "working"})
			}
			return say("Progress was reported three times."), nil
		}, tools.WithParallel()))

	// A failure that the model should see is a fault.Error with a remedy.
	b.add(tools.Define("test_error_handling", "Always fails.", tools.KindRead,
		func(context.Context, none) (tools.Result, error) {
			return tools.Result{}, fault.New(fault.ExecutionFailed, "test_error_handling",
				"This tool intentionally returns an error for testing.", "Call another tool.")
		}, tools.WithParallel()))
}

func logInfo(ctx context.Context, message string) {
	data, err := json.Marshal(message)
	if err == nil {
		host.FromContext(ctx).Log(host.LogEntry{Level: host.LogInfo, Logger: "everything", Data: data})
	}
}

// pause waits, unless the call is cancelled meanwhile.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
