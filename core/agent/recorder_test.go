package agent_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
)

func TestRecorder(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	rec := &record{}
	answer := asks(call("1", "look", ""))
	answer.chunks[0].Usage = &model.Usage{Input: 7, Output: 3}
	answer.chunks[0].Model = "fake-1-today"
	c := newClient(t, inOrder(answer), func(o *agent.Options) {
		o.Recorder, o.Now = rec, func() time.Time { return now }
	})
	run(t.Context(), c, "Do it.")
	require.Len(t, rec.entries, 4)
	require.Equal(t, []string{"", "fake-1-today", "", "fake:one"}, []string{rec.entries[0].Model, rec.entries[1].Model, rec.entries[2].Model, rec.entries[3].Model})
	require.Equal(t, model.Usage{Input: 7, Output: 3}, rec.entries[1].Usage)
	require.Equal(t, "look", rec.entries[2].Responses[0].Tool)
	require.Equal(t, now, rec.entries[0].Time)
	require.Equal(t, model.Usage{Input: 7, Output: 3, Total: 10}, c.Usage())
	require.NoError(t, c.SetHistory(t.Context(), []model.Content{user(text("a")), answerOf("1")}))
	require.Equal(t, "replace", rec.ops[len(rec.ops)-1])
	require.Equal(t, []string{"user: a", "model: 1!", "user: 1="}, outline(rec.history))
	before := len(rec.ops)
	require.NoError(t, c.ResetChat(t.Context()))
	require.Len(t, rec.ops, before, "a session that ends here can be resumed")
	run(t.Context(), c, "b")
	require.Equal(t, []string{"user: b", "model: Done."}, outline(rec.history))
}

func answerOf(id string) model.Content { return answer(callPart(id)) }

// A repaired history is recorded again; the recorder already has a valid one.
func TestResume(t *testing.T) {
	for name, tt := range map[string]struct {
		history []model.Content
		want    []string
	}{
		"whole":  {[]model.Content{user(text("a")), answer(text("b"))}, []string{"append", "append"}},
		"broken": {[]model.Content{user(text("a")), answerOf("1")}, []string{"replace", "append", "append", "append"}},
	} {
		t.Run(name, func(t *testing.T) {
			rec := &record{history: tt.history}
			c := newClient(t, inOrder(), func(o *agent.Options) { o.History, o.Recorder = tt.history, rec })
			checkClient(t, c)
			run(t.Context(), c, "c")
			require.Equal(t, tt.want, rec.ops)
			require.Equal(t, c.History(), rec.history)
		})
	}
}

// The first error of the recorder is reported, and the recorder is not called again.
func TestRecorderFails(t *testing.T) {
	rec := &failingRecorder{}
	c := newClient(t, inOrder(), func(o *agent.Options) { o.Recorder = rec })
	events := append(run(t.Context(), c, "a"), run(t.Context(), c, "b")...)
	warnings := slices.DeleteFunc(events, func(e agent.Event) bool { return e.Type != agent.EventWarning })
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0].Text, "disk on fire")
	require.Equal(t, 1, rec.calls)
	require.Len(t, c.History(), 4)
}

type failingRecorder struct {
	badRecorder
	calls int
}

func (r *failingRecorder) Append(context.Context, agent.Entry) error {
	r.calls++
	return errors.New("disk on fire")
}
