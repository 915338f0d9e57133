package agent

import (
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
)

// ValidHistory returns an error with code session_unreadable if a history is invalid, and nil if every provider accepts
// it. An empty history is valid. In any other valid history:
//
//   - the first turn is the user's, and roles alternate
//   - each turn has parts, each of one kind
//   - calls are in turns of the model, and responses in turns of the user
//   - the turn after one with calls starts with one response for each, in their order and with its ID and name
//   - IDs and names are not empty, and IDs are unique within a turn
func ValidHistory(history []model.Content) error { return validHistory(history, false) }

// validHistory is ValidHistory; with open set, the calls of the last turn may be unanswered.
func validHistory(history []model.Content, open bool) error {
	role := model.RoleUser
	var calls []model.FunctionCall // of the previous turn
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
		return badHistory(len(history)-1, "has unanswered calls")
	}
	return nil
}

func badHistory(i int, problem string) error {
	return fault.New(fault.SessionUnreadable, "agent.history",
		fmt.Sprintf("The history is invalid: turn %d %s.", i+1, problem), "Repair it, or start a new conversation.")
}

// validTurn returns the problem of a turn that follows calls, or "".
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
			return fmt.Sprintf("has a part %d that is not of exactly one kind", i+1)
		case p.Call != nil && (turn.Role == model.RoleUser || p.Call.ID == "" || p.Call.Name == "" || ids[p.Call.ID]):
			return "has a call without a name or a unique ID"
		case p.Response != nil && (i >= len(calls) || p.Response.ID != calls[i].ID || p.Response.Name != calls[i].Name || !isObject(p.Response.Response)):
			return "has a response without a call"
		case p.Response == nil && i < len(calls):
			return "does not answer every call"
		case p.Call != nil:
			ids[p.Call.ID] = true
		}
	}
	return ""
}

// payloads counts the payloads of a part.
func payloads(p model.Part) int {
	n := 0
	for _, there := range []bool{p.Text != "", p.Data != nil, p.Call != nil, p.Response != nil} {
		if there {
			n++
		}
	}
	return n
}

// openCalls returns the unanswered calls of the last turn.
func openCalls(history []model.Content) []model.FunctionCall {
	if len(history) == 0 {
		return nil
	}
	return history[len(history)-1].Calls()
}

// answers returns the parts of a user turn after calls: the response to each, in their order, then the other parts. A
// call without a response is answered as cancelled; a response without a call is dropped.
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

// responsePart returns a response adapted to its call; nil stands for a missing one.
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

// unanswered returns the result of an interrupted call.
func unanswered(call model.FunctionCall) tools.Result {
	return tools.Fail(fault.New(fault.Cancelled, "agent.history",
		fmt.Sprintf("The conversation was interrupted before this call of %s was answered. It may or may not have run.", call.Name),
		"Check its effects before you repeat it."))
}

// userParts returns the parts that a user may send: texts and data.
func userParts(parts []model.Part) []model.Part {
	var kept []model.Part
	for _, p := range parts {
		for _, one := range split(p) {
			if !one.Thought && (one.Text != "" || one.Data != nil) {
				kept = append(kept, one)
			}
		}
	}
	return kept
}
