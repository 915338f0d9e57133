package agent_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/replay"
)

// described is a fake that knows its model.
type described struct {
	*fake
	name  model.Name
	limit int
}

func (d described) Name() model.Name { return d.name }
func (d described) Limit() int       { return d.limit }

// The limit and the reported name are those of the answering model, not of the requested name; also
// with a recorded Generator.
func TestLimitOfTheModelInForce(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		s := &shortener{answer: toSummary}
		g := described{inOrder(long(600, says("one")), says("two")), model.Name{Provider: "fake", Model: "small"}, 1000}
		var generator model.Generator = g
		if recorded {
			generator = replay.NewRecorder(&bytes.Buffer{}).Wrap(g)
		}
		c := newClient(t, generator, compacting(s), func(o *agent.Options) {
			o.Model, o.Limits.Tokens = func() string { return "auto" }, 0
		})
		require.Equal(t, 1<<20, c.Limit(), "the model is not known yet")
		events := run(t.Context(), c, "a")
		require.Equal(t, "fake:small", events[0].Text)
		require.Equal(t, 1000, c.Limit())
		run(t.Context(), c, "b")
		require.Len(t, s.requests, 1)
		require.Equal(t, 1000, s.requests[0].Limit)
		require.Equal(t, "small", s.requests[0].Model)
		require.Equal(t, "small", g.requests[0].Model)
	}
}

// Limits takes precedence over the limit of the Generator, which takes precedence over that of the
// name.
func TestLimit(t *testing.T) {
	named := model.Name{Provider: "openai", Model: "gpt-4o"}
	for name, tt := range map[string]struct {
		g    model.Generator
		set  int
		want int
	}{
		"set":                      {described{inOrder(), named, 7}, 9, 9},
		"reported":                 {described{inOrder(), named, 7}, 0, 7},
		"by the name":              {described{inOrder(), named, 0}, 0, 128_000},
		"by the requested name":    {inOrder(), 0, 200_000},
		"reported, without a name": {described{inOrder(), model.Name{}, 0}, 0, 200_000},
	} {
		t.Run(name, func(t *testing.T) {
			selected := "anthropic:claude-sonnet-4-5"
			c := newClient(t, tt.g, func(o *agent.Options) {
				o.Limits.Tokens, o.Model = tt.set, func() string { return selected }
			})
			require.NoError(t, c.Initialize(t.Context()))
			require.Equal(t, tt.want, c.Limit())
			selected = "gpt-4"
			if tt.set == 0 {
				require.Equal(t, 8_192, c.Limit(), "the model name has changed, and its Generator is not found yet")
			}
		})
	}
	c := newClient(t, inOrder(), func(o *agent.Options) { o.Model = func() string { panic("oh") } })
	require.Equal(t, 1<<20, c.Limit())
}

// A different name for the same model keeps the known token count.
func TestLengthUnderAnotherName(t *testing.T) {
	s := &shortener{answer: toSummary}
	selected := "auto"
	g := described{inOrder(long(600, says("one"))), model.Name{Provider: "fake", Model: "small"}, 0}
	c := newClient(t, g, compacting(s), func(o *agent.Options) { o.Model = func() string { return selected } })
	run(t.Context(), c, "a")
	selected = "fake:small"
	run(t.Context(), c, "b")
	require.Len(t, s.requests, 1)
}

// FT-17: a reminder of a failed request that is due again after compaction is sent once.
func TestOwedRemindersAfterCompaction(t *testing.T) {
	for name, tt := range map[string]struct {
		again []model.Part // after compaction
		want  string
	}{
		"the same":      {[]model.Part{text("Rules.")}, "user: b Rules."},
		"with others":   {[]model.Part{text("More. Rules.")}, "user: b More. Rules."},
		"not due again": {nil, "user: b Rules."},
		"others":        {[]model.Part{text("More.")}, "user: b Rules. More."},
	} {
		t.Run(name, func(t *testing.T) {
			due := []model.Part{text("Rules.")}
			c := newClient(t, inOrder(long(600, says("one")), fails(model.InvalidRequest, 400)), func(o *agent.Options) {
				o.Compactor = &shortener{answer: toSummary}
				o.Limits.Tokens, o.Limits.CompactAt = 1000, -1
				o.Reminders = func(context.Context) ([]model.Part, error) {
					now := due
					due = nil
					return now, nil
				}
				o.Restate = func(context.Context, []model.Content) ([]model.Part, error) {
					due = tt.again
					return nil, nil
				}
			})
			run(t.Context(), c, "a")
			due = []model.Part{text("Rules.")}
			require.Equal(t, agent.EventError, last(run(t.Context(), c, "b")).Type)
			_, err := c.Compress(t.Context(), true)
			require.NoError(t, err)
			require.Equal(t, agent.EventDone, last(run(t.Context(), c, "b")).Type)
			require.Equal(t, []string{"user: Summary.", "model: Good.", tt.want, "model: Done."}, outline(c.History()))
		})
	}
}

// A step that changes its request changes nothing else.
func TestStepsHaveACopy(t *testing.T) {
	temperature := 0.5
	history := func() []model.Content {
		response := respPart("1")
		response.Response.Data = []model.Data{{MIMEType: "image/png", Name: "b"}}
		return []model.Content{
			user(text("a"), model.Part{Data: &model.Data{MIMEType: "image/png", Name: "a"}}), answer(callPart("1")), user(response), answer(text("c")),
		}
	}
	g := inOrder(fails(model.InvalidRequest, 400))
	c := newClient(t, g, func(o *agent.Options) {
		o.History, o.Temperature = history(), &temperature
		o.Tools = func() []model.Tool { return []model.Tool{{Name: "look"}} }
		o.Steps.BeforeRequest = []agent.BeforeRequest{func(_ context.Context, r *model.Request) (agent.RequestAdvice, error) {
			*r.Temperature = 1
			r.Contents[0].Parts[0].Text = "x"
			r.Contents[0].Parts[1].Data.Name = "x"
			r.Contents[1].Parts[0].Call.Name = "x"
			r.Contents[2].Parts[0].Response.Name = "x"
			r.Contents[2].Parts[0].Response.Data[0].Name = "x"
			r.Tools[0].Name = "x"
			return agent.RequestAdvice{}, nil
		}}
	})
	run(t.Context(), c, "Do it.")
	require.Equal(t, "x", g.requests[0].Contents[0].Parts[1].Data.Name, "the model gets the change")
	require.InDelta(t, 1.0, *g.requests[0].Temperature, 0)
	require.Equal(t, history(), c.History())
	require.InDelta(t, 0.5, temperature, 0)
}

// The warning of a failed compaction has the reason and its own remedy.
func TestWarningOfAFailedCompaction(t *testing.T) {
	failed := &model.Error{Provider: "fake", Kind: model.ContextExceeded, Status: 400, Message: "too long"}
	s := &shortener{answer: func(agent.CompactRequest) (agent.Compaction, error) { return agent.Compaction{}, failed.Fault() }}
	c := newClient(t, inOrder(long(600, says("one"))), compacting(s))
	run(t.Context(), c, "a")
	warned := run(t.Context(), c, "b")[0]
	require.Equal(t, agent.EventWarning, warned.Type)
	require.Equal(t, fault.ModelError, warned.Err.Code)
	require.Equal(t, fault.Reason(model.ContextExceeded), warned.Err.Reason)
	require.Contains(t, warned.Text, "too long")
	require.NotContains(t, warned.Text, failed.Fault().Remedy, "it has just failed to")
	require.NotEmpty(t, warned.Err.Remedy)
}
