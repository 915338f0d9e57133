package openai

import (
	"context"
	"encoding/json"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
)

// Responses is the tools of a session for the Responses API, otherwise like [Chat].
type Responses struct {
	Config *config.Config // initialized; required
}

// Tools returns the current value for ResponseNewParams.Tools; see [Chat.Tools].
func (s Responses) Tools() ([]responses.ToolUnionParam, error) {
	list, schemas, err := declared(s.Config)
	if err != nil {
		return nil, err
	}
	tools := make([]responses.ToolUnionParam, len(list))
	for i, d := range list {
		tools[i] = responses.ToolParamOfFunction(d.Name, schemas[i], false)
		tools[i].OfFunction.Description = param.NewOpt(d.Description)
	}
	return tools, nil
}

// Answer runs the function calls in one response's Output, and returns the items that
// answer them, one for each and in their order, for the input of the next request.
// Images are in the item of their call. Without calls there are no items. See
// [Chat.Answer].
func (s Responses) Answer(ctx context.Context, output []responses.ResponseOutputItemUnion) (responses.ResponseInputParam, error) {
	var made []model.FunctionCall
	for _, item := range output {
		if item.Type == "function_call" {
			call := item.AsFunctionCall()
			made = append(made, model.FunctionCall{ID: call.CallID, Name: call.Name, Args: json.RawMessage(call.Arguments)})
		}
	}
	answers, err := run(ctx, s.Config, made)
	if err != nil {
		return nil, err
	}
	var items responses.ResponseInputParam
	for _, a := range answers {
		item := responses.ResponseInputItemParamOfFunctionCallOutput(string(a.Response))
		if len(a.Data) > 0 {
			item = responses.ResponseInputItemParamOfFunctionCallOutput(parts(a))
		}
		item.OfFunctionCallOutput.CallID = param.NewOpt(a.ID)
		items = append(items, item)
	}
	return items, nil
}

// parts returns a result's text and data.
func parts(a model.FunctionResponse) responses.ResponseFunctionCallOutputItemListParam {
	list := responses.ResponseFunctionCallOutputItemListParam{responses.ResponseFunctionCallOutputItemParamOfInputText(string(a.Response))}
	for _, d := range a.Data {
		if url, text := picture(d); url != "" {
			list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{
				OfInputImage: &responses.ResponseInputImageContentParam{ImageURL: param.NewOpt(url)},
			})
		} else {
			list = append(list, responses.ResponseFunctionCallOutputItemParamOfInputText(text))
		}
	}
	return list
}
