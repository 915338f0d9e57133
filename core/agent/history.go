package agent

import (
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
)

// ValidHistory reports what is wrong with a history, as an error of code
// session_unreadable; nil is one that every provider takes: it begins with the
// user and roles alternate; each turn has parts, each of one kind; calls are the
// model's, responses the user's; and the turn after one with calls begins with
// one response for each, in their order, with its ID and name. IDs and names are
// not empty, and IDs differ within a turn. No turn at all is valid too.
func ValidHistory(history []model.Content) error { return validHistory(history, false) }

// validHistory is ValidHistory; with open, the calls of the last turn need not
// be answered.
func validHistory(history []model.Content, open bool) error {
	role := model.RoleUser
	var calls []model.FunctionCall // of the turn before
	for i, turn := range history {
		if turn.Role != role {
			return badHistory(i, "is not the "+string(role)+"'s")
		}
		if problem := validTurn(turn, calls); problem != "" {
			return badHistory(i, problem)
		}
		calls = turn.Calls()
		if role = model.RoleUser; turn.Role == model.RoleUser {
			role = model.RoleModel
		}
	}
	if len(calls) > 0 && !open {
		return badHistory(len(history)-1, "has calls that are not answered")
	}
	return nil
}

func badHistory(i int, problem string) error {
	return fault.New(fault.SessionUnreadable, "agent.history",
		fmt.Sprintf("The history cannot be used: turn %d %s.", i+1, problem), "Mend it, or begin a new conversation.")
}

// validTurn returns what is wrong with a turn that follows calls, or "".
func validTurn(turn model.Content, calls []model.FunctionCall) string {
	if len(turn.Parts) == 0 {
		return "is empty"
	}
	if len(turn.Parts) < len(calls) {
		return "does not answer every call"
	}
	ids := make(map[string]bool)
	for i, p := range turn.Parts {
		switch n := payloads(p); {
		case n > 1, n == 0 && (len(p.Signature) == 0 || turn.Role == model.RoleUser), p.Thought && (turn.Role == model.RoleUser || n == 1 && p.Text == ""):
			return fmt.Sprintf("has a part %d that is not of one kind", i+1)
		case p.Call != nil && (turn.Role == model.RoleUser || p.Call.ID == "" || p.Call.Name == "" || ids[p.Call.ID]):
			return "has a call that cannot be told from others"
		case p.Response != nil && (i >= len(calls) || p.Response.ID != calls[i].ID || p.Response.Name != calls[i].Name || !isObject(p.Response.Response)):
			return "has a response that answers no call"
		case p.Response == nil && i < len(calls):
			return "does not answer every call"
		case p.Call != nil:
			ids[p.Call.ID] = true
		}
	}
	return ""
}

// payloads counts what a part holds.
func payloads(p model.Part) int {
	n := 0
	for _, there := range []bool{p.Text != "", p.Data != nil, p.Call != nil, p.Response != nil} {
		if there {
			n++
		}
	}
	return n
}

// openCalls returns the calls of the last turn where they are not answered.
func openCalls(history []model.Content) []model.FunctionCall {
	if len(history) == 0 {
		return nil
	}
	return history[len(history)-1].Calls()
}

// answers returns the parts of a user's turn after calls: the response to each,
// in their order, and then what else there is in parts. A call without a
// response in parts is answered as one that was cancelled; a response without a
// call is dropped.
func answers(calls []model.FunctionCall, parts []model.Part) []model.Part {
	var turn []model.Part
	given := make(map[string]*model.FunctionResponse)
	for _, p := range parts {
		if p.Response != nil && given[p.Response.ID] == nil {
			given[p.Response.ID] = p.Response
		}
	}
	for _, call := range calls {
		turn = append(turn, responsePart(call, given[call.ID]))
	}
	return append(turn, slices.DeleteFunc(slices.Clone(parts), func(p model.Part) bool { return p.Response != nil })...)
}

// responsePart is a response, made to fit its call; nil stands for one that
// never came.
func responsePart(call model.FunctionCall, r *model.FunctionResponse) model.Part {
	if r == nil {
		r = &model.FunctionResponse{Response: unanswered(call).FunctionResponse()}
	}
	fitting := model.FunctionResponse{ID: call.ID, Name: call.Name, Response: r.Response, Data: r.Data}
	if !isObject(r.Response) {
		fitting.Response = tools.Result{LLMContent: tools.Text(string(r.Response))}.FunctionResponse()
	}
	return model.Part{Response: &fitting}
}

// unanswered is the result of a call that was interrupted.
func unanswered(call model.FunctionCall) tools.Result {
	return tools.Fail(fault.New(fault.Cancelled, "agent.history",
		fmt.Sprintf("The conversation was interrupted before this call of %s was answered. It may have run, or not.", call.Name),
		"Look at what it was about before calling it again."))
}

// userParts returns what a person may say: texts and data.
func userParts(parts []model.Part) []model.Part {
	var said []model.Part
	for _, p := range parts {
		for _, one := range split(p) {
			if !one.Thought && (one.Text != "" || one.Data != nil) {
				said = append(said, one)
			}
		}
	}
	return said
}
