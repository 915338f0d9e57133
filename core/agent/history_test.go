package agent_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
)

func user(parts ...model.Part) model.Content {
	return model.Content{Role: model.RoleUser, Parts: parts}
}

func answer(parts ...model.Part) model.Content {
	return model.Content{Role: model.RoleModel, Parts: parts}
}

func callPart(id string) model.Part {
	return model.Part{Call: &model.FunctionCall{ID: id, Name: "tool"}}
}

func respPart(id string) model.Part {
	return model.Part{Response: &model.FunctionResponse{ID: id, Name: "tool", Response: json.RawMessage(`{"output":"of ` + id + `"}`)}}
}

func text(s string) model.Part { return model.TextPart(s) }

func TestRepairHistory(t *testing.T) {
	thought := model.Part{Text: "hm", Thought: true}
	tests := map[string]struct {
		history []model.Content
		want    []string
	}{
		"none":                           {nil, nil},
		"valid":                          {[]model.Content{user(text("a")), answer(thought, callPart("1")), user(respPart("1"), text("b"))}, []string{"user: a", "model: (hm) 1!", "user: 1= b"}},
		"same roles":                     {[]model.Content{user(text("a")), user(text("b")), answer(text("c")), answer(text("d"))}, []string{"user: a b", "model: c d"}},
		"empty turns":                    {[]model.Content{user(text("a")), answer(), answer(model.Part{}), user(text("b"))}, []string{"user: a b"}},
		"begins with the model":          {[]model.Content{answer(text("a"))}, []string{"user: (The beginning of the conversation is missing.)", "model: a"}},
		"call without response":          {[]model.Content{user(text("a")), answer(callPart("1"), callPart("2")), user(respPart("2"))}, []string{"user: a", "model: 1! 2!", "user: 1= 2="}},
		"call at the end":                {[]model.Content{user(text("a")), answer(callPart("1"))}, []string{"user: a", "model: 1!", "user: 1="}},
		"response without call":          {[]model.Content{user(text("a")), answer(text("b")), user(respPart("1")), answer(text("c"))}, []string{"user: a", "model: b c"}},
		"two responses":                  {[]model.Content{user(text("a")), answer(callPart("1")), user(respPart("1"), respPart("1"))}, []string{"user: a", "model: 1!", "user: 1="}},
		"responses in a different order": {[]model.Content{user(text("a")), answer(callPart("1"), callPart("2")), user(text("b"), respPart("2"), respPart("1"))}, []string{"user: a", "model: 1! 2!", "user: 1= 2= b"}},
		"response too late":              {[]model.Content{user(text("a")), answer(callPart("1")), user(text("b")), answer(text("c")), user(respPart("1"))}, []string{"user: a", "model: 1!", "user: 1= b", "model: c"}},
		"turns between":                  {[]model.Content{user(text("a")), answer(callPart("1")), user(text("b")), answer(callPart("2")), user(respPart("1"), respPart("2"))}, []string{"user: a", "model: 1!", "user: 1= b", "model: 2!", "user: 2="}},
		"one ID twice in a turn":         {[]model.Content{user(text("a")), answer(callPart("1"), callPart("1")), user(respPart("1"), respPart("1"))}, []string{"user: a", "model: 1! 1-2!", "user: 1= 1-2="}},
		"one ID twice":                   {[]model.Content{user(text("a")), answer(callPart("1")), user(text("b")), answer(callPart("1")), user(respPart("1"))}, []string{"user: a", "model: 1!", "user: 1= b", "model: 1!", "user: 1="}},
		"no IDs":                         {[]model.Content{user(text("a")), answer(callPart(""), callPart("")), user(respPart(""), respPart(""))}, []string{"user: a", "model: call-2! call-3!", "user: call-2= call-3="}},
		"parts in foreign turns":         {[]model.Content{user(text("a"), callPart("1")), answer(respPart("1"), text("b"))}, []string{"user: a", "model: 1!", "user: 1=", "model: b"}},
		"a part of two kinds":            {[]model.Content{user(text("a")), answer(model.Part{Text: "b", Call: callPart("1").Call}), user(respPart("1"))}, []string{"user: a", "model: b 1!", "user: 1="}},
		"an invalid role":                {[]model.Content{{Role: "system", Parts: []model.Part{text("a")}}, answer(text("b"))}, []string{"user: a", "model: b"}},
		"thoughts of the user":           {[]model.Content{user(text("a"), thought), answer(text("b"))}, []string{"user: a", "model: b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before, err := json.Marshal(tt.history)
			require.NoError(t, err)
			repaired := agent.RepairHistory(tt.history)
			require.Equal(t, tt.want, outline(repaired))
			require.NoError(t, agent.ValidHistory(repaired))
			after, err := json.Marshal(tt.history)
			require.NoError(t, err)
			require.Equal(t, string(before), string(after), "the argument has changed")
		})
	}
}

// Responses match their calls: the name is the call's, the content an object.
func TestRepairResponse(t *testing.T) {
	bad := model.Part{Response: &model.FunctionResponse{ID: "1", Name: "other", Response: json.RawMessage("no JSON")}}
	repaired := agent.RepairHistory([]model.Content{user(text("a")), answer(model.Part{Call: &model.FunctionCall{ID: "1", Name: "tool"}}), user(bad)})
	got := repaired[2].Parts[0].Response
	require.Equal(t, "tool", got.Name)
	require.JSONEq(t, `{"output":"no JSON"}`, string(got.Response))
	open := agent.RepairHistory([]model.Content{user(text("a")), answer(model.Part{Call: &model.FunctionCall{}})})
	require.Equal(t, "unnamed", open[1].Parts[0].Call.Name)
	require.Contains(t, string(open[2].Parts[0].Response.Response), `"type":"cancelled"`)
}

// If calls of a turn share an ID, the first call has the first response.
func TestRepairSameIDs(t *testing.T) {
	first, second := respPart("1"), respPart("1")
	second.Response = &model.FunctionResponse{ID: "1", Name: "tool", Response: json.RawMessage(`{"output":"second"}`)}
	repaired := agent.RepairHistory([]model.Content{user(text("a")), answer(callPart("1"), callPart("1")), user(first, second)})
	require.Equal(t, []string{`{"output":"of 1"}`, `{"output":"second"}`}, outputs(repaired))
}

func TestValidHistory(t *testing.T) {
	tests := map[string][]model.Content{
		"the model first":     {answer(text("a"))},
		"roles":               {user(text("a")), user(text("b"))},
		"empty turn":          {user()},
		"empty part":          {user(model.Part{})},
		"signature of a user": {user(model.Part{Signature: []byte("s")})},
		"thought of a user":   {user(model.Part{Text: "a", Thought: true})},
		"two kinds":           {user(text("a")), answer(model.Part{Text: "a", Call: callPart("1").Call}), user(respPart("1"))},
		"open":                {user(text("a")), answer(callPart("1"))},
		"unanswered":          {user(text("a")), answer(callPart("1"), callPart("2")), user(respPart("1"))},
		"text first":          {user(text("a")), answer(callPart("1")), user(text("b"), respPart("1"))},
		"too many":            {user(text("a")), answer(callPart("1")), user(respPart("1"), respPart("1"))},
		"other ID":            {user(text("a")), answer(callPart("1")), user(respPart("2"))},
		"same ID":             {user(text("a")), answer(callPart("1"), callPart("1")), user(respPart("1"), respPart("1"))},
		"no ID":               {user(text("a")), answer(callPart("")), user(respPart(""))},
		"no object":           {user(text("a")), answer(callPart("1")), user(model.Part{Response: &model.FunctionResponse{ID: "1", Name: "tool", Response: json.RawMessage(`[]`)}})},
		"call of a user":      {user(callPart("1")), answer(text("a"))},
	}
	for name, history := range tests {
		t.Run(name, func(t *testing.T) {
			require.Error(t, agent.ValidHistory(history))
			require.NoError(t, agent.ValidHistory(agent.RepairHistory(history)))
		})
	}
	require.NoError(t, agent.ValidHistory(nil))
}

// randomHistory makes a history of any kind: n parts, few IDs.
func randomHistory(seed uint64, n int) []model.Content {
	r := rand.New(rand.NewPCG(seed, 1))
	var history []model.Content
	for i := range n {
		if len(history) == 0 || r.IntN(3) > 0 {
			history = append(history, model.Content{Role: []model.Role{model.RoleUser, model.RoleModel, model.RoleUser, model.RoleModel, "system"}[r.IntN(5)]})
		}
		id := strconv.Itoa(r.IntN(1 + n/3))
		if r.IntN(10) == 0 {
			id = ""
		}
		part := []model.Part{text("t"), callPart(id), callPart(id), respPart(id), respPart(id), {}, {Text: "hm", Thought: true},
			{Signature: []byte("s"), Provider: "p"}, {Text: "x", Call: callPart(id).Call, Response: respPart(id).Response}, {Data: &model.Data{}}}[r.IntN(10)]
		if part.Response != nil {
			response := *part.Response
			response.Response = json.RawMessage(fmt.Sprintf(`{"output":"%d"}`, i))
			part.Response = &response
		}
		turn := &history[len(history)-1]
		turn.Parts = append(turn.Parts, part)
	}
	return history
}

// FuzzRepairHistory: any history becomes a valid one, which a second repair does not change. Every
// call remains, with its response if it had one.
func FuzzRepairHistory(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, uint8(seed%40))
	}
	f.Fuzz(func(t *testing.T, seed uint64, n uint8) {
		history := randomHistory(seed, int(n))
		repaired := agent.RepairHistory(history)
		require.NoError(t, agent.ValidHistory(repaired))
		require.Equal(t, repaired, agent.RepairHistory(repaired))
		require.Equal(t, count(history), count(repaired), "calls")
		require.Subset(t, outputs(repaired), answered(history))
	})
}

func count(history []model.Content) int {
	n := 0
	for _, turn := range history {
		n += len(turn.Calls())
	}
	return n
}

// outputs lists the contents of responses.
func outputs(history []model.Content) []string {
	var list []string
	for _, turn := range history {
		for _, r := range turn.Responses() {
			list = append(list, string(r.Response))
		}
	}
	return list
}

// answered lists the responses of a history that match an open call by its ID. It is a simple
// implementation, independent of the tested code.
func answered(history []model.Content) []string {
	waiting := make(map[string]int)
	var list []string
	for _, turn := range history {
		for _, p := range turn.Parts {
			if p.Call != nil {
				waiting[p.Call.ID]++
			}
			if p.Response != nil && waiting[p.Response.ID] > 0 {
				waiting[p.Response.ID]--
				list = append(list, string(p.Response.Response))
			}
		}
	}
	return list
}
