package display

import (
	"context"
	"fmt"
	"sync"

	"github.com/fettle-dev/fettle/core/bus"
)

// Live shows a person what calls print while they run. Its zero value is not
// usable; see [AttachLive].
type Live struct {
	screen       *Screen
	subscription *bus.Subscription

	// Of the handler's goroutine alone.
	filter ANSIFilter
	shown  string // id of the call whose output was shown last
	missed int64  // messages that were dropped before that call ended

	subagentCall func(bus.ToolCallState) // is told of each call of a subagent's that has ended; nil: nobody
	told         map[string]bool         // of which calls of batches that go on it was, by ids

	mu     sync.Mutex
	ending map[string]chan struct{} // closed when all output of the call with that id was shown
}

// AttachLive shows the live output on a bus until detach is called, and tells
// subagentCall, if there is one, of each call of a subagent's that has ended.
func AttachLive(ctx context.Context, b *bus.MessageBus, s *Screen, colour bool, subagentCall func(bus.ToolCallState)) (l *Live, detach func()) {
	l = &Live{screen: s, filter: ANSIFilter{Colour: colour}, ending: map[string]chan struct{}{}, subagentCall: subagentCall, told: map[string]bool{}}
	ready := make(chan struct{})
	l.subscription = bus.Observe(ctx, b, func(_ context.Context, m bus.Message) {
		<-ready
		l.handle(m)
	})
	close(ready)
	return l, func() {
		l.subscription.Unsubscribe()
		<-l.subscription.Done()
	}
}

// Expect has a call's end noted, and returns what waits for it: until all that the
// call printed was shown.
func (l *Live) Expect(callID string) (shown func()) {
	ended := make(chan struct{})
	l.mu.Lock()
	l.ending[callID] = ended
	l.mu.Unlock()
	return func() {
		select {
		case <-ended:
		case <-l.subscription.Done():
		}
	}
}

func (l *Live) handle(m bus.Message) {
	switch m := m.(type) {
	case bus.ToolOutput:
		if m.CallID != l.shown {
			l.close()
			l.shown = m.CallID
		}
		if text := l.filter.Filter(m.Chunk); text != "" {
			l.screen.Live(text, l.filter.Open())
		}
	case bus.ToolCallsUpdate:
		for _, call := range m.ToolCalls {
			if call.Status.Final() {
				l.end(call)
			}
		}
		l.subagentCalls(m)
	}
}

// subagentCalls tells of the calls of a subagent's that have ended since the last
// snapshot of their batch.
func (l *Live) subagentCalls(m bus.ToolCallsUpdate) {
	if l.subagentCall == nil {
		return
	}
	key := func(i int) string { return fmt.Sprint(m.SchedulerID, " ", i, " ", m.ToolCalls[i].CallID) }
	ended := true
	for i, call := range m.ToolCalls {
		if !call.Status.Final() {
			ended = false
		} else if call.Subagent != "" && !l.told[key(i)] {
			l.close()
			l.told[key(i)] = true
			l.subagentCall(call)
		}
	}
	for i := range m.ToolCalls {
		if ended { // there is no later snapshot
			delete(l.told, key(i))
		}
	}
}

// close ends the output that was shown last.
func (l *Live) close() {
	if text := l.filter.End(); text != "" {
		l.screen.Live(text, false)
	}
	l.shown = ""
}

// end tells who waits for a call's output that it has ended.
func (l *Live) end(call bus.ToolCallState) {
	l.mu.Lock()
	ended := l.ending[call.CallID]
	delete(l.ending, call.CallID)
	l.mu.Unlock()
	if ended == nil {
		return
	}
	if call.CallID == l.shown {
		l.close()
	}
	if missed := l.subscription.Dropped(); missed > l.missed {
		l.missed = missed
		l.screen.Say("[Some of the output came too fast to be shown here.]\n")
	}
	if call.Status == bus.StatusCancelled && !call.StartTime.IsZero() {
		l.screen.Say("\n") // the terminal has shown the keys that ended it
	}
	close(ended)
}
