package openai

import (
	"context"
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
)

// Chat is a session's tools for chat completions. It is safe for concurrent use, as
// far as its Config is.
//
// Whoever is to approve of calls subscribes to [bus.ToolConfirmationRequest] on the
// Config's message bus; with nobody there, what has to be asked about is refused.
type Chat struct {
	Config *config.Config // initialized; required
}

// Tools returns what belongs into ChatCompletionNewParams.Tools now. Ask anew for
// each request; see [config.Config.Declarations], whose errors these are. Schemas
// are not strict: optional parameters may be left out.
func (s Chat) Tools() ([]sdk.ChatCompletionToolUnionParam, error) {
	list, schemas, err := declared(s.Config)
	if err != nil {
		return nil, err
	}
	tools := make([]sdk.ChatCompletionToolUnionParam, len(list))
	for i, d := range list {
		tools[i] = sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: d.Name, Description: param.NewOpt(d.Description), Parameters: schemas[i],
		})
	}
	return tools, nil
}

// Answer runs the calls of one message of the model's, its ToolCalls, and returns
// the messages that answer them: one of the role tool for each, in their order, and
// where there are pictures among the results a user's message that shows them, as a
// tool's holds only text. A call that fails or is refused is answered too: the text
// is a JSON object with "output", and with "error" beside it.
//
// Once ctx has ended, what has not begun is answered as cancelled. The error is of
// code not_initialized; nothing was run then.
func (s Chat) Answer(ctx context.Context, calls []sdk.ChatCompletionMessageToolCallUnion) ([]sdk.ChatCompletionMessageParamUnion, error) {
	made := make([]model.FunctionCall, len(calls))
	for i, call := range calls {
		made[i] = model.FunctionCall{ID: call.ID, Name: call.Function.Name, Args: json.RawMessage(call.Function.Arguments)}
		if call.Type == "custom" { // which was not declared; its text fits no schema
			text, err := json.Marshal(call.Custom.Input)
			if err != nil {
				return nil, err
			}
			made[i].Name, made[i].Args = call.Custom.Name, text
		}
	}
	answers, err := run(ctx, s.Config, made)
	if err != nil {
		return nil, err
	}
	var messages []sdk.ChatCompletionMessageParamUnion
	var shown []sdk.ChatCompletionContentPartUnionParam
	for _, a := range answers {
		messages = append(messages, sdk.ToolMessage(string(a.Response), a.ID))
		if len(a.Data) > 0 {
			shown = append(shown, sdk.TextContentPart("What "+a.Name+" returned beside its text:"))
		}
		for _, d := range a.Data {
			if url, text := picture(d); url != "" {
				shown = append(shown, sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: url}))
			} else {
				shown = append(shown, sdk.TextContentPart(text))
			}
		}
	}
	if len(shown) > 0 {
		messages = append(messages, sdk.UserMessage(shown))
	}
	return messages, nil
}
