package tools_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// terminal is a host that prints all messages and answers yes.
type terminal struct{}

func (terminal) Progress(p host.Progress) { fmt.Printf("%v of %v: %s\n", p.Done, p.Total, p.Message) }
func (terminal) Log(host.LogEntry)        {}
func (terminal) Ask(_ context.Context, questions ...host.Question) ([]host.Reply, error) {
	fmt.Println(questions[0].Elicit.Message)
	return []host.Reply{{Elicit: &host.Elicited{Action: host.ElicitAccept}}}, nil
}

// A tool whose schema no struct can express, and which asks its host.
func ExampleDefineJSON() {
	move, err := tools.DefineJSON(tools.Spec{
		Name: "move_pieces", Description: "Moves pieces on the board.", Kind: tools.KindOther,
		Schema: json.RawMessage(`{"type": "object", "additionalProperties": false, "required": ["moves"], "properties": {
			"moves": {"type": "array", "description": "From and to.", "items": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "string"}], "items": false}}}}`),
		OutputSchema: json.RawMessage(`{"type": "object", "properties": {"moved": {"type": "integer"}}, "required": ["moved"]}`),
	}, func(ctx context.Context, args json.RawMessage, _ tools.Output) (tools.Result, error) {
		var p struct{ Moves [][2]string }
		if err := json.Unmarshal(args, &p); err != nil {
			return tools.Result{}, err
		}
		h := host.FromContext(ctx)
		replies, err := h.Ask(ctx, host.Question{Elicit: &host.Elicitation{Message: "Make these moves?"}})
		if err != nil {
			return tools.Result{}, err // the model receives nobody_to_ask
		}
		if replies[0].Elicit.Action != host.ElicitAccept {
			return tools.Result{LLMContent: tools.Text("Nothing was moved."), Structured: json.RawMessage(`{"moved":0}`)}, nil
		}
		for i, m := range p.Moves {
			h.Progress(host.Progress{Done: float64(i + 1), Total: float64(len(p.Moves)), Message: m[0] + " to " + m[1]})
		}
		return tools.Result{
			LLMContent: tools.Text(fmt.Sprintf("Made %d moves.", len(p.Moves))),
			Structured: json.RawMessage(fmt.Sprintf(`{"moved":%d}`, len(p.Moves))),
		}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	call, err := move.Build(json.RawMessage(`{"moves": [["e2", "e4"], ["g1", "f3"]]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := call.Execute(host.NewContext(context.Background(), terminal{}), nil)
	fmt.Println(result.LLMContent, string(result.Structured), err)
	// Output:
	// Make these moves?
	// 1 of 2: e2 to e4
	// 2 of 2: g1 to f3
	// Made 2 moves. {"moved":2} <nil>
}
