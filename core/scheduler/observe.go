package scheduler

import (
	"context"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// Observe is told that a call begins, for telemetry and statistics. It returns
// the context that the call goes on with, as one with a span, and a function
// that is called once with the call's response; nil stands for the same context
// and for nothing. It changes nothing of the call, and what goes wrong in it goes
// to Options.OnDefect.
type Observe func(ctx context.Context, r Request) (context.Context, func(Response))

// observed calls the observers in order, and returns what calls those that they
// have returned, the last first.
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

// guard keeps what goes wrong in an observer from the call.
func (s *Scheduler) guard(tool string, run func()) {
	err := tools.Protect(tool, "observe", func() error {
		run()
		return nil
	})
	if err != nil {
		s.report(fault.Wrap(fault.UnhandledException, "scheduler.observe", "An observer of calls made a mistake: "+err.Error(), "", err))
	}
}
