package config

import (
	"context"
	"errors"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/serving"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools/communicate"
)

// person is whoever answers the questions that go over a session's bus.
type person struct {
	bus      *bus.MessageBus
	subagent string // who asks; "" is the main agent
}

// Ask puts the questions to the front ends (TO-14).
func (p person) Ask(ctx context.Context, questions []communicate.Question) (communicate.Answers, error) {
	wire := make([]bus.UserQuestion, len(questions))
	for i, q := range questions {
		wire[i] = bus.UserQuestion{
			Question: q.Question, Header: q.Header, Type: bus.UserQuestionType(q.Type),
			MultiSelect: q.MultiSelect, Placeholder: q.Placeholder,
		}
		for _, o := range q.Options {
			wire[i].Options = append(wire[i].Options, bus.UserOption(o))
		}
	}
	answer, err := bus.Ask(ctx, p.bus, bus.AskUserRequest{CallID: serving.CallID(ctx), Subagent: p.subagent, Questions: wire})
	switch {
	case err == nil:
		return communicate.Answers{ByIndex: answer.Answers, Dismissed: answer.Cancelled}, nil
	case ctx.Err() != nil:
		return communicate.Answers{}, cancelled("ask", ctx.Err())
	case errors.Is(err, bus.ErrNobody), errors.Is(err, bus.ErrClosed):
		return communicate.Answers{}, fault.Wrap(fault.NobodyToAsk, "config.ask", "There is nobody who could answer questions.",
			"Go on with what is most likely wanted, and say what you have assumed.", err)
	}
	return communicate.Answers{}, fault.Wrap(fault.ExecutionFailed, "config.ask", "The questions could not be asked: "+err.Error()+".", "", err)
}
