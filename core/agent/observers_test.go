package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
)

// noting is an observer that records its calls, and adds its name to the context.
type noting struct {
	name   string
	steps  *[]string
	panics string // the call in which it panics
	silent bool   // returns nil
}

type notingKey struct{}

func (o noting) note(ctx context.Context, call string) context.Context {
	before, _ := ctx.Value(notingKey{}).(string)
	*o.steps = append(*o.steps, o.name+" "+call+" in "+before)
	if o.panics == call {
		panic(o.name)
	}
	return context.WithValue(ctx, notingKey{}, before+o.name)
}

func (o noting) Prompt(ctx context.Context, _ agent.PromptInfo) (context.Context, func(agent.PromptEnd)) {
	if ctx = o.note(ctx, "begins"); o.silent {
		return nil, nil
	}
	return ctx, func(agent.PromptEnd) { o.note(ctx, "ends") }
}

func (o noting) Request(ctx context.Context, _ agent.RequestInfo) (context.Context, func(agent.RequestEnd)) {
	return o.note(ctx, "begins"), func(agent.RequestEnd) { o.note(ctx, "ends") }
}

func (o noting) Compaction(ctx context.Context, _ bool) (context.Context, func(agent.Compaction, error)) {
	if ctx = o.note(ctx, "begins"); o.silent {
		return nil, nil
	}
	return ctx, func(_ agent.Compaction, err error) { o.note(ctx, "ends, "+err.Error()) }
}

func TestObservers(t *testing.T) {
	var steps []string
	a, b := noting{name: "a", steps: &steps}, noting{name: "b", steps: &steps}
	require.Nil(t, agent.Observers(nil, nil))
	require.Equal(t, a, agent.Observers(nil, a))

	all := agent.Observers(a, nil, b)
	ctx, end := all.Prompt(t.Context(), agent.PromptInfo{})
	require.Equal(t, "ab", ctx.Value(notingKey{}))
	end(agent.PromptEnd{})
	require.Equal(t, []string{"a begins in ", "b begins in a", "b ends in ab", "a ends in a"}, steps)

	steps = nil
	_, ended := all.Request(t.Context(), agent.RequestInfo{})
	ended(agent.RequestEnd{})
	require.Len(t, steps, 4)

	steps = nil
	_, compacted := all.Compaction(t.Context(), true)
	compacted(agent.Compaction{}, errors.New("why"))
	require.Equal(t, []string{"a begins in ", "b begins in a", "b ends, why in ab", "a ends, why in a"}, steps)
}

// An observer that panics or returns nil does not affect the others or the client.
func TestObserversThatMisbehave(t *testing.T) {
	var steps []string
	a, c := noting{name: "a", steps: &steps}, noting{name: "c", steps: &steps}
	for name, b := range map[string]noting{
		"at the beginning": {name: "b", steps: &steps, panics: "begins"},
		"at the end":       {name: "b", steps: &steps, panics: "ends"},
	} {
		t.Run(name, func(t *testing.T) {
			steps = nil
			_, end := agent.Observers(a, b, c).Prompt(t.Context(), agent.PromptInfo{})
			require.PanicsWithValue(t, "b", func() { end(agent.PromptEnd{}) })
			require.Contains(t, steps, "a ends in a")
			require.Equal(t, "a ends in a", steps[len(steps)-1])
		})
	}
	steps = nil
	silent := noting{name: "s", steps: &steps, silent: true}
	ctx, end := agent.Observers(silent, c).Prompt(t.Context(), agent.PromptInfo{})
	require.Equal(t, "c", ctx.Value(notingKey{}))
	end(agent.PromptEnd{})
	_, compacted := agent.Observers(silent, silent).Compaction(t.Context(), false)
	compacted(agent.Compaction{}, nil)

	g := newClient(t, inOrder(), func(o *agent.Options) {
		o.Observer = agent.Observers(noting{name: "b", steps: &steps, panics: "begins"}, c)
	})
	require.Equal(t, agent.EventDone, last(run(t.Context(), g, "Hello.")).Type)
}

// Leaving the loop over the events is distinguished from the end of a context.
func TestObserversSeeLeft(t *testing.T) {
	ends := &promptEnds{}
	c := newClient(t, inOrder(), func(o *agent.Options) { o.Observer = ends })
	for range c.Run(t.Context(), model.TextPart("Hello.")) {
		break
	}
	run(t.Context(), c, "Hello.")
	require.Len(t, ends.list, 2)
	require.True(t, ends.list[0].Left)
	require.Error(t, ends.list[0].Err)
	require.False(t, ends.list[1].Left)
	require.NoError(t, ends.list[1].Err)
}

// promptEnds records the ends of prompts.
type promptEnds struct {
	trace
	list []agent.PromptEnd
}

func (p *promptEnds) Prompt(ctx context.Context, _ agent.PromptInfo) (context.Context, func(agent.PromptEnd)) {
	return ctx, func(e agent.PromptEnd) { p.list = append(p.list, e) }
}
