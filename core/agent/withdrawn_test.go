package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
)

// A prompt that is not in the history is reported once: files that it has shown do not count as
// shown.
func TestWithdrawn(t *testing.T) {
	refused := func() *fake { return inOrder(fails(model.InvalidRequest, 400)) }
	before := func(a agent.PromptAdvice, err error) func(o *agent.Options) {
		return func(o *agent.Options) {
			o.Steps.BeforePrompt = []agent.BeforePrompt{
				func(context.Context, []model.Part) (agent.PromptAdvice, error) {
					return agent.PromptAdvice{Context: []model.Part{text("more")}}, nil
				},
				func(context.Context, []model.Part) (agent.PromptAdvice, error) { return a, err },
			}
		}
	}
	for name, tt := range map[string]struct {
		model *fake
		set   func(o *agent.Options)
		want  []string
	}{
		"an answer":        {inOrder(), func(*agent.Options) {}, nil},
		"a refusal":        {refused(), func(*agent.Options) {}, []string{"user: a b"}},
		"blocked":          {inOrder(), before(agent.PromptAdvice{Block: "no"}, nil), []string{"user: a b more"}},
		"a step fails":     {inOrder(), before(agent.PromptAdvice{}, errors.New("no")), []string{"user: a b more"}},
		"stopped":          {inOrder(), before(agent.PromptAdvice{Stop: "no"}, nil), nil},
		"the limit":        {inOrder(), func(o *agent.Options) { o.Limits.SessionTurns, o.Limits.PromptTurns = 1, 1 }, nil},
		"too long":         {inOrder(), func(o *agent.Options) { o.Limits.Tokens, o.Limits.CompactAt = 1, -1; o.System = longSystem }, []string{"user: a b"}},
		"no model":         {inOrder(), func(o *agent.Options) { o.Source = noSource }, []string{"user: a b"}},
		"no system prompt": {inOrder(), func(o *agent.Options) { o.System = noSystem }, []string{"user: a b"}},
		"it panics":        {refused(), func(o *agent.Options) { o.Model = func() string { return "fake:one" } }, []string{"user: a b"}},
	} {
		t.Run(name, func(t *testing.T) {
			var withdrawn []string
			c := newClient(t, tt.model, tt.set, func(o *agent.Options) {
				o.Withdrawn = func(parts []model.Part) {
					withdrawn = append(withdrawn, outline([]model.Content{user(parts...)})...)
					if name == "it panics" {
						panic("oh")
					}
				}
			})
			for range c.Run(t.Context(), text("a"), text("b")) {
			}
			require.Equal(t, tt.want, withdrawn)
			checkClient(t, c)
			require.Equal(t, tt.want == nil, len(c.History()) > 0)
		})
	}
}

func longSystem(context.Context) (string, error) { return "A prompt of several words.", nil }
func noSystem(context.Context) (string, error)   { return "", errors.New("no") }
func noSource(context.Context, string) (model.Generator, error) {
	return nil, errors.New("no")
}

// A prompt that a limit rejects, or that was cancelled while it waited, is reported too.
func TestWithdrawnUnsent(t *testing.T) {
	var withdrawn []string
	c := newClient(t, inOrder(asks(call("1", "look", ""))), func(o *agent.Options) {
		o.Limits.SessionTurns = 1
		o.Withdrawn = func(parts []model.Part) { withdrawn = append(withdrawn, outline([]model.Content{user(parts...)})...) }
	})
	for range c.SendStream(t.Context(), text("a")) {
	}
	require.Empty(t, withdrawn)
	require.Equal(t, agent.EventLimit, send(t.Context(), c, respPart("1"), text("b")))
	require.Equal(t, []string{"user: b"}, withdrawn, "only the text is withdrawn")
	require.Equal(t, agent.EventLimit, last(run(t.Context(), c, "c")).Type)
	require.Equal(t, []string{"user: b", "user: c"}, withdrawn)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	run(ctx, c, "d")
	require.Equal(t, []string{"user: b", "user: c", "user: d"}, withdrawn)
}

// If the caller panics in the loop over the events, the prompt is reported as withdrawn.
func TestWithdrawnAfterAPanic(t *testing.T) {
	var withdrawn []string
	c := newClient(t, inOrder(), func(o *agent.Options) {
		o.Withdrawn = func(parts []model.Part) { withdrawn = append(withdrawn, outline([]model.Content{user(parts...)})...) }
	})
	require.Panics(t, func() {
		for range c.Run(t.Context(), text("a")) {
			panic("oh")
		}
	})
	require.Equal(t, []string{"user: a"}, withdrawn)
	checkClient(t, c)
}

func send(ctx context.Context, c *agent.Client, parts ...model.Part) agent.EventType {
	var end agent.EventType
	for e := range c.SendStream(ctx, parts...) {
		end = e.Type
	}
	return end
}

// RC-21, FT-13: the callback is called when the history is emptied.
func TestCleared(t *testing.T) {
	cleared := 0
	c := newClient(t, inOrder(), func(o *agent.Options) {
		o.Cleared = func() { cleared++ }
		o.Steps.AfterPrompt = []agent.AfterPrompt{func(_ context.Context, prompt []model.Part, _ string, _ bool) (agent.PromptAdvice, error) {
			return agent.PromptAdvice{Clear: prompt[0].Text == "clear"}, nil
		}}
	})
	run(t.Context(), c, "a")
	require.Zero(t, cleared)
	require.NoError(t, c.ResetChat(t.Context()))
	require.Equal(t, 1, cleared)
	run(t.Context(), c, "clear")
	require.Equal(t, 2, cleared)
	require.Empty(t, c.History())
}
