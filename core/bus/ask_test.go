package bus_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
)

type (
	request  = bus.ToolConfirmationRequest
	response = bus.ToolConfirmationResponse
)

// reply is the result of Ask.
type reply struct {
	answer response
	err    error
}

// ask calls Ask in the background.
func ask(ctx context.Context, b *bus.MessageBus, id string) <-chan reply {
	replies := make(chan reply, 1)
	go func() {
		a, err := bus.Ask(ctx, b, request{CorrelationID: id})
		replies <- reply{a, err}
	}()
	return replies
}

func yes(id string) response {
	return response{CorrelationID: id, Confirmed: true, Outcome: bus.ProceedOnce}
}

func no(id string) response { return response{CorrelationID: id, Outcome: bus.Cancel} }

// keep is the handler of a front end that shows a question and returns; the answer comes later, or never.
func keep(context.Context, request) {}

// bubble runs f with a bus in a synctest bubble, which fails if a goroutine is left.
func bubble(t *testing.T, f func(t *testing.T, b *bus.MessageBus)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{})
		f(t, b)
		require.NoError(t, b.Close())
	})
}

// AR-23: two concurrent requests, answered in reverse order.
func TestCrossedRequests(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.MessageBus) {
		bus.Subscribe(t.Context(), b, keep)
		one, two := ask(t.Context(), b, "1"), ask(t.Context(), b, "2")
		synctest.Wait()
		publish(t, b, no("2"), yes("1"))
		require.Equal(t, reply{yes("1"), nil}, <-one)
		require.Equal(t, reply{no("2"), nil}, <-two)
	})
}

// AR-23: Ask ends with its context. The dialog's ctx ends, and a late answer is reported.
func TestCancelledWait(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.MessageBus) {
		causes := make(chan error, 1)
		shown := 0
		bus.Subscribe(t.Context(), b, func(ctx context.Context, _ request) {
			shown++
			<-ctx.Done()
			causes <- context.Cause(ctx)
		})
		ctx, cancel := context.WithCancel(t.Context())
		asked := ask(ctx, b, "1")
		synctest.Wait()
		cancel()
		r := <-asked
		require.ErrorIs(t, r.err, context.Canceled)
		require.Zero(t, r.answer)
		require.Equal(t, bus.ErrWithdrawn, <-causes)
		require.Equal(t, bus.ErrWithdrawn, b.Publish(yes("1")))

		_, err := bus.Ask(ctx, b, request{CorrelationID: "2"})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, bus.ErrUnknownQuestion, b.Publish(yes("2"))) // it was never asked
		synctest.Wait()
		require.Equal(t, 1, shown)
	})
}

// AR-24: a subscriber that cannot answer leaves the question to the others, and ends it only as the last one.
func TestDecline(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.MessageBus) {
		causes := make(chan error, 1)
		one := bus.Subscribe(t.Context(), b, func(ctx context.Context, _ request) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
		})
		two := bus.Subscribe(t.Context(), b, keep)
		asked := ask(t.Context(), b, "1")
		synctest.Wait()
		one.Decline("2") // a question that it does not have
		one.Decline("1")
		require.Equal(t, context.Canceled, <-causes)
		one.Decline("1")
		publish(t, b, yes("1"))
		require.Equal(t, reply{yes("1"), nil}, <-asked)

		asked = ask(t.Context(), b, "3")
		synctest.Wait()
		two.Decline("3")
		synctest.Wait()
		require.Empty(t, asked)
		one.Decline("3")
		require.Equal(t, bus.ErrNoApprover, (<-asked).err)
		<-causes
		require.Equal(t, bus.ErrWithdrawn, b.Publish(yes("3")))
		require.True(t, b.Listening(bus.ToolConfirmationRequest{}))
	})
}

// A question that is declined before its turn is not delivered.
func TestDeclineBeforeItsTurn(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.MessageBus) {
		var shown []string
		s := bus.Subscribe(t.Context(), b, func(ctx context.Context, q request) {
			shown = append(shown, q.CorrelationID)
			<-ctx.Done()
		})
		first := ask(t.Context(), b, "1")
		synctest.Wait()
		second := ask(t.Context(), b, "2")
		synctest.Wait()
		s.Decline("2")
		require.Equal(t, bus.ErrNoApprover, (<-second).err)
		s.Decline("1")
		require.Equal(t, bus.ErrNoApprover, (<-first).err)
		require.Equal(t, []string{"1"}, shown)
	})
}

// AR-24: a response that refuses to answer does not end the question for others; from the only subscriber it does.
func TestAnswerThatIsNone(t *testing.T) {
	none := response{CorrelationID: "1", RequiresUserConfirmation: true}
	bubble(t, func(t *testing.T, b *bus.MessageBus) {
		bus.Subscribe(t.Context(), b, keep)
		person := bus.Subscribe(t.Context(), b, keep)
		asked := ask(t.Context(), b, "1")
		synctest.Wait()
		require.Equal(t, bus.ErrOtherSubscribers, b.Publish(none))
		synctest.Wait()
		require.Empty(t, asked)
		person.Unsubscribe()
		publish(t, b, none)
		require.Equal(t, reply{none, nil}, <-asked)
	})
}

// Only the caller limits the time.
func TestNoTimeLimit(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.MessageBus) {
		bus.Subscribe(t.Context(), b, keep)
		ctx, cancel := context.WithTimeout(t.Context(), 1000*time.Hour)
		defer cancel()
		start := time.Now()
		r := <-ask(ctx, b, "1")
		require.ErrorIs(t, r.err, context.DeadlineExceeded)
		require.Equal(t, 1000*time.Hour, time.Since(start))
	})
}

// AR-24: two front ends answer. The first answer wins, the second is refused, and both dialogs can close.
func TestTwoAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.MessageBus) {
		var answers list[bus.Message]
		bus.Subscribe(t.Context(), b, each[response](&answers))
		bus.Subscribe(t.Context(), b, keep)
		causes := make(chan error, 1)
		bus.Subscribe(t.Context(), b, func(ctx context.Context, _ request) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
		})
		asked := ask(t.Context(), b, "1")
		synctest.Wait()
		require.NoError(t, b.Publish(no("1")))
		require.Equal(t, bus.ErrAnswered, b.Publish(yes("1")))
		require.Equal(t, reply{no("1"), nil}, <-asked)
		require.Equal(t, bus.ErrAnswered, <-causes)
		require.Equal(t, bus.ErrUnknownQuestion, b.Publish(yes("2")))
		synctest.Wait()
		require.Equal(t, []bus.Message{no("1")}, answers.get()) // refused answers are not delivered
	})
}

// Whatever the race, exactly one answer is accepted, and Ask returns it.
func TestAnswersRace(t *testing.T) {
	b := bus.New(bus.Options{})
	shown := make(chan string)
	for range 2 {
		bus.Subscribe(t.Context(), b, func(ctx context.Context, q request) {
			select {
			case shown <- q.CorrelationID:
			case <-ctx.Done():
			}
		})
	}
	for i := range scale(300, 30_000) {
		ctx, cancel := context.WithCancel(t.Context())
		id := fmt.Sprint(i)
		asked := ask(ctx, b, id)
		for <-shown != id { // the other front end may be late with the last one
		}
		var wg sync.WaitGroup
		errs := make([]error, 3)
		for n := range errs {
			wg.Go(func() {
				a := yes(id)
				a.Payload.Feedback = fmt.Sprint(n)
				errs[n] = b.Publish(a)
			})
		}
		if i%2 == 0 {
			wg.Go(cancel)
		}
		r := <-asked
		wg.Wait()
		taken := 0
		for n, err := range errs {
			if err == nil {
				taken++
				require.NoError(t, r.err)
				require.Equal(t, fmt.Sprint(n), r.answer.Payload.Feedback)
				continue
			}
			if r.err == nil {
				require.ErrorIs(t, err, bus.ErrAnswered)
			} else {
				require.ErrorIs(t, err, bus.ErrWithdrawn)
			}
		}
		if r.err == nil {
			require.Equal(t, 1, taken)
		} else {
			require.ErrorIs(t, r.err, context.Canceled)
			require.Zero(t, i%2)
		}
		cancel()
	}
	require.NoError(t, b.Close())
}

func TestCorrelationIDs(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.MessageBus) {
		ids := make(chan string, 1)
		bus.Subscribe(t.Context(), b, func(_ context.Context, q request) { ids <- q.CorrelationID })
		made := map[string]bool{}
		for range 100 {
			asked := ask(t.Context(), b, "")
			id := <-ids
			require.Regexp(t, "^[0-9a-f]{32}$", id)
			require.False(t, made[id])
			made[id] = true
			publish(t, b, yes(id))
			require.Equal(t, id, (<-asked).answer.CorrelationID)
		}

		asked := ask(t.Context(), b, "mine")
		require.Equal(t, "mine", <-ids)
		require.ErrorIs(t, (<-ask(t.Context(), b, "mine")).err, bus.ErrInvalid) // pending
		require.ErrorIs(t, b.Publish(bus.AskUserResponse{CorrelationID: "mine"}), bus.ErrInvalid)
		require.Empty(t, asked)
		publish(t, b, yes("mine"))
		require.NoError(t, (<-asked).err)
		require.ErrorIs(t, (<-ask(t.Context(), b, "mine")).err, bus.ErrInvalid) // a late answer could still arrive
	})
}

// The last 1,024 ended questions are distinguished from unknown ones.
func TestAnsweredIsRememberedForAWhile(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.MessageBus) {
		bus.Subscribe(t.Context(), b, func(_ context.Context, q request) { publish(t, b, yes(q.CorrelationID)) })
		for i := range 1025 {
			_, err := bus.Ask(t.Context(), b, request{CorrelationID: fmt.Sprint(i)})
			require.NoError(t, err)
		}
		require.Equal(t, bus.ErrUnknownQuestion, b.Publish(yes("0")))
		require.Equal(t, bus.ErrAnswered, b.Publish(yes("1")))
		require.Equal(t, bus.ErrAnswered, b.Publish(yes("1024")))
	})
}

// A front end that subscribes while questions are open receives them first, in order.
func TestLateFrontEndSeesOpenQuestions(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.MessageBus) {
		first := bus.Subscribe(t.Context(), b, keep)
		asked := map[string]<-chan reply{}
		for _, id := range []string{"3", "1", "2", "answered"} {
			asked[id] = ask(t.Context(), b, id)
			synctest.Wait()
		}
		publish(t, b, yes("answered"))
		var typed, all, other, watched list[bus.Message]
		bus.Subscribe(t.Context(), b, each[request](&typed))
		bus.SubscribeAll(t.Context(), b, messages(&all))
		bus.Subscribe(t.Context(), b, each[bus.AskUserRequest](&other))
		bus.Observe(t.Context(), b, messages(&watched))
		first.Unsubscribe() // other subscriptions hold the questions now
		synctest.Wait()
		want := []bus.Message{request{CorrelationID: "3"}, request{CorrelationID: "1"}, request{CorrelationID: "2"}}
		require.Equal(t, want, typed.get())
		require.Equal(t, want, all.get())
		require.Empty(t, other.get())
		require.Empty(t, watched.get())
		publish(t, b, yes("1"), yes("2"), yes("3"))
		for _, replies := range asked {
			require.NoError(t, (<-replies).err)
		}
	})
}

// An ended question is not delivered to subscribers that have not seen it yet; an observer sees every question.
func TestEndedQuestionIsNotShown(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.MessageBus) {
		release := make(chan struct{})
		var seen list[string]
		var watched list[bus.Message]
		bus.Subscribe(t.Context(), b, func(_ context.Context, q request) {
			seen.add(q.CorrelationID)
			<-release
		})
		bus.Observe(t.Context(), b, messages(&watched))
		one := ask(t.Context(), b, "1")
		synctest.Wait()
		two := ask(t.Context(), b, "2")
		synctest.Wait()
		three := ask(t.Context(), b, "3")
		synctest.Wait()
		publish(t, b, yes("2"))
		<-two
		close(release)
		synctest.Wait()
		require.Equal(t, []string{"1", "3"}, seen.get())
		require.Equal(t, []bus.Message{request{CorrelationID: "1"}, request{CorrelationID: "2"}, request{CorrelationID: "3"}, yes("2")}, watched.get())
		publish(t, b, yes("1"), yes("3"))
		<-one
		<-three
	})
}

// A question that finds every queue full has no approver.
func TestQuestionThatIsNotDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{Queue: 1})
		release := make(chan struct{})
		s := bus.Subscribe(t.Context(), b, func(_ context.Context, q request) {
			<-release
			publish(t, b, yes(q.CorrelationID))
		})
		shown := ask(t.Context(), b, "shown")
		synctest.Wait()
		waits := ask(t.Context(), b, "waits")
		synctest.Wait()
		require.ErrorIs(t, (<-ask(t.Context(), b, "one too many")).err, bus.ErrNoApprover)
		require.EqualValues(t, 1, s.Dropped())
		close(release)
		require.NoError(t, (<-shown).err)
		require.NoError(t, (<-waits).err)
		require.NoError(t, b.Close())
	})
}

// No lock is held while a handler runs: it may ask, publish and subscribe.
func TestHandlerUsesTheBus(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.MessageBus) {
		bus.Subscribe(t.Context(), b, func(ctx context.Context, q request) {
			bus.Subscribe(ctx, b, func(_ context.Context, q bus.AskUserRequest) {
				publish(t, b, bus.AskUserResponse{CorrelationID: q.CorrelationID, Answers: map[string]string{"0": "tea"}})
			})
			a, err := bus.Ask(ctx, b, bus.AskUserRequest{})
			if err != nil {
				t.Error(err)
			}
			require.Equal(t, "tea", a.Answers["0"])
			require.True(t, b.Listening(bus.AskUserRequest{}))
			publish(t, b, yes(q.CorrelationID))
		})
		require.NoError(t, (<-ask(t.Context(), b, "1")).err)
		synctest.Wait()
		require.False(t, b.Listening(bus.AskUserRequest{})) // ended with the question
	})
}

// The ctx of a question outlives the handler call, for a dialog in another goroutine.
func TestQuestionContextOutlivesItsHandler(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.MessageBus) {
		contexts := make(chan context.Context, 1)
		s := bus.Subscribe(t.Context(), b, func(ctx context.Context, _ request) { contexts <- ctx })
		one := ask(t.Context(), b, "1")
		ctx := <-contexts
		synctest.Wait()
		require.NoError(t, ctx.Err())
		publish(t, b, yes("1"))
		<-one
		require.Equal(t, bus.ErrAnswered, context.Cause(ctx))

		two := ask(t.Context(), b, "2")
		ctx = <-contexts
		s.Unsubscribe()
		require.ErrorIs(t, (<-two).err, bus.ErrNoApprover)
		require.True(t, errors.Is(ctx.Err(), context.Canceled))
	})
}
