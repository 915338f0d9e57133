package config_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
)

var questions = map[string]any{"questions": []map[string]any{
	{"question": "Which one?", "header": "Database", "type": "choice", "multiSelect": true, "options": []map[string]any{
		{"label": "this", "description": "The one."}, {"label": "that", "description": "The other."},
	}},
	{"question": "Why?", "header": "Reason", "type": "text", "placeholder": "because"},
	{"question": "Sure?", "header": "Sure", "type": "yesno"},
}}

// TO-14: the questions reach the front end unchanged, and the answers the model.
func TestAskUser(t *testing.T) {
	s := configtest.New(t)
	var asked []bus.UserQuestion
	bus.Subscribe(t.Context(), s.MessageBus(), func(_ context.Context, q bus.AskUserRequest) {
		asked = q.Questions
		require.NoError(t, s.MessageBus().Publish(bus.AskUserResponse{CorrelationID: q.CorrelationID,
			Answers: map[string]string{"0": "this, that", "1": "so", "2": "yes"}}))
	})
	r := s.Call("ask_user", questions)
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
	require.Empty(t, s.Confirmations(), "asking needs no leave")
	require.Equal(t, []bus.UserQuestion{
		{Question: "Which one?", Header: "Database", Type: bus.QuestionChoice, MultiSelect: true, Options: []bus.UserOption{
			{Label: "this", Description: "The one."}, {Label: "that", Description: "The other."},
		}},
		{Question: "Why?", Header: "Reason", Type: bus.QuestionText, Placeholder: "because"},
		{Question: "Sure?", Header: "Sure", Type: bus.QuestionYesNo},
	}, asked)
	answers := configtest.Decode[struct{ Answers, Headers map[string]string }](t, r).Answers
	require.Equal(t, map[string]string{"0": "this, that", "1": "so", "2": "yes"}, answers)
}

// The user sees which of several agents asks.
func TestAskUserOfASubagent(t *testing.T) {
	s := configtest.New(t)
	var who []string
	bus.Subscribe(t.Context(), s.MessageBus(), func(_ context.Context, q bus.AskUserRequest) {
		who = append(who, q.Subagent)
		require.NoError(t, s.MessageBus().Publish(bus.AskUserResponse{CorrelationID: q.CorrelationID}))
	})
	child, err := s.Derive(config.DeriveParameters{Subagent: "reviewer"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, child.Close()) })
	require.Equal(t, scheduler.StatusSuccess, s.Call("ask_user", questions).Status)
	require.Equal(t, scheduler.StatusSuccess, call(t, child, "ask_user", questions).Status)
	require.Equal(t, []string{"", "reviewer"}, who)
}

// TO-14: without a front end it fails at once; so it does if the front end
// leaves, or the call is cancelled, while the question is open.
func TestAskUserWithoutAnybody(t *testing.T) {
	c := newConfig(t, config.Parameters{})
	require.NoError(t, c.Initialize(t.Context()))
	r := call(t, c, "ask_user", questions)
	require.Equal(t, scheduler.StatusError, r.Status)
	require.Equal(t, fault.NoApprover, r.Result.Error.Code)

	ctx, leave := context.WithCancel(t.Context())
	bus.Subscribe(ctx, c.MessageBus(), func(context.Context, bus.AskUserRequest) { leave() })
	r = call(t, c, "ask_user", questions)
	require.Equal(t, fault.NoApprover, r.Result.Error.Code)

	ctx, cancel := context.WithCancel(t.Context())
	bus.Subscribe(t.Context(), c.MessageBus(), func(context.Context, bus.AskUserRequest) { cancel() })
	r = configtest.Call(ctx, t, c, "ask_user", questions)
	require.Equal(t, scheduler.StatusCancelled, r.Status)
}
