package scheduler

import (
	"context"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// Observe is called at the start of a call, for telemetry and statistics. It returns the context of the call, for
// example with a span, and a function that is called once with the response; nil means the same context and no function.
// The request is the caller's: its CallID is empty if the caller chose none, as for the files that a prompt names.
// An observer cannot change the call. Its errors go to Options.OnDefect.
type Observe func(ctx context.Context, r Request) (context.Context, func(Response))

// observed calls the observers in order, and returns a function that calls their returned functions in reverse order.
func (s *Scheduler) observed(ctx context.Context, r Request) (context.Context, func(Response)) {
	if len(s.o.Observe) == 0 {
		return ctx, func(Response) {}
	}
	ended := make([]func(Response), 0, len(s.o.Observe))
	for _, observe := range s.o.Observe {
		s.guard(r.Tool, func() {
			within, end := observe(ctx, r)
			if within != nil {
				ctx = within
			}
			if end != nil {
				ended = append(ended, end)
			}
		})
	}
	return ctx, func(resp Response) {
		for i := len(ended) - 1; i >= 0; i-- {
			s.guard(r.Tool, func() { ended[i](resp) })
		}
	}
}

// guard recovers from panics of an observer.
func (s *Scheduler) guard(tool string, run func()) {
	err := tools.Protect(tool, "observe", func() error {
		run()
		return nil
	})
	if err != nil {
		s.report(fault.Wrap(fault.UnhandledException, "scheduler.observe", "An observer of calls failed: "+err.Error(), "", err))
	}
}
