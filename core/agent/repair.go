package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/fettle-dev/fettle/core/model"
)

// RepairHistory repairs a history so that it is valid by [ValidHistory], and returns a valid history unchanged. No call
// with a response loses it. The argument is not modified. Repairs are:
//
//   - adjacent turns of one role are merged
//   - empty parts, empty turns, and responses without a call are removed
//   - a late response moves to its call
//   - a call without a response is answered as cancelled
func RepairHistory(history []model.Content) []model.Content {
	if ValidHistory(history) == nil {
		return history
	}
	turns := inTurns(assign(flatten(history)))
	inHistory := make(map[string]bool)
	eachCall(history, func(id string) { inHistory[id] = true })
	for _, t := range turns {
		t.name(inHistory)
	}
	return assemble(turns)
}

// piece is a part of one kind, for a new turn.
type piece struct {
	role  model.Role
	part  model.Part
	run   int                     // equal for adjacent pieces of one role
	resp  *model.FunctionResponse // response to the call; nil: none
	moved bool                    // a response that moves to its call
}

// flatten splits a history into pieces.
func flatten(history []model.Content) []*piece {
	var pieces []*piece
	run := 0
	for _, turn := range history {
		for _, whole := range turn.Parts {
			for _, p := range split(whole) {
				role := model.RoleUser
				if p.Call != nil || p.Response == nil && turn.Role == model.RoleModel {
					role = model.RoleModel
				}
				if role == model.RoleUser && (p.Thought || payloads(p) == 0) {
					continue
				}
				if len(pieces) > 0 && pieces[len(pieces)-1].role != role {
					run++
				}
				pieces = append(pieces, &piece{role: role, part: p, run: run})
			}
		}
	}
	return pieces
}

// split splits a part that holds several payloads; an empty part is dropped.
func split(p model.Part) []model.Part {
	if n := payloads(p); n == 1 && (!p.Thought || p.Text != "") || n == 0 && len(p.Signature) > 0 {
		return []model.Part{p}
	}
	var parts []model.Part
	if p.Text != "" {
		parts = append(parts, model.Part{Text: p.Text, Thought: p.Thought})
	}
	if p.Data != nil {
		parts = append(parts, model.Part{Data: p.Data})
	}
	if p.Call != nil {
		parts = append(parts, model.Part{Call: p.Call})
	}
	if p.Response != nil {
		parts = append(parts, model.Part{Response: p.Response})
	}
	if len(parts) > 0 {
		parts[0].Signature, parts[0].Provider = p.Signature, p.Provider
	}
	return parts
}

// assign gives each response to its call: the first unanswered one of the latest turn with its ID. If neither has an ID,
// the name decides.
func assign(pieces []*piece) []*piece {
	waiting := make(map[string][]*piece)
	key := func(id, name string) string {
		if id == "" {
			return "name " + name
		}
		return "id " + id
	}
	for _, p := range pieces {
		if call := p.part.Call; call != nil {
			k := key(call.ID, call.Name)
			waiting[k] = append(waiting[k], p)
		}
		if p.part.Response == nil {
			continue
		}
		p.moved = true
		k := key(p.part.Response.ID, p.part.Response.Name)
		if calls := waiting[k]; len(calls) > 0 {
			first := len(calls) - 1
			for first > 0 && calls[first-1].run == calls[first].run {
				first--
			}
			calls[first].resp = p.part.Response
			waiting[k] = append(calls[:first], calls[first+1:]...)
		}
	}
	return pieces
}

// newTurn is a turn of a new history.
type newTurn struct {
	role   model.Role
	pieces []*piece
}

// inTurns groups pieces by role, so that a user turn follows each turn with calls.
func inTurns(pieces []*piece) []*newTurn {
	var turns []*newTurn
	for _, p := range pieces {
		if len(turns) == 0 || turns[len(turns)-1].role != p.role {
			turns = append(turns, &newTurn{role: p.role})
		}
		last := turns[len(turns)-1]
		last.pieces = append(last.pieces, p)
	}
	if len(turns) > 0 && turns[len(turns)-1].role == model.RoleModel {
		turns = append(turns, &newTurn{role: model.RoleUser})
	}
	return turns
}

// name gives each call of a turn a name and a unique ID. New IDs are added to inHistory, the IDs of all calls.
func (t *newTurn) name(inHistory map[string]bool) {
	used := make(map[string]bool)
	for _, p := range t.pieces {
		if p.part.Call == nil {
			continue
		}
		call := *p.part.Call
		call.Name = nameOr(call.Name)
		if call.ID == "" || used[call.ID] {
			call.ID = newID(call.ID, inHistory)
		}
		used[call.ID] = true
		p.part.Call = &call
	}
}

// nameOr returns the name of a call, which no provider accepts if it is empty.
func nameOr(name string) string {
	if name == "" {
		return "unnamed"
	}
	return name
}

// newID returns an unused ID derived from id, and marks it as used.
func newID(id string, used map[string]bool) string {
	id = cmp.Or(id, "call")
	for n := 2; ; n++ {
		if next := id + "-" + strconv.Itoa(n); !used[next] {
			used[next] = true
			return next
		}
	}
}

// assemble builds a history from turns: responses follow their calls, turns that are then empty are removed, and their
// neighbours are merged.
func assemble(turns []*newTurn) []model.Content {
	var history []model.Content
	var responses []model.Part
	for _, t := range turns {
		parts := responses
		responses = nil
		for _, p := range t.pieces {
			if p.moved {
				continue
			}
			parts = append(parts, p.part)
			if p.part.Call != nil {
				responses = append(responses, responsePart(*p.part.Call, p.resp))
			}
		}
		switch last := len(history) - 1; {
		case len(parts) == 0:
		case last >= 0 && history[last].Role == t.role:
			history[last].Parts = append(history[last].Parts, parts...)
		default:
			if last < 0 && t.role == model.RoleModel {
				history = append(history, model.UserText("(The beginning of the conversation is missing.)"))
			}
			history = append(history, model.Content{Role: t.role, Parts: parts})
		}
	}
	return history
}

// isObject reports whether text is one JSON object.
func isObject(text json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) && json.Valid(text)
}
