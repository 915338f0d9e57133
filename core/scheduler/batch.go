package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// batch is the calls of one Run or RunAll, and their states.
type batch struct {
	*Scheduler
	given     []Request  // as the caller made them, for observers
	requests  []Request  // each with an ID
	responses []Response // each is written by its call alone

	mu      sync.Mutex
	states  []bus.ToolCallState
	endedAt int    // calls after this index do not start; len(requests) if all may
	because string // reason for endedAt, as a clause
}

// newBatch returns the batch of requests. A call without an ID gets a new one, so that listeners can tell it from others.
func (s *Scheduler) newBatch(requests []Request) *batch {
	given := requests
	if slices.ContainsFunc(requests, func(r Request) bool { return r.CallID == "" }) {
		requests = slices.Clone(requests)
		for i := range requests {
			if requests[i].CallID == "" {
				requests[i].CallID = bus.NewID()
			}
		}
	}
	b := &batch{
		Scheduler: s,
		given:     given,
		requests:  requests,
		responses: make([]Response, len(requests)),
		states:    make([]bus.ToolCallState, len(requests)),
		endedAt:   len(requests),
	}
	for i, r := range requests {
		b.states[i] = bus.ToolCallState{CallID: r.CallID, Name: r.Tool, Subagent: s.o.Subagent, Status: bus.StatusValidating}
		if s.watched(bus.ToolCallsUpdate{}) {
			b.states[i].Args = wireArgs(r.Args)
		}
	}
	return b
}

// runAll runs the groups sequentially.
func (b *batch) runAll(ctx context.Context) {
	for i := 0; i < len(b.requests); {
		end := i + 1
		if b.sharesTime(i) {
			for end < len(b.requests) && b.sharesTime(end) {
				end++
			}
		}
		b.runGroup(ctx, i, end)
		i = end
	}
}

// sharesTime reports whether a call may run concurrently with its neighbours. A call of an unknown tool may, because it
// ends at once.
func (b *batch) sharesTime(i int) bool {
	shares := true
	_ = tools.Protect(b.requests[i].Tool, "lookup", func() error { // a panic is reported when the call runs
		if tool, err := b.o.Tools.Lookup(b.requests[i].Tool); err == nil {
			spec := tool.Spec()
			shares = spec.Parallel && !spec.Mutates()
		}
		return nil
	})
	return shares
}

// runGroup runs the calls from i up to end concurrently, started in their order.
func (b *batch) runGroup(ctx context.Context, i, end int) {
	if end == i+1 {
		b.run(ctx, i)
		return
	}
	var workers sync.WaitGroup
	var next atomic.Int64
	next.Store(int64(i))
	for range min(b.o.MaxParallel, end-i) {
		workers.Go(func() {
			for n := int(next.Add(1)) - 1; n < end; n = int(next.Add(1)) - 1 {
				b.run(ctx, n)
			}
		})
	}
	workers.Wait()
}

// run runs one call and stores its response.
func (b *batch) run(ctx context.Context, i int) {
	c := &call{batch: b, index: i, request: b.requests[i], name: b.requests[i].Tool}
	if because := b.endedBefore(i); because != "" {
		c.finish(c.respond(StatusCancelled, tools.Fail(fault.New(fault.Cancelled, "scheduler.batch",
			fmt.Sprintf("The call of %s was not started, because %s.", c.name, because), ""))))
		return
	}
	ctx, ended := b.observed(ctx, b.given[i])
	ctx, closeHost := host.Detachable(ctx)
	defer closeHost()
	ctx, settle := c.recorded(ctx)
	var resp Response
	returned := false
	defer func() { // also if the tool ends its goroutine
		if !returned {
			resp = c.defect(&tools.Defect{Tool: c.name, Step: "schedule", Cause: "it ended its goroutine"})
		}
		settle(resp)
		c.finish(resp)
		ended(resp)
	}()
	err := tools.Protect(c.name, "schedule", func() error {
		resp = c.run(ctx)
		return nil
	})
	if err != nil {
		resp = c.defect(err)
	}
	returned = true
}

// end keeps calls after the one at index i from starting.
func (b *batch) end(i int, because string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i < b.endedAt {
		b.endedAt, b.because = i, because
	}
}

// endedBefore returns why the call at index i must not start, or "".
func (b *batch) endedBefore(i int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i > b.endedAt {
		return b.because
	}
	return ""
}

// change sets a call's state and publishes a snapshot. Snapshots are published in the order of the changes.
func (b *batch) change(i int, set func(s *bus.ToolCallState)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	set(&b.states[i])
	b.publishLocked()
}

// note sets additional state of a call, to be published with the next change.
func (b *batch) note(i int, set func(s *bus.ToolCallState)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	set(&b.states[i])
}

// publish publishes the states of the calls.
func (b *batch) publish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.publishLocked()
}

func (b *batch) publishLocked() {
	if b.watched(bus.ToolCallsUpdate{}) {
		b.tell(bus.ToolCallsUpdate{SchedulerID: b.o.ID, ToolCalls: slices.Clone(b.states)})
	}
}

// listening reports whether a subscriber can answer questions of a type.
func (s *Scheduler) listening(m bus.Message) bool { return s.o.Bus != nil && s.o.Bus.Listening(m) }

// watched reports whether a subscriber receives messages of a type.
func (s *Scheduler) watched(m bus.Message) bool { return s.o.Bus != nil && s.o.Bus.Watched(m) }

// tell publishes a message, if there is a bus that is not closed.
func (s *Scheduler) tell(m bus.Message) {
	if s.o.Bus == nil {
		return
	}
	if err := s.o.Bus.Publish(m); err != nil && !errors.Is(err, bus.ErrClosed) {
		s.report(fmt.Errorf("scheduler: publish %s: %w", bus.TypeOf(m), err))
	}
}
