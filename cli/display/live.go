package display

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/tools"
)

// Live shows the live output of calls to the user. Create one with [AttachLive].
type Live struct {
	screen       *Screen
	subscription *bus.Subscription

	// Used by the handler's goroutine only.
	filter ANSIFilter
	shown  string // id of the call whose output was shown last
	missed int64  // messages that were dropped before that call ended

	subagentCall func(bus.ToolCallState) // called for each finished call of a subagent; nil: none
	announced    map[string]bool         // ids of the calls that were passed to subagentCall and whose batches go on

	mu     sync.Mutex
	ending map[string]chan struct{} // by call id: closed when all output of the call was shown
}

// AttachLive shows the live output on a bus until detach is called, and calls
// subagentCall, if it is not nil, for each finished call of a subagent.
func AttachLive(ctx context.Context, b *bus.MessageBus, s *Screen, colour bool, subagentCall func(bus.ToolCallState)) (l *Live, detach func()) {
	l = &Live{screen: s, filter: ANSIFilter{Colour: colour}, ending: map[string]chan struct{}{}, subagentCall: subagentCall, announced: map[string]bool{}}
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

// Expect registers a call, and returns a function that waits until all its output was
// shown.
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
	case bus.ConfigChanged:
		if m.Notice != "" {
			l.close()
			l.screen.Printf("%s\n", Line(m.Notice))
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

// subagentCalls reports the calls of a subagent that have finished since the previous
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
		} else if call.Subagent != "" && !l.announced[key(i)] {
			l.close()
			l.announced[key(i)] = true
			l.subagentCall(call)
		}
	}
	for i := range m.ToolCalls {
		if ended { // there is no later snapshot
			delete(l.announced, key(i))
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

// end wakes the goroutine that waits for the output of a call.
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
		l.repeatEnd(call)
	}
	if call.Status == bus.StatusCancelled && !call.StartTime.IsZero() {
		l.screen.Printf("\n") // the terminal has echoed the keys that ended it
	}
	close(ended)
}

// maxRepeated is the maximum number of lines that repeatEnd shows.
const maxRepeated = 10

// repeatEnd reports that output was dropped, and shows the last lines of a command's
// output, which matter most.
func (l *Live) repeatEnd(call bus.ToolCallState) {
	var d tools.Display
	if json.Unmarshal(call.Display, &d) != nil || d.ANSI == nil || strings.TrimSpace(d.ANSI.ANSI) == "" {
		l.screen.Printf("[Some output was dropped because it came too fast.]\n")
		return
	}
	lines := strings.Split(strings.TrimRight(d.ANSI.ANSI, "\n"), "\n")
	l.screen.Printf("[Some output was dropped because it came too fast. The last lines are:]\n")
	f := ANSIFilter{Colour: l.filter.Colour}
	text := f.Filter(strings.Join(lines[max(0, len(lines)-maxRepeated):], "\n"))
	l.screen.Printf("%s", text+f.End())
}
