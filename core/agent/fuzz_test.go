package agent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// randomStream is an answer of any kind.
func randomStream(r *rand.Rand) stream {
	var s stream
	for range r.IntN(5) {
		id := fmt.Sprint(r.IntN(4))
		part := []model.Part{text("word "), callPart(id), callPart(""), respPart(id), {}, {Text: "hm", Thought: true},
			{Signature: []byte("s"), Provider: "fake"}, {Text: "x", Call: callPart(id).Call}, {Thought: true, Signature: []byte("s"), Provider: "other"}}[r.IntN(9)]
		s.chunks = append(s.chunks, model.Chunk{Parts: []model.Part{part}})
	}
	if r.IntN(4) > 0 {
		finish := []model.FinishReason{model.FinishStop, model.FinishStop, model.FinishMaxTokens, model.FinishMalformedCall, model.FinishOther}[r.IntN(5)]
		s.chunks = append(s.chunks, model.Chunk{Finish: finish, Usage: &model.Usage{Input: r.IntN(1000)}})
	}
	if r.IntN(5) == 0 {
		kind := []model.ErrorKind{model.Connection, model.RateLimited, model.InvalidRequest, model.ContextExceeded, model.Canceled}[r.IntN(5)]
		s.err = &model.Error{Kind: kind}
	}
	if r.IntN(40) == 0 {
		s.before = func() { panic("oh") }
	}
	return s
}

// randomOptions sets parts of a client at random.
func randomOptions(r *rand.Rand, o *agent.Options) {
	o.Limits.PromptTurns = 1 + r.IntN(6)
	o.Scheduler = &runner{run: func(context.Context, scheduler.Request) tools.Result {
		if r.IntN(20) == 0 {
			panic("oh")
		}
		return tools.Result{LLMContent: tools.Text("result")}
	}}
	if r.IntN(2) == 0 {
		o.Limits.Tokens = 900
		o.Compactor = compactFunc(func(_ context.Context, q agent.CompactRequest) (agent.Compaction, error) {
			switch r.IntN(4) {
			case 0:
				return agent.Compaction{Status: agent.CompactionInflated}, nil
			case 1:
				return agent.Compaction{}, fmt.Errorf("no")
			case 2:
				return agent.Compaction{Status: agent.CompactionTruncated, History: q.History[r.IntN(len(q.History)):]}, nil
			}
			return toSummary(q)
		})
	}
	if r.IntN(2) == 0 {
		o.Reminders = func(context.Context) ([]model.Part, error) {
			if r.IntN(20) == 0 {
				return nil, fmt.Errorf("no")
			}
			return []model.Part{text("rule ")}[:r.IntN(2)], nil
		}
	}
	if r.IntN(3) == 0 {
		o.Steps.AfterPrompt = []agent.AfterPrompt{func(context.Context, []model.Part, string, bool) (agent.PromptAdvice, error) {
			return agent.PromptAdvice{Block: "More."[:5*r.IntN(2)], Clear: r.IntN(5) == 0}, nil
		}}
	}
}

// FuzzRun: for any answers of a model and any time of cancellation, the events are in order, the
// history is valid, and the recording equals the history.
func FuzzRun(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			rec := &record{history: randomHistory(seed, r.IntN(20))}
			c := newClient(t, &fake{answer: func(int, *model.Request) stream { return randomStream(r) }}, func(o *agent.Options) {
				o.Recorder, o.History = rec, rec.history
				randomOptions(r, o)
			})
			for n := range 5 {
				ctx, cancel := context.WithCancel(t.Context())
				stop := r.IntN(40)
				var events []agent.Event
				for e := range c.Run(ctx, text("prompt "+fmt.Sprint(n))) {
					if events = append(events, e); len(events) == stop {
						cancel()
					} else if len(events) == 2*stop {
						break
					}
				}
				cancel()
				if len(events) == 0 || len(events) != 2*stop {
					checkEvents(t, events)
				}
				checkClient(t, c)
				if r.IntN(4) == 0 {
					for range c.SendStream(t.Context(), text("sent"), respPart("1")) {
					}
				}
				if slices.Contains(rec.ops, "append") {
					require.Equal(t, outline(c.History()), outline(rec.history))
				}
			}
		})
	})
}
