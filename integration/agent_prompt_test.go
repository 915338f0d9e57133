package integration_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
)

// prompted is the result of a prompt.
type prompted struct {
	text   string   // of all answers
	calls  []string // tool, status and code of each call
	last   agent.Event
	events []agent.Event
}

// prompt runs a prompt to its end, as the program does, and checks that the history
// is valid for every provider.
func prompt(t *testing.T, c *config.Config, text string) prompted {
	t.Helper()
	return promptIn(t.Context(), t, c, text)
}

func promptIn(ctx context.Context, t *testing.T, c *config.Config, text string) prompted {
	t.Helper()
	expanded, err := c.Expand(t.Context(), text)
	require.NoError(t, err)
	client, err := c.Client()
	require.NoError(t, err)
	var p prompted
	for e := range client.Run(ctx, agent.Parts(expanded.Content)...) {
		p.events = append(p.events, e)
		p.last = e
		switch e.Type {
		case agent.EventText:
			p.text += e.Text
		case agent.EventToolResponse:
			outcome := e.Call.Name + " " + string(e.Response.Status)
			if e.Response.Result.Error != nil {
				outcome += " " + string(e.Response.Result.Error.Code)
			}
			p.calls = append(p.calls, outcome)
		}
	}
	require.True(t, p.last.Type.Ends(), "the last event is %s", p.last.Type)
	require.NoError(t, agent.ValidHistory(client.History()))
	return p
}

// count returns the number of events of a type.
func (p prompted) count(kind agent.EventType) (n int) {
	for _, e := range p.events {
		if e.Type == kind {
			n++
		}
	}
	return n
}

// acting is a model whose responses depend on the request. It is safe for concurrent
// use if the function is.
type acting struct {
	answer func(ctx context.Context, r *model.Request) (*model.Response, error)
}

func (a acting) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return a.answer(ctx, r)
}

func (a acting) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		response, err := a.answer(ctx, r)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(&model.Chunk{Parts: response.Content.Parts, Finish: response.Finish, Usage: &response.Usage}, nil)
	}
}

func (a acting) CountTokens(_ context.Context, r *model.Request) (int, error) {
	return model.EstimateTokens(r), nil
}

// says returns a text response.
func says(text string) *model.Response {
	return &model.Response{Content: model.Content{Role: model.RoleModel, Parts: []model.Part{model.TextPart(text)}}, Finish: model.FinishStop}
}

// calling returns a response with tool calls: name, arguments, name, arguments …
func calling(pairs ...any) *model.Response {
	r := &model.Response{Content: model.Content{Role: model.RoleModel}, Finish: model.FinishStop}
	for i := 0; i < len(pairs); i += 2 {
		args, ok := pairs[i+1].(json.RawMessage)
		if !ok {
			args = json.RawMessage(mustJSON(pairs[i+1]))
		}
		r.Content.Parts = append(r.Content.Parts, model.Part{Call: &model.FunctionCall{ID: model.NewCallID(), Name: pairs[i].(string), Args: args}})
	}
	return r
}

// answeredLast returns the function responses in the request's last turn.
func answeredLast(r *model.Request) []model.FunctionResponse {
	return r.Contents[len(r.Contents)-1].Responses()
}
