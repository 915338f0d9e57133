package config

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// Given is what a person has answered to a question that an earlier attempt of a
// call has left open.
type Given struct {
	Question bus.ToolConfirmationRequest
	Answer   bus.ToolConfirmationResponse // its CorrelationID is filled in
}

// RunCall takes one call through its whole path, for a host that cannot wait for a
// person while a call runs, as a framework that ends a run to ask and begins it
// again with the answer. A question of the call's that nobody on the message bus
// answers ends it, so that nothing is done, and is returned as open; it is nil
// where there was none. The host puts it to the person, and makes the same call
// again with the answer as given, which is nil at first.
//
// The answer holds for what the person was shown: where the call would do anything
// else by now, as the file has changed, or other answers are offered, its question
// is left open once more. It is given once. Each attempt is a call of its own for
// steps and observers; questions of subagents that the call begins are for the bus
// alone. A call without ID gets one for the events that tell of it. RunCall is safe
// for concurrent use; calls that run at once are not ordered, see RunCalls, and each
// needs an ID of its own. The error is of code not_initialized.
func (c *Config) RunCall(ctx context.Context, call model.FunctionCall, given *Given) (answer model.FunctionResponse, r scheduler.Response, open *bus.ToolConfirmationRequest, err error) {
	s, err := c.own("RunCall")
	if err != nil {
		return answer, r, nil, err
	}
	request := scheduler.Request{CallID: call.ID, Tool: call.Name, Args: call.Args}
	if request.CallID == "" {
		request.CallID = model.NewCallID()
	}
	var sub *bus.Subscription
	ready := make(chan struct{})
	sub = bus.Subscribe(ctx, c.bus, func(_ context.Context, q bus.ToolConfirmationRequest) {
		<-ready
		if q.CallID == request.CallID && q.Subagent == c.subagent {
			if given != nil && sameQuestion(q, given.Question) {
				answer := given.Answer
				given, answer.CorrelationID = nil, q.CorrelationID
				_ = c.bus.Publish(answer) // refused where the call has ended, or another front end was faster
				return
			}
			open = &q
		}
		sub.Decline(q.CorrelationID)
	})
	close(ready)
	r = s.scheduler.Run(ctx, request)
	sub.Unsubscribe()
	<-sub.Done()
	if fault.CodeOf(r.Result.Error) != fault.NobodyToAsk {
		open = nil // somebody else has answered, or the call was called off
	}
	return agent.Answer(call, r), r, open, nil
}

// sameQuestion reports whether two questions are about the same call, show a person
// the same of it, and offer the same answers, which stand for the same.
func sameQuestion(a, b bus.ToolConfirmationRequest) bool {
	shown := func(q bus.ToolConfirmationRequest) (decoded any) {
		raw, err := json.Marshal([]any{q.ServerName, q.ToolAnnotations, q.ToolCall, q.Details, q.Modified, q.Outcomes, q.Remembers})
		if err != nil {
			return nil
		}
		d := json.NewDecoder(bytes.NewReader(raw)) // so that the order of keys does not matter
		d.UseNumber()                              // every digit does
		if err := d.Decode(&decoded); err != nil {
			return nil
		}
		return decoded
	}
	x, y := shown(a), shown(b)
	return x != nil && reflect.DeepEqual(x, y)
}
