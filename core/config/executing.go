package config

import (
	"context"
	"slices"

	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// executing joins functions that run right before a call, in their order. The
// functions that they return run in reverse order. An error of one ends the earlier
// ones and keeps the call from running.
func executing(all []scheduler.Executing) scheduler.Executing {
	if len(all) == 1 {
		return all[0]
	}
	return func(ctx context.Context, p scheduler.Proposal, inv tools.ToolInvocation) (func(context.Context, bool) []string, error) {
		var ends []func(context.Context, bool) []string
		ended := func(ctx context.Context, again bool) (notices []string) {
			for _, end := range slices.Backward(ends) {
				notices = append(notices, end(ctx, again)...)
			}
			return notices
		}
		for _, one := range all {
			end, err := one(ctx, p, inv)
			if err != nil {
				ended(ctx, false)
				return nil, err
			}
			if end != nil {
				ends = append(ends, end)
			}
		}
		return ended, nil
	}
}
