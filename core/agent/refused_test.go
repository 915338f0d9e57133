package agent_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// ending is an answer with a tool call and a finish reason.
func ending(finish model.FinishReason) stream {
	s := asks(call("1", "look", `{"text":"a"}`))
	s.chunks[len(s.chunks)-1].Finish = finish
	return s
}

// Calls of a blocked answer are not run; the request is repeated.
func TestCallsOfABlockedAnswer(t *testing.T) {
	for finish, reason := range map[model.FinishReason]fault.Reason{
		model.FinishSafety: "safety_blocked", model.FinishRecitation: "recitation_blocked",
		model.FinishMalformedCall: "malformed_function_call", model.FinishUnexpected: "unexpected_tool_call",
	} {
		t.Run(string(finish), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &runner{}
				c := newClient(t, inOrder(ending(finish)), func(o *agent.Options) { o.Scheduler = s })
				events := run(t.Context(), c, "Do it.")
				checkEvents(t, events)
				i := slices.Index(types(events), agent.EventRetry)
				require.Positive(t, i)
				require.Equal(t, reason, events[i].Retry.Reason.Reason)
				require.Empty(t, s.ran)
				require.Equal(t, []string{"user: Do it.", "model: Done."}, outline(c.History()))
			})
		})
	}
}

// Calls of an answer that was cut at its length limit are answered and not run, also with
// SendStream.
func TestCallsOfACutAnswer(t *testing.T) {
	for _, byHand := range []bool{false, true} {
		t.Run(fmt.Sprint(byHand), func(t *testing.T) {
			s := &runner{}
			c := newClient(t, inOrder(ending(model.FinishMaxTokens), asks(call("2", "look", ""))), func(o *agent.Options) { o.Scheduler = s })
			if byHand {
				for range c.SendStream(t.Context(), text("Do it.")) {
				}
				for range 2 {
					parts, responses := c.ProcessTurn(t.Context(), c.History()[len(c.History())-1].Calls())
					require.Len(t, responses, 1)
					for range c.SendStream(t.Context(), parts...) {
					}
				}
			} else {
				checkEvents(t, run(t.Context(), c, "Do it."))
			}
			require.Equal(t, []string{"look"}, s.ran, "the second is complete")
			require.Equal(t, []string{"user: Do it.", "model: I look. 1!", "user: 1=", "model: I look. 2!", "user: 2=", "model: Done."}, outline(c.History()))
			require.Contains(t, outputs(c.History())[0], "was not run")
			require.Contains(t, outputs(c.History())[0], string(fault.InvalidStream))
			require.Contains(t, outputs(c.History())[1], "the result of look")
		})
	}
}

// A call of a different history is not refused.
func TestCallsAfterACutAnswer(t *testing.T) {
	for name, forget := range map[string]func(c *agent.Client) error{
		"reset":   func(c *agent.Client) error { return c.ResetChat(t.Context()) },
		"another": func(c *agent.Client) error { return c.SetHistory(t.Context(), []model.Content{user(text("a"))}) },
	} {
		s := &runner{}
		c := newClient(t, inOrder(ending(model.FinishMaxTokens)), func(o *agent.Options) { o.Scheduler = s })
		send(t.Context(), c, text("Do it."))
		calls := c.History()[1].Calls()
		c.ProcessTurn(t.Context(), calls)
		require.Empty(t, s.ran, name)
		require.NoError(t, forget(c))
		c.ProcessTurn(t.Context(), calls)
		require.Equal(t, []string{"look"}, s.ran, name)
	}
}

// A stream that ends without an error and without a finish reason is accepted.
func TestCallsWithoutAReason(t *testing.T) {
	s := &runner{}
	c := newClient(t, inOrder(ending("")), func(o *agent.Options) { o.Scheduler = s })
	run(t.Context(), c, "Do it.")
	require.Equal(t, []string{"look"}, s.ran)
}

// At most 200 calls of one answer are run; the others are answered in their place.
func TestManyCallsAtOnce(t *testing.T) {
	var calls []model.FunctionCall
	for i := range 203 {
		calls = append(calls, call(fmt.Sprint(i), "look", fmt.Sprintf(`{"text":"%d"}`, i)))
	}
	s := &runner{}
	c := newClient(t, inOrder(asks(calls...)), func(o *agent.Options) { o.Scheduler = s })
	checkEvents(t, run(t.Context(), c, "Do it."))
	checkClient(t, c)
	require.Len(t, s.ran, 200)
	answers := outputs(c.History())
	require.Len(t, answers, 203)
	require.Contains(t, answers[199], "the result of look")
	for _, rest := range answers[200:] {
		require.Contains(t, rest, "only the first 200 are run")
		require.True(t, json.Valid([]byte(rest)))
	}

	s = &runner{}
	run(t.Context(), newClient(t, inOrder(asks(calls[:200]...)), func(o *agent.Options) { o.Scheduler = s }), "Do it.")
	require.Len(t, s.ran, 200)
}
