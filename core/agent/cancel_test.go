package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// busy is a model with every kind of event: thoughts, text, calls, sources, and a broken answer.
func busy() *fake {
	first := asks(call("1", "look", `{"text":"a"}`), call("2", "change", `{"text":"b"}`))
	first.chunks = slices.Insert(first.chunks, 0, model.Chunk{Parts: []model.Part{{Text: "**Plan** first", Thought: true}}, Citations: []string{"b", "a"}})
	return inOrder(first, fails(model.Connection, 0, "half"), asks(call("3", "look", `{"text":"c"}`)), says("All ", "done."))
}

// A caller may stop at any event, by cancelling or by leaving the loop. The history is then valid
// and has the responses of completed calls, and the next prompt works.
func TestStopAtEachEvent(t *testing.T) {
	var all []agent.Event
	synctest.Test(t, func(t *testing.T) {
		s, _ := realTools(t, nil)
		all = run(t.Context(), newClient(t, busy(), func(o *agent.Options) { o.Scheduler = s }), "Do it.")
	})
	require.Equal(t, []agent.EventType{
		agent.EventModel, agent.EventThought, agent.EventText, agent.EventToolCall, agent.EventToolCall, agent.EventCitation, agent.EventFinished,
		agent.EventToolResponse, agent.EventToolResponse,
		agent.EventText, agent.EventRetry, agent.EventText, agent.EventToolCall, agent.EventFinished, agent.EventToolResponse,
		agent.EventText, agent.EventText, agent.EventFinished, agent.EventDone,
	}, types(all))
	for i := range all {
		for _, how := range []string{"cancel", "leave", "panic"} {
			t.Run(fmt.Sprint(how, " at ", i, " ", all[i].Type), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { stopAt(t, i, how) })
			})
		}
	}
}

func stopAt(t *testing.T, i int, how string) {
	s, ran := realTools(t, nil)
	rec := &record{}
	c := newClient(t, busy(), func(o *agent.Options) { o.Scheduler, o.Recorder = s, rec })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var events []agent.Event
	func() {
		defer func() {
			if how == "panic" {
				require.Equal(t, "oh", recover())
			}
		}()
		for e := range c.Run(ctx, model.TextPart("Do it.")) {
			if events = append(events, e); len(events) != i+1 {
				continue
			}
			switch how {
			case "cancel":
				cancel()
			case "leave":
				return
			case "panic":
				panic("oh")
			}
		}
	}()
	if how == "cancel" {
		checkEvents(t, events)
		want := agent.EventCancelled
		if events[i].Type == agent.EventDone {
			want = agent.EventDone
		}
		require.Equal(t, want, last(events).Type)
	}
	checkClient(t, c)
	require.Len(t, outputs(c.History()), count(c.History()), "responses")
	require.Equal(t, c.History(), rec.history, "the recording")
	if i == 3 || i == 4 {
		require.Empty(t, ran(), "calls of a stopped prompt")
	}
	for _, entry := range ran() { // the recording is complete
		require.Contains(t, fmt.Sprint(outputs(c.History())), "noted "+entry[len(entry)-1:])
	}
	require.Equal(t, agent.EventDone, last(run(t.Context(), c, "And now?")).Type)
	checkClient(t, c)
	require.Equal(t, c.History(), rec.history)
	synctest.Wait()
}

// record is a recorder that implements its contract.
type record struct {
	history []model.Content
	entries []agent.Entry
	ops     []string
}

func (r *record) Append(_ context.Context, e agent.Entry) error {
	r.history, r.entries, r.ops = append(slices.Clip(r.history), e.Content), append(r.entries, e), append(r.ops, "append")
	return nil
}

func (r *record) Rewind(_ context.Context, keep int) error {
	r.history, r.ops = r.history[:keep], append(r.ops, "rewind")
	return nil
}

func (r *record) Replace(_ context.Context, history []model.Content) error {
	r.history, r.ops = slices.Clone(history), append(r.ops, "replace")
	return nil
}

// Cancelled while calls run: completed calls have their responses, the others are answered as
// cancelled.
func TestCancelDuringCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, _ := realTools(t, nil)
		c := newClient(t, inOrder(asks(call("1", "look", `{"text":"a"}`), call("2", "change", `{"text":"b"}`))), func(o *agent.Options) {
			o.Scheduler = scheduleFunc(func(ctx context.Context, requests []scheduler.Request) []scheduler.Response {
				first := s.RunAll(ctx, requests[:1])
				cancel()
				return append(first, s.RunAll(ctx, requests[1:])...)
			})
		})
		events := run(ctx, c, "Do it.")
		checkEvents(t, events)
		require.Equal(t, agent.EventCancelled, last(events).Type)
		require.Equal(t, []string{"user: Do it.", "model: I look. 1! 2!", "user: 1= 2="}, outline(c.History()))
		out := outputs(c.History())
		require.Contains(t, out[0], "noted a")
		require.Contains(t, out[1], `"type":"cancelled"`)

		require.Equal(t, agent.EventDone, last(run(t.Context(), c, "And now?")).Type)
		require.Equal(t, []string{"user: Do it.", "model: I look. 1! 2!", "user: 1= 2=", "model: (This answer was interrupted.)", "user: And now?", "model: Done."}, outline(c.History()))
	})
}

type scheduleFunc func(ctx context.Context, requests []scheduler.Request) []scheduler.Response

func (f scheduleFunc) RunAll(ctx context.Context, requests []scheduler.Request) []scheduler.Response {
	return f(ctx, requests)
}

// Cancelled during an approval question.
func TestCancelDuringConfirmation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{})
		defer func() { _ = b.Close() }()
		ctx, cancel := context.WithCancel(t.Context())
		bus.Subscribe(t.Context(), b, func(context.Context, bus.ToolConfirmationRequest) { cancel() })
		s, ran := realTools(t, b)
		c := newClient(t, inOrder(asks(call("1", "change", `{"text":"ask"}`))), func(o *agent.Options) { o.Scheduler, o.Bus = s, b })
		require.Equal(t, agent.EventCancelled, last(run(ctx, c, "Do it.")).Type)
		require.Empty(t, ran())
		checkClient(t, c)
		require.Contains(t, outputs(c.History())[0], `"type":"cancelled"`)
	})
}

// The time of an approval question does not count, with or without an answer; that of tools and of
// the model does.
func TestTimeLimit(t *testing.T) {
	tests := map[string]struct {
		args     string
		respond  func(b *bus.MessageBus, s *bus.Subscription, q bus.ToolConfirmationRequest)
		withBus  bool
		slow     time.Duration // of the model
		want     agent.EventType
		finished time.Duration
	}{
		"a slow user": {`{"text":"ask"}`, func(b *bus.MessageBus, _ *bus.Subscription, q bus.ToolConfirmationRequest) {
			time.Sleep(time.Hour)
			_ = b.Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Confirmed: true})
		}, true, 20 * time.Second, agent.EventDone, time.Hour + 40*time.Second},
		"a slow user, then a slow model": {`{"text":"ask"}`, func(b *bus.MessageBus, _ *bus.Subscription, q bus.ToolConfirmationRequest) {
			time.Sleep(time.Hour)
			_ = b.Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Confirmed: true})
		}, true, 50 * time.Second, agent.EventLimit, time.Hour + time.Minute},
		"a user who disconnects": {`{"text":"ask"}`, func(_ *bus.MessageBus, s *bus.Subscription, _ bus.ToolConfirmationRequest) {
			time.Sleep(time.Hour)
			s.Unsubscribe()
		}, true, 50 * time.Second, agent.EventLimit, time.Hour + time.Minute},
		"a user who disconnects, then a slow tool": {`{"text":"ask"}`, func(_ *bus.MessageBus, s *bus.Subscription, _ bus.ToolConfirmationRequest) {
			time.Sleep(time.Hour)
			s.Unsubscribe()
		}, true, 35 * time.Second, agent.EventLimit, time.Hour + time.Minute},
		"a client without a bus": {`{"text":"ask"}`, func(b *bus.MessageBus, _ *bus.Subscription, q bus.ToolConfirmationRequest) {
			time.Sleep(time.Hour)
			_ = b.Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Confirmed: true})
		}, false, 0, agent.EventLimit, time.Minute},
		"a slow model": {`{"text":"a"}`, nil, true, 50 * time.Second, agent.EventLimit, time.Minute},
		"in time":      {`{"text":"a"}`, nil, true, 20 * time.Second, agent.EventDone, 40 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := bus.New(bus.Options{})
				defer func() { _ = b.Close() }()
				var s *bus.Subscription
				ready := make(chan struct{})
				s = bus.Subscribe(t.Context(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
					<-ready
					tt.respond(b, s, q)
				})
				close(ready)
				run1, _ := realTools(t, b)
				g := &fake{}
				g.answer = func(n int, _ *model.Request) stream {
					answer := says("Done.")
					if n == 0 {
						answer = asks(call("1", "change", tt.args))
						if strings.HasSuffix(name, "slow tool") {
							answer = asks(call("1", "change", tt.args), call("2", "change", `{"text":"slow"}`))
						}
					}
					answer.before = func() { time.Sleep(tt.slow) }
					return answer
				}
				c := newClient(t, g, func(o *agent.Options) {
					o.Scheduler, o.Limits.Time = run1, time.Minute
					if tt.withBus {
						o.Bus = b
					}
				})
				begun := time.Now()
				ended := time.Duration(0)
				var events []agent.Event
				for e := range c.Run(t.Context(), model.TextPart("Do it.")) {
					events = append(events, e)
				}
				ended = time.Since(begun)
				require.Equal(t, tt.want, last(events).Type)
				if tt.want == agent.EventLimit {
					require.EqualValues(t, "time", last(events).Err.Reason)
					require.Equal(t, fault.LimitReached, last(events).Err.Code)
				}
				checkClient(t, c)
				// The fake does not end with ctx, so it may continue to sleep.
				require.GreaterOrEqual(t, ended, tt.finished)
				require.Less(t, ended, tt.finished+tt.slow+time.Second)
			})
		})
	}
}

// A question that ends without an answer does not pause the clock forever.
func TestTimeAfterAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{})
		defer func() { _ = b.Close() }()
		bus.Subscribe(t.Context(), b, func(context.Context, bus.AskUserRequest) {})
		answer := says("Done.")
		answer.before = func() { time.Sleep(50 * time.Second) }
		c := newClient(t, inOrder(asks(call("1", "ask", "")), answer, answer), func(o *agent.Options) {
			o.Bus, o.Limits.Time = b, 40*time.Second
			o.Scheduler = &runner{run: func(ctx context.Context, _ scheduler.Request) tools.Result {
				ctx, cancel := context.WithTimeout(ctx, time.Hour)
				defer cancel()
				_, err := bus.Ask(ctx, b, bus.AskUserRequest{})
				return tools.Result{LLMContent: tools.Text(err.Error())}
			}}
		})
		begun := time.Now()
		require.Equal(t, agent.EventLimit, last(run(t.Context(), c, "Do it.")).Type)
		require.Greater(t, time.Since(begun), time.Hour)
		checkClient(t, c)
	})
}

// A second prompt waits for the first, until its ctx ends.
func TestSecondRunWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := inOrder(stream{chunks: says("First.").chunks, before: func() { time.Sleep(time.Minute) }})
		c := newClient(t, g)
		done := make(chan []agent.Event)
		go func() { done <- run(t.Context(), c, "one") }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.Equal(t, []agent.EventType{agent.EventCancelled}, types(run(ctx, c, "two")))
		require.Equal(t, fault.Cancelled, fault.CodeOf(c.ResetChat(ctx)))
		require.Equal(t, agent.EventDone, last(run(t.Context(), c, "three")).Type)
		require.Equal(t, agent.EventDone, last(<-done).Type)
		require.Equal(t, []string{"user: one", "model: First.", "user: three", "model: Done."}, outline(c.History()))
		require.Equal(t, []agent.EventType{agent.EventCancelled}, types(run(ctx, c, "four")), "a ctx that has ended")
	})
}

// A prompt may start in the loop over the events of another, at its last one.
func TestRunAtTheLastEvent(t *testing.T) {
	c := newClient(t, inOrder())
	for e := range c.Run(t.Context(), model.TextPart("one")) {
		if e.Type.Ends() {
			require.Equal(t, agent.EventDone, last(run(t.Context(), c, "two")).Type)
		}
	}
	require.Len(t, c.History(), 4)
}
