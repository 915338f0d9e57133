package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/fettle-dev/fettle/core/model"
)

// MendHistory returns a history that is valid by [ValidHistory], and history
// itself if it is already. Neighbours of one role become one turn; empty parts
// and turns go, and so do responses without a call; a response that stands too
// late goes to its call; a call without a response is answered as one that was
// cancelled. No call that has a response loses it. What is given is not changed.
func MendHistory(history []model.Content) []model.Content {
	if ValidHistory(history) == nil {
		return history
	}
	turns := inTurns(assign(flatten(history)))
	taken := make(map[string]bool)
	eachCall(history, func(id string) { taken[id] = true })
	for _, t := range turns {
		t.name(taken)
	}
	return assemble(turns)
}

// piece is a part of one kind, on its way to a new turn.
type piece struct {
	role model.Role
	part model.Part
	run  int                     // pieces of one role in a row have the same
	resp *model.FunctionResponse // of a call; nil: none came
	gone bool                    // a response, which goes where its call is
}

// flatten takes a history apart.
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

// split takes a part apart that holds more than one thing; one that holds
// nothing is gone.
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

// assign gives each response to its call: of those with its ID that are not
// answered, the first of the latest turn. Where neither has an ID, the name
// tells.
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
		p.gone = true
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

// mended is a turn on its way to a new history.
type mended struct {
	role   model.Role
	pieces []*piece
}

// inTurns groups pieces by role, so that a turn with calls is followed by one
// of the user's.
func inTurns(pieces []*piece) []*mended {
	var turns []*mended
	for _, p := range pieces {
		if len(turns) == 0 || turns[len(turns)-1].role != p.role {
			turns = append(turns, &mended{role: p.role})
		}
		last := turns[len(turns)-1]
		last.pieces = append(last.pieces, p)
	}
	if len(turns) > 0 && turns[len(turns)-1].role == model.RoleModel {
		turns = append(turns, &mended{role: model.RoleUser})
	}
	return turns
}

// name gives each call of a turn a name, and an ID of its own. Each new ID is
// added to those that are taken.
func (t *mended) name(taken map[string]bool) {
	used := make(map[string]bool)
	for _, p := range t.pieces {
		if p.part.Call == nil {
			continue
		}
		call := *p.part.Call
		call.Name = nameOr(call.Name)
		if call.ID == "" || used[call.ID] {
			call.ID = newID(call.ID, taken)
		}
		used[call.ID] = true
		p.part.Call = &call
	}
}

// nameOr returns the name of a call, which no provider takes if it is empty.
func nameOr(name string) string {
	if name == "" {
		return "unnamed"
	}
	return name
}

// newID returns an ID like id that is not taken, and takes it.
func newID(id string, taken map[string]bool) string {
	id = cmp.Or(id, "call")
	for n := 2; ; n++ {
		if next := id + "-" + strconv.Itoa(n); !taken[next] {
			taken[next] = true
			return next
		}
	}
}

// assemble makes a history of turns: responses go behind their calls, turns
// that are empty then are gone, and their neighbours become one.
func assemble(turns []*mended) []model.Content {
	var history []model.Content
	var responses []model.Part
	for _, t := range turns {
		parts := responses
		responses = nil
		for _, p := range t.pieces {
			if p.gone {
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
