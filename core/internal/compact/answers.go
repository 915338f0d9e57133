package compact

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

const (
	longAnswer  = 2_000   // tokens above which a tool result may be cut
	excerptSize = 4 << 10 // bytes that are kept of a cut result
)

// answerTokens estimates the tokens of the tool results in turns.
func answerTokens(turns []model.Content) int {
	n := 0
	for _, turn := range turns {
		for i := range turn.Parts {
			if turn.Parts[i].Response != nil {
				n += partTokens(turn.Parts[i])
			}
		}
	}
	return n
}

func partTokens(p model.Part) int { return tokens(model.Content{Parts: []model.Part{p}}) }

// cutAnswers returns turns with long tool results cut, except the newest ones up to budget tokens.
// some reports whether any was cut. The input is not changed. save may be nil. The error is of code
// cancelled.
func cutAnswers(ctx context.Context, turns []model.Content, budget int, save func(context.Context, string, []byte) (string, error)) (cut []model.Content, some bool, err error) {
	cut = slices.Clone(turns)
	for i, turn := range slices.Backward(turns) {
		own := false
		for j, p := range slices.Backward(turn.Parts) {
			if p.Response == nil {
				continue
			}
			n := partTokens(p)
			if budget -= n; budget >= 0 || n < longAnswer {
				continue
			}
			if ctx.Err() != nil {
				return nil, false, fault.Wrap(fault.Cancelled, "compact", "The compaction was cancelled.", "", ctx.Err())
			}
			if !own {
				cut[i].Parts, own = slices.Clone(turn.Parts), true
			}
			cut[i].Parts[j].Response, some = shortened(ctx, *p.Response, save), true
		}
	}
	return cut, some, nil
}

// shortened returns a tool result with an excerpt of its output, and without attached data.
func shortened(ctx context.Context, r model.FunctionResponse, save func(context.Context, string, []byte) (string, error)) *model.FunctionResponse {
	output, members := outputOf(r.Response)
	short := excerpt(output, excerptSize)
	if short != output {
		note := "[This answer was cut when the conversation was compacted."
		if save != nil {
			if path, err := save(ctx, r.Name, []byte(output)); err == nil {
				note += " All of it is in " + path + "."
			}
		}
		short = note + "]\n" + short
	}
	if len(r.Data) > 0 {
		short += fmt.Sprintf("\n[%d attachments were left out.]", len(r.Data))
	}
	members["output"] = short
	if context := textOf(r.Response, "context"); context != "" {
		members["context"] = excerpt(context, excerptSize)
	}
	return &model.FunctionResponse{ID: r.ID, Name: r.Name, Response: plainJSON(members)}
}

// textOf returns a member of a response if it is a string, else "".
func textOf(response json.RawMessage, member string) string {
	var members map[string]json.RawMessage
	var text string
	_ = json.Unmarshal(response, &members) // a value that is not an object has no members
	_ = json.Unmarshal(members[member], &text)
	return text
}

// outputOf returns the output of a response as text, and its other members.
func outputOf(response json.RawMessage) (string, map[string]any) {
	var members map[string]json.RawMessage
	var output string
	if json.Unmarshal(response, &members) != nil || json.Unmarshal(members["output"], &output) != nil {
		return string(response), map[string]any{}
	}
	rest := make(map[string]any, len(members))
	for name, member := range members {
		rest[name] = member
	}
	return output, rest
}

// plainJSON returns v as JSON without HTML escapes.
func plainJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("{}") // impossible: v consists of strings and of valid JSON
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
