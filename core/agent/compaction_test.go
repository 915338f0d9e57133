package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
)

// shortener is a compactor with a given result, which records its requests.
type shortener struct {
	answer   func(r agent.CompactRequest) (agent.Compaction, error)
	requests []agent.CompactRequest
}

func (s *shortener) Compact(_ context.Context, r agent.CompactRequest) (agent.Compaction, error) {
	s.requests = append(s.requests, r)
	return s.answer(r)
}

// toSummary keeps the last turn and the turn with the calls that it answers.
func toSummary(r agent.CompactRequest) (agent.Compaction, error) {
	history := []model.Content{user(text("Summary.")), answer(text("Good."))}
	if n := len(r.History); len(r.History[n-1].Responses()) > 0 {
		history = []model.Content{user(text("Summary.")), r.History[n-2], r.History[n-1]}
	}
	return agent.Compaction{Status: agent.Compacted, Before: 9, After: 1, History: history, Usage: model.Usage{Input: 5}}, nil
}

// long is an answer with a given token count.
func long(tokens int, s stream) stream {
	s.chunks[0].Usage = &model.Usage{Input: tokens}
	return s
}

func compacting(s *shortener) func(o *agent.Options) {
	return func(o *agent.Options) {
		o.Compactor, o.Limits.Tokens = s, 1000
		o.Restate = func(context.Context, []model.Content) ([]model.Part, error) {
			return []model.Part{text("State of files.")}, nil
		}
	}
}

// RC-22: the history is compacted before a request, from half of the limit on; the state of files
// follows the summary.
func TestCompaction(t *testing.T) {
	s := &shortener{answer: toSummary}
	rec := &record{}
	var old []model.Content
	g := inOrder(long(400, says("one")), long(600, asks(call("1", "look", ""))), says("two"))
	var c *agent.Client
	c = newClient(t, g, compacting(s), func(o *agent.Options) {
		o.Recorder = rec
		o.Restate = func(_ context.Context, h []model.Content) ([]model.Part, error) {
			old = h
			require.Equal(t, "user: Summary.", outline(c.History())[0], "it is replaced already")
			return []model.Part{text("State of files.")}, nil
		}
	})
	run(t.Context(), c, "a")
	require.Empty(t, s.requests)
	events := run(t.Context(), c, "b")
	checkEvents(t, events)
	require.Equal(t, []agent.EventType{
		agent.EventModel, agent.EventText, agent.EventToolCall, agent.EventFinished, agent.EventToolResponse,
		agent.EventCompaction, agent.EventText, agent.EventFinished, agent.EventDone,
	}, types(events))
	require.Len(t, s.requests, 1)
	require.Equal(t, []string{"user: a", "model: one", "user: b", "model: I look. 1!", "user: 1="}, outline(s.requests[0].History))
	require.Equal(t, outline(s.requests[0].History), outline(old))
	require.GreaterOrEqual(t, s.requests[0].Tokens, 600)
	require.Equal(t, 1000, s.requests[0].Limit)
	require.Equal(t, "one", s.requests[0].Model)
	require.False(t, s.requests[0].Force)
	require.Equal(t, []string{"user: Summary. State of files.", "model: I look. 1!", "user: 1=", "model: two"}, outline(c.History()))
	require.Equal(t, c.History(), rec.history)
	require.Equal(t, outline(g.requests[2].Contents), outline(c.History())[:3])
	require.Equal(t, 1005, c.Usage().Total)
}

// The event reports the length of the new history including the state of files.
func TestCompactionCountsTheStateOfFiles(t *testing.T) {
	for _, state := range []string{"", strings.Repeat("four", 100)} {
		tr := &trace{}
		c := newClient(t, inOrder(), compacting(&shortener{answer: toSummary}), func(o *agent.Options) {
			o.Observer = tr
			o.Restate = func(context.Context, []model.Content) ([]model.Part, error) { return []model.Part{text(state)}, nil }
		})
		run(t.Context(), c, "a")
		compaction, err := c.Compress(t.Context(), true)
		require.NoError(t, err)
		require.Equal(t, 9, compaction.Before)
		require.Equal(t, 1+len(state)/4, compaction.After)
	}
}

// The history may be read while it is replaced (to be run with -race).
func TestHistoryDuringCompaction(t *testing.T) {
	var c *agent.Client
	begin, read, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		<-begin
		for range 2 {
			_ = c.History()
		}
		close(read)
	}()
	c = newClient(t, inOrder(), func(o *agent.Options) {
		o.Compactor = compactFunc(func(_ context.Context, r agent.CompactRequest) (agent.Compaction, error) {
			close(begin)
			return toSummary(r)
		})
		o.Restate = func(context.Context, []model.Content) ([]model.Part, error) {
			<-read
			return nil, nil
		}
	})
	run(t.Context(), c, "a")
	_, err := c.Compress(t.Context(), true)
	require.NoError(t, err)
	<-done
}

// The known length of a history is not used for a different history.
func TestLengthOfAnotherHistory(t *testing.T) {
	s := &shortener{answer: toSummary}
	c := newClient(t, inOrder(long(600, says("one"))), compacting(s))
	run(t.Context(), c, "a")
	require.NoError(t, c.SetHistory(t.Context(), []model.Content{user(text("b")), answer(text("c")), user(text("d")), answer(text("e"))}))
	run(t.Context(), c, "f")
	require.Empty(t, s.requests)
}

// A conversation with SendStream is compacted too, between the responses to calls and the next
// request.
func TestCompactionOfSendStream(t *testing.T) {
	s := &shortener{answer: toSummary}
	c := newClient(t, inOrder(long(600, asks(call("1", "look", "")))), compacting(s), func(o *agent.Options) {
		o.Reminders = func(context.Context) ([]model.Part, error) { return []model.Part{text("Rules.")}, nil }
	})
	for range c.SendStream(t.Context(), text("a")) {
	}
	parts, _ := c.ProcessTurn(t.Context(), c.History()[1].Calls())
	require.Equal(t, agent.EventDone, last(slices.Collect(c.SendStream(t.Context(), parts...))).Type)
	require.Equal(t, []string{"user: Summary. State of files.", "model: I look. 1!", "user: 1= Rules. Rules.", "model: Done."}, outline(c.History()))
}

// The token count of one model is not used for another.
func TestLengthForAnotherModel(t *testing.T) {
	s := &shortener{answer: toSummary}
	name := "fake:one"
	c := newClient(t, inOrder(long(600, says("one"))), compacting(s), func(o *agent.Options) { o.Model = func() string { return name } })
	run(t.Context(), c, "a")
	name = "fake:two"
	run(t.Context(), c, "b")
	require.Empty(t, s.requests)
}

// The prompt itself is never part of the summary.
func TestCompactionBeforeAPrompt(t *testing.T) {
	s := &shortener{answer: toSummary}
	c := newClient(t, inOrder(long(600, says("one"))), compacting(s))
	run(t.Context(), c, "a")
	run(t.Context(), c, "b")
	require.Equal(t, []string{"user: Summary. State of files.", "model: Good.", "user: b", "model: Done."}, outline(c.History()))
}

// A summary of the whole history leaves the model a user turn to answer.
func TestCompactionOfEverything(t *testing.T) {
	s := &shortener{answer: func(agent.CompactRequest) (agent.Compaction, error) {
		return agent.Compaction{Status: agent.Compacted, History: []model.Content{user(text("Summary.")), answer(text("Good."))}}, nil
	}}
	due := []model.Part{}
	c := newClient(t, inOrder(long(600, asks(call("1", "look", "")))), compacting(s), func(o *agent.Options) {
		o.Reminders = func(context.Context) ([]model.Part, error) { return due, nil }
		o.Restate = func(context.Context, []model.Content) ([]model.Part, error) {
			due = []model.Part{text("Rules.")}
			return nil, nil
		}
	})
	require.Equal(t, agent.EventDone, last(run(t.Context(), c, "a")).Type)
	// FT-17: in message mode instructions are sent again.
	require.Equal(t, []string{"user: Summary.", "model: Good.", "user: Continue with the task. Rules.", "model: Done."}, outline(c.History()))
}

// A compaction that keeps the responses has the reminders with them.
func TestRemindersAfterCompaction(t *testing.T) {
	var due []model.Part
	c := newClient(t, inOrder(long(600, asks(call("1", "look", "")))), compacting(&shortener{answer: toSummary}), func(o *agent.Options) {
		o.Reminders = func(context.Context) ([]model.Part, error) { return due, nil }
		o.Restate = func(context.Context, []model.Content) ([]model.Part, error) {
			due = []model.Part{text("Rules.")}
			return nil, nil
		}
	})
	require.Equal(t, agent.EventDone, last(run(t.Context(), c, "a")).Type)
	require.Equal(t, []string{"user: Summary.", "model: I look. 1!", "user: 1= Rules.", "model: Done."}, outline(c.History()))
}

// A failed compaction is not repeated until a caller requests it, and the history and the state of
// files are kept.
func TestCompactionFails(t *testing.T) {
	for name, status := range map[string]agent.CompactionStatus{"inflated": agent.CompactionInflated, "empty": agent.CompactionEmpty, "an invalid history": agent.Compacted} {
		t.Run(name, func(t *testing.T) {
			s := &shortener{answer: func(agent.CompactRequest) (agent.Compaction, error) { return agent.Compaction{Status: status}, nil }}
			c := newClient(t, inOrder(long(600, says("one")), long(600, says("two")), long(600, says("three"))), compacting(s), func(o *agent.Options) {
				o.Restate = func(context.Context, []model.Content) ([]model.Part, error) {
					t.Error("nothing was replaced")
					return nil, nil
				}
			})
			run(t.Context(), c, "a")
			events := run(t.Context(), c, "b")
			require.Contains(t, types(events), agent.EventCompaction)
			run(t.Context(), c, "c")
			require.Len(t, s.requests, 1)
			require.Len(t, c.History(), 6)
			_, err := c.Compress(t.Context(), false)
			require.NoError(t, err)
			require.Len(t, s.requests, 1)

			s.answer = func(agent.CompactRequest) (agent.Compaction, error) {
				return agent.Compaction{Status: agent.CompactionNoop}, nil
			}
			_, err = c.Compress(t.Context(), true)
			require.NoError(t, err)
			require.True(t, s.requests[1].Force)
			run(t.Context(), c, "d")
			require.Len(t, s.requests, 3, "automatic again")
		})
	}
}

func TestCompress(t *testing.T) {
	s := &shortener{answer: toSummary}
	c := newClient(t, inOrder(), compacting(s))
	compaction, err := c.Compress(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, agent.CompactionNoop, compaction.Status, "there is no history")
	run(t.Context(), c, "a")
	compaction, err = c.Compress(t.Context(), false)
	require.NoError(t, err)
	require.Equal(t, agent.CompactionNoop, compaction.Status, "it is short")
	compaction, err = c.Compress(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, agent.Compacted, compaction.Status)
	require.Equal(t, []string{"user: Summary. State of files.", "model: Good."}, outline(c.History()))
	require.Equal(t, outline(c.History()), outline(compaction.History))

	s.answer = func(agent.CompactRequest) (agent.Compaction, error) { return agent.Compaction{}, errors.New("no") }
	_, err = c.Compress(t.Context(), true)
	require.ErrorContains(t, err, "no")
	require.Len(t, c.History(), 2)
	events := run(t.Context(), newClient(t, inOrder(), compacting(s), func(o *agent.Options) {
		o.Limits.CompactAt = 1e-9
		o.History = []model.Content{user(text("A long question.")), answer(text("A long answer."))}
	}), "c")
	require.Equal(t, agent.EventWarning, events[0].Type, "the prompt continues without compaction")
	require.Equal(t, agent.EventDone, last(events).Type)
}

// An invalid history of a compactor is repaired.
func TestCompactionRepaired(t *testing.T) {
	s := &shortener{answer: func(r agent.CompactRequest) (agent.Compaction, error) {
		return agent.Compaction{Status: agent.CompactionTruncated, History: []model.Content{answer(callPart("9")), answer(text("x"))}}, nil
	}}
	c := newClient(t, inOrder(long(600, says("one"))), compacting(s))
	run(t.Context(), c, "a")
	run(t.Context(), c, "b")
	checkClient(t, c)
	require.Contains(t, strings.Join(outline(c.History()), "\n"), "State of files.")
}

// If the provider rejects the conversation as too long, it is compacted once.
func TestCompactionOnOverflow(t *testing.T) {
	s := &shortener{answer: toSummary}
	tooLong := func(n int, r *model.Request) stream {
		if strings.Contains(r.Contents[0].Text(), "Summary.") {
			return says("Well.")
		}
		return fails(model.ContextExceeded, 400)
	}
	c := newClient(t, &fake{answer: tooLong}, compacting(s), func(o *agent.Options) {
		o.Limits.CompactAt = 1
		o.History = []model.Content{user(text("a")), answer(text("b"))}
	})
	require.Equal(t, agent.EventDone, last(run(t.Context(), c, "c")).Type)
	require.Equal(t, []string{"user: Summary. State of files.", "model: Good.", "user: c", "model: Well."}, outline(c.History()))
	require.True(t, s.requests[0].Force)

	s.answer = func(agent.CompactRequest) (agent.Compaction, error) {
		return agent.Compaction{Status: agent.CompactionInflated}, nil
	}
	c = newClient(t, &fake{answer: tooLong}, compacting(s), func(o *agent.Options) {
		o.History = []model.Content{user(text("a")), answer(text("b"))}
	})
	end := last(run(t.Context(), c, "c"))
	require.Equal(t, agent.EventOverflow, end.Type)
	require.Equal(t, 1000, end.Limit)
	require.Len(t, c.History(), 2, "the prompt is removed")

	for _, never := range []float64{-1, 1.1} { // automatic compaction is disabled
		s.requests = nil
		c = newClient(t, &fake{answer: tooLong}, compacting(s), func(o *agent.Options) {
			o.Limits.CompactAt = never
			o.History = []model.Content{user(text("a")), answer(text("b"))}
		})
		require.Equal(t, agent.EventOverflow, last(run(t.Context(), c, "c")).Type)
		require.Empty(t, s.requests)
		_, err := c.Compress(t.Context(), true)
		require.NoError(t, err)
		require.Len(t, s.requests, 1)
	}
}

// A cancelled compaction keeps the history.
func TestCancelDuringCompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := newClient(t, inOrder(long(600, says("one"))), compacting(nil), func(o *agent.Options) {
			o.Compactor = compactFunc(func(ctx context.Context, _ agent.CompactRequest) (agent.Compaction, error) {
				cancel()
				<-ctx.Done()
				return agent.Compaction{}, ctx.Err()
			})
		})
		run(t.Context(), c, "a")
		events := run(ctx, c, "b")
		require.Equal(t, []agent.EventType{agent.EventCancelled}, types(events))
		require.Equal(t, []string{"user: a", "model: one"}, outline(c.History()))
	})
}

type compactFunc func(ctx context.Context, r agent.CompactRequest) (agent.Compaction, error)

func (f compactFunc) Compact(ctx context.Context, r agent.CompactRequest) (agent.Compaction, error) {
	return f(ctx, r)
}

// The observer receives each attempt.
func TestObserveCompaction(t *testing.T) {
	tr := &trace{}
	c := newClient(t, inOrder(), compacting(&shortener{answer: toSummary}), func(o *agent.Options) { o.Observer = tr })
	run(t.Context(), c, "a")
	_, err := c.Compress(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, []string{"compaction, forced true", "compaction ends 1 <nil>"}, slices.Clip(tr.steps[len(tr.steps)-2:]))
}
