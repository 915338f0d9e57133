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

// Chat is the tools of a session for the Chat Completions API. It is safe for
// concurrent use, as its Config is.
//
// An approver subscribes to [bus.ToolConfirmationRequest] on the Config's message
// bus; without an approver, calls that need approval are denied.
type Chat struct {
	Config *config.Config // initialized; required
}

// Tools returns the current value for ChatCompletionNewParams.Tools. Call it for each
// request; see [config.Config.Declarations], whose errors these are. Schemas are not
// strict: optional parameters may be omitted.
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

// Answer runs the ToolCalls of one model message, and returns the messages that
// answer them: one with role tool for each, in their order. If results contain
// images, a user message with the images follows, because a tool message contains
// only text. A call that fails or is denied is answered, too: its text is a JSON
// object with "output" and "error".
//
// After the end of ctx, calls that have not started are answered as cancelled. The
// error has code not_initialized; then nothing was run.
func (s Chat) Answer(ctx context.Context, calls []sdk.ChatCompletionMessageToolCallUnion) ([]sdk.ChatCompletionMessageParamUnion, error) {
	made := make([]model.FunctionCall, len(calls))
	for i, call := range calls {
		made[i] = model.FunctionCall{ID: call.ID, Name: call.Function.Name, Args: json.RawMessage(call.Function.Arguments)}
		if call.Type == "custom" { // not declared; its text fits no schema
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
			shown = append(shown, sdk.TextContentPart("What "+a.Name+" returned in addition to its text:"))
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
