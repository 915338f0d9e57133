package scheduler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// simple is a tool that can be called concurrently.
type simple struct {
	spec tools.Spec
	run  func(ctx context.Context, args string) (tools.Result, error)
}

func (s *simple) Spec() tools.Spec { return s.spec }

func (s *simple) Build(args json.RawMessage) (tools.ToolInvocation, error) {
	if string(args) == `"bad"` {
		return nil, fault.New(fault.InvalidToolParams, "x", "Bad.", "")
	}
	return &simpleCall{s, args}, nil
}

type simpleCall struct {
	tool *simple
	args json.RawMessage
}

func (c *simpleCall) Params() json.RawMessage     { return c.args }
func (c *simpleCall) Description() string         { return c.tool.spec.Name + " " + string(c.args) }
func (c *simpleCall) Locations() []tools.Location { return nil }

func (c *simpleCall) Confirmation(context.Context) (*tools.Confirmation, error) { return nil, nil }

func (c *simpleCall) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	return c.tool.run(ctx, string(c.args))
}

// toolset is a set of tools by name.
type toolset map[string]*simple

func (s toolset) Lookup(name string) (tools.DeclarativeTool, error) {
	if t := s[name]; t != nil {
		return t, nil
	}
	return nil, fault.New(fault.ToolNotRegistered, "lookup", "There is no such tool.", "")
}

func (s toolset) add(name string, kind tools.Kind, parallel bool, run func(ctx context.Context, args string) (tools.Result, error)) {
	s[name] = &simple{tools.Spec{Name: name, Kind: kind, Parallel: parallel}, run}
}

func ok() (tools.Result, error) { return tools.Result{LLMContent: tools.Text("done")}, nil }

func done(context.Context, string) (tools.Result, error) { return ok() }

func always(v policy.Verdict) *stub {
	return &stub{decide: func(policy.Call) policy.Decision {
		return policy.Decision{Explanation: confirmation.Explanation{Decision: v, Reason: "Because."}}
	}}
}

// batchOf returns requests of the form "name args", with IDs from 0.
func batchOf(calls ...string) []scheduler.Request {
	var requests []scheduler.Request
	for i, c := range calls {
		name, args, _ := strings.Cut(c, " ")
		if args == "" {
			args = "{}"
		}
		requests = append(requests, scheduler.Request{CallID: fmt.Sprint(i), Tool: name, Args: json.RawMessage(args)})
	}
	return requests
}

// statuses returns the statuses in the order of the responses, and checks their IDs.
func statuses(t *testing.T, responses []scheduler.Response) string {
	t.Helper()
	var all []string
	for i, r := range responses {
		require.Equal(t, fmt.Sprint(i), r.CallID)
		require.Equal(t, r.Status == scheduler.StatusSuccess, r.Result.Error == nil)
		all = append(all, string(r.Status))
	}
	return strings.Join(all, " ")
}

// AR-28: adjacent read-only calls run concurrently: each waits until all have begun. MaxParallel limits their number.
func TestReadersOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := toolset{}
		var begun sync.WaitGroup
		begun.Add(5)
		set.add("read", tools.KindRead, true, func(context.Context, string) (tools.Result, error) {
			begun.Done()
			begun.Wait() // blocks unless all five run at once
			return ok()
		})
		s := scheduler.New(scheduler.Options{Tools: set})
		r := s.RunAll(t.Context(), batchOf("read", "read", "read", "read", "read"))
		require.Equal(t, "success success success success success", statuses(t, r))

		var now, most atomic.Int64
		set.add("read", tools.KindRead, true, func(context.Context, string) (tools.Result, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return ok()
		})
		for limit, want := range map[int]int64{0: 8, 3: 3, 1: 1} {
			most.Store(0)
			scheduler.New(scheduler.Options{Tools: set, MaxParallel: limit}).RunAll(t.Context(), batchOf(slices.Repeat([]string{"read"}, 20)...))
			require.Equal(t, want, most.Load())
		}
	})
}

// A call that changes something, or whose tool does not permit concurrent calls, runs alone: after all calls before it
// and before all calls after it.
func TestMutatorsRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 200 {
			set := toolset{}
			var mu sync.Mutex
			running := map[string]bool{}
			var order []string
			run := func(alone bool) func(context.Context, string) (tools.Result, error) {
				return func(_ context.Context, id string) (tools.Result, error) {
					mu.Lock()
					if alone && len(running) > 0 || running["alone"] {
						t.Errorf("%s began while %v ran", id, running)
					}
					key := id
					if alone {
						key = "alone"
					}
					running[key] = true
					order = append(order, id)
					mu.Unlock()
					time.Sleep(time.Duration(rand.IntN(1000)))
					mu.Lock()
					delete(running, key)
					mu.Unlock()
					return ok()
				}
			}
			set.add("read", tools.KindRead, true, run(false))
			set.add("serial", tools.KindRead, false, run(true))
			set.add("edit", tools.KindEdit, true, run(true))
			var calls []string
			fence := map[string]int{} // number of calls that must have begun before this one
			for i := range 12 {
				name := []string{"read", "read", "read", "edit", "serial"}[rand.IntN(5)]
				id := fmt.Sprint(i)
				calls = append(calls, name+" "+id)
				if name != "read" {
					fence[id] = i
				}
			}
			s := scheduler.New(scheduler.Options{Tools: set, Policy: always(policy.Allow)})
			s.RunAll(t.Context(), batchOf(calls...))
			require.Len(t, order, 12)
			for id, before := range fence {
				require.Equal(t, before, slices.Index(order, id), "%v ran as %v", calls, order)
			}
		}
	})
}

// AR-28: each call has one response in its place, whatever happens to it.
func TestOneResponseForEach(t *testing.T) {
	var defects atomic.Int64
	set := toolset{}
	set.add("ok", tools.KindRead, true, done)
	set.add("panics", tools.KindRead, true, func(context.Context, string) (tools.Result, error) { panic("boom") })
	set.add("leaves", tools.KindRead, true, func(context.Context, string) (tools.Result, error) {
		runtime.Goexit() // as a failed assertion does
		return tools.Result{}, nil
	})
	set.add("fails", tools.KindRead, true, func(context.Context, string) (tools.Result, error) {
		return tools.Fail(fault.New(fault.FileNotFound, "x", "It is not there.", "")), nil
	})
	set.add("cancels", tools.KindRead, true, func(context.Context, string) (tools.Result, error) {
		return tools.Fail(fault.New(fault.Cancelled, "x", "It was cancelled.", "")), nil
	})
	set.add("edit", tools.KindEdit, false, done)
	s := scheduler.New(scheduler.Options{Tools: set, OnDefect: func(error) { defects.Add(1) }})
	r := s.RunAll(t.Context(), batchOf("ok", "panics", "absent", "ok \"bad\"", "leaves", "fails", "cancels", "edit", "ok"))
	require.Equal(t, "success error error error error error cancelled denied success", statuses(t, r))
	var codes []string
	for _, one := range r {
		if one.Result.Error != nil {
			codes = append(codes, string(one.Result.Error.Code))
		}
	}
	require.Equal(t, "unhandled_exception tool_not_registered invalid_tool_params unhandled_exception file_not_found cancelled nobody_to_ask",
		strings.Join(codes, " "))
	require.Equal(t, int64(2), defects.Load())
	require.Empty(t, s.RunAll(t.Context(), nil))
}

// After the user has cancelled, no later call begins; running calls continue (spec 3.5).
func TestUserCancelEndsTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan struct{})
		var ran []string
		var mu sync.Mutex
		set := toolset{}
		run := func(_ context.Context, args string) (tools.Result, error) {
			if args == `"first"` {
				<-asked // runs while the user is asked
				time.Sleep(time.Hour)
			}
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, args)
			return ok()
		}
		set.add("read", tools.KindRead, true, run)
		set.add("edit", tools.KindEdit, false, run)
		p := &stub{decide: func(c policy.Call) policy.Decision {
			if string(c.Params) == `"ask"` {
				return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.AskUser, Reason: "Because."}}
			}
			return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Allow, Reason: "Because."}}
		}}
		b := bus.New(bus.Options{})
		bus.Subscribe(t.Context(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
			close(asked)
			_ = b.Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Outcome: bus.Cancel})
		})
		s := scheduler.New(scheduler.Options{Tools: set, Policy: p, Bus: b, MaxParallel: 2})
		r := s.RunAll(t.Context(), batchOf(`read "first"`, `read "ask"`, `read "second"`, `edit "third"`, `absent`))
		require.Equal(t, "success denied cancelled cancelled cancelled", statuses(t, r))
		require.Equal(t, []string{`"first"`}, ran)
		require.Equal(t, fault.DeniedByUser, r[1].Result.Error.Code)
		require.Equal(t, fault.Cancelled, r[3].Result.Error.Code)
		require.Equal(t, "The call of edit was not started, because the user did not approve the call of read before it.", r[3].Result.Error.Message)
		require.NoError(t, b.Close())
	})
}

// An invalid answer denies its own call only.
func TestUnusableAnswerDoesNotEndTheBatch(t *testing.T) {
	s := newSetup(tools.KindEdit, policy.AskUser, "perhaps")
	r := s.calls(t.Context(), batchOf("fake 1", "fake 2")...)
	require.Equal(t, "denied denied", statuses(t, r))
	require.Len(t, s.questions, 2)
}

// AR-29: after ctx has ended no call begins, running calls see it, and all end.
func TestCancelBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		set := toolset{}
		set.add("read", tools.KindRead, true, func(ctx context.Context, _ string) (tools.Result, error) {
			<-ctx.Done()
			return tools.Result{LLMContent: tools.Text("half")}, ctx.Err()
		})
		set.add("edit", tools.KindEdit, false, func(context.Context, string) (tools.Result, error) {
			t.Error("it began")
			return tools.Result{}, nil
		})
		b := bus.New(bus.Options{})
		s := scheduler.New(scheduler.Options{Tools: set, Policy: always(policy.Allow), Bus: b})
		finished := make(chan []scheduler.Response, 1)
		go func() { finished <- s.RunAll(ctx, batchOf("read", "read", "edit", "read")) }()
		synctest.Wait()
		require.Empty(t, finished)
		cancel()
		r := <-finished
		require.Equal(t, "cancelled cancelled cancelled cancelled", statuses(t, r))
		require.Equal(t, "half", r[0].Result.LLMContent.String())
		require.NoError(t, b.Close())
	})
}

// A request for approval ends with ctx in any front end (AR-29).
func TestCancelWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newSetup(tools.KindEdit, policy.AskUser, "")
		b := bus.New(bus.Options{})
		withdrawn := make(chan error, 1)
		bus.Subscribe(t.Context(), b, func(ctx context.Context, q bus.ToolConfirmationRequest) {
			<-ctx.Done()
			withdrawn <- b.Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Confirmed: true})
		})
		s.options.Bus = b
		finished := make(chan scheduler.Response, 1)
		go func() {
			finished <- scheduler.New(s.options).Run(ctx, scheduler.Request{Tool: "fake", Args: json.RawMessage("1")})
		}()
		synctest.Wait()
		require.Empty(t, finished, "a request has no time limit of its own")
		time.Sleep(24 * time.Hour)
		cancel()
		require.Equal(t, scheduler.StatusCancelled, (<-finished).Status)
		require.ErrorIs(t, <-withdrawn, bus.ErrWithdrawn)
		require.NotContains(t, s.steps, "execute")
		require.NoError(t, b.Close())
	})
}

// Many batches run concurrently on one scheduler, with two front ends that answer and one that observes.
func TestManyBatches(t *testing.T) {
	set := toolset{}
	set.add("read", tools.KindRead, true, done)
	set.add("edit", tools.KindEdit, false, done)
	b := bus.New(bus.Options{Queue: 10_000})
	var answered atomic.Int64
	for range 2 {
		bus.Subscribe(t.Context(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
			if b.Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Confirmed: true}) == nil {
				answered.Add(1)
			}
		})
	}
	bus.Observe(t.Context(), b, func(context.Context, bus.Message) {})
	s := scheduler.New(scheduler.Options{Tools: set, Bus: b})
	var running sync.WaitGroup
	for range 50 {
		running.Go(func() {
			for _, r := range s.RunAll(t.Context(), batchOf("read", "edit", "read", "read", "edit")) {
				if r.Status != scheduler.StatusSuccess {
					t.Errorf("%s: %v", r.CallID, r.Result.Error)
				}
			}
		})
	}
	running.Wait()
	require.NoError(t, b.Close()) // waits for the front end that answered last, so that it is counted
	require.Equal(t, int64(100), answered.Load())
}

// KH-23: a front end that disconnects during a request counts as missing at once.
func TestFrontEndLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(tools.KindEdit, policy.AskUser, "")
		b := bus.New(bus.Options{})
		shown := make(chan struct{})
		sub := bus.Subscribe(t.Context(), b, func(ctx context.Context, _ bus.ToolConfirmationRequest) {
			close(shown)
			<-ctx.Done()
		})
		s.options.Bus = b
		finished := make(chan scheduler.Response, 1)
		go func() {
			finished <- scheduler.New(s.options).Run(t.Context(), scheduler.Request{Tool: "fake", Args: json.RawMessage("1")})
		}()
		<-shown
		sub.Unsubscribe()
		require.Equal(t, fault.NoApprover, (<-finished).Result.Error.Code)
		require.NoError(t, b.Close())

		// A closed bus has no front end either.
		r := scheduler.New(s.options).Run(t.Context(), scheduler.Request{Tool: "fake", Args: json.RawMessage("1")})
		require.Equal(t, fault.NoApprover, r.Result.Error.Code)
		require.Empty(t, s.defects)
	})
}

// AR-24: any front end may answer. The first answer is used, and the sender of the second is notified.
func TestTwoFrontEnds(t *testing.T) {
	s := newSetup(tools.KindEdit, policy.AskUser, "")
	b := bus.New(bus.Options{})
	both := make(chan struct{}, 2)
	errs := make(chan error, 2)
	for _, outcome := range []bus.Outcome{bus.ProceedOnce, bus.Cancel} {
		bus.Subscribe(t.Context(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
			both <- struct{}{}
			for len(both) < 2 {
				runtime.Gosched()
			}
			a := answerWith(outcome)
			a.CorrelationID = q.CorrelationID
			errs <- b.Publish(a)
		})
	}
	s.options.Bus = b
	r := scheduler.New(s.options).Run(t.Context(), scheduler.Request{Tool: "fake", Args: json.RawMessage("1")})
	require.Contains(t, []scheduler.Status{scheduler.StatusSuccess, scheduler.StatusDenied}, r.Status)
	answers := []error{<-errs, <-errs}
	if answers[0] != nil {
		slices.Reverse(answers)
	}
	require.NoError(t, answers[0])
	require.ErrorIs(t, answers[1], bus.ErrAnswered)
	require.NoError(t, b.Close())
}

// A Clock that blocks delays its own call only.
func TestClockHoldsUpItsOwnCall(t *testing.T) {
	set := toolset{}
	set.add("read", tools.KindRead, true, done)
	var asked atomic.Int64
	both := make(chan struct{})
	s := scheduler.New(scheduler.Options{Tools: set, Now: func() time.Time {
		if asked.Add(1) == 2 {
			close(both)
		}
		select {
		case <-both:
		case <-time.After(time.Minute): // only if the other call is delayed
			t.Error("the other call is delayed")
		}
		return time.Now()
	}})
	require.Equal(t, "success success", statuses(t, s.RunAll(t.Context(), batchOf("read", "read"))))
}
