package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/fettle-dev/fettle/core/model"
)

// answerTool is the tool that returns a JSON response for models without structured output.
const answerTool = "give_answer"

// messageParams converts a request to API parameters. The model is fallback if the request names
// none. forced reports that the response comes as a call of answerTool. The error is a *model.Error
// of kind invalid_request.
func messageParams(r *model.Request, fallback string) (params *sdk.MessageNewParams, forced bool, err error) {
	name := cmp.Or(r.Model, fallback)
	known := familyOf(name)
	params = &sdk.MessageNewParams{
		Model:     name,
		MaxTokens: int64(cmp.Or(r.MaxOutputTokens, known.maxOutput)),
		Messages:  messages(r.Contents),
	}
	if r.System != "" {
		params.System = []sdk.TextBlockParam{{Text: r.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	setSampling(params, r, known)
	if err := setTools(params, r, known); err != nil {
		return nil, false, err
	}
	if r.ResponseSchema != nil {
		if forced, err = setSchema(params, r.ResponseSchema, known); err != nil {
			return nil, false, err
		}
	}
	markCache(params)
	return params, forced, nil
}

// setSampling sets the sampling parameters that the model accepts: newer models accept neither
// temperature nor top_p, others only one of them.
func setSampling(params *sdk.MessageNewParams, r *model.Request, known family) {
	if !known.sampling {
		return
	}
	if r.Temperature != nil {
		params.Temperature = param.NewOpt(*r.Temperature)
	}
	if r.TopP != nil && (r.Temperature == nil || !known.oneSampler) {
		params.TopP = param.NewOpt(*r.TopP)
	}
}

// setTools declares the tools. If Choice.Allowed restricts them, only those tools are declared,
// since the API supports only one tool, any tool or none. A conversation with calls needs
// declarations even if no tool is offered.
func setTools(params *sdk.MessageNewParams, r *model.Request, known family) error {
	tools, choice := r.Tools, r.Choice
	if choice.Mode == model.ToolAny && len(choice.Allowed) > 0 {
		tools = slices.DeleteFunc(slices.Clone(tools), func(t model.Tool) bool { return !slices.Contains(choice.Allowed, t.Name) })
	}
	if len(tools) == 0 {
		tools, choice = toolsOf(r.Contents), model.ToolChoice{Mode: model.ToolNone}
	}
	declared, err := declare(tools, known)
	if err != nil || len(declared) == 0 {
		return err
	}
	params.Tools = declared
	switch {
	case choice.Mode == model.ToolNone:
		none := sdk.NewToolChoiceNoneParam()
		params.ToolChoice = sdk.ToolChoiceUnionParam{OfNone: &none}
	case choice.Mode == model.ToolAny && len(choice.Allowed) == 1:
		params.ToolChoice = sdk.ToolChoiceParamOfTool(choice.Allowed[0])
	case choice.Mode == model.ToolAny:
		params.ToolChoice = sdk.ToolChoiceUnionParam{OfAny: &sdk.ToolChoiceAnyParam{}}
	}
	return nil
}

// toolsOf returns a declaration for each tool that was called, sorted by name.
func toolsOf(contents []model.Content) []model.Tool {
	var names []string
	for _, c := range contents {
		for _, call := range c.Calls() {
			names = append(names, model.SafeToolName(call.Name))
		}
	}
	slices.Sort(names)
	var tools []model.Tool
	for _, name := range slices.Compact(names) {
		tools = append(tools, model.Tool{Name: name})
	}
	return tools
}

// declare converts tools to API declarations.
func declare(tools []model.Tool, known family) ([]sdk.ToolUnionParam, error) {
	adapted, err := model.AdaptTools(tools, model.DialectAnthropic)
	if err != nil {
		return nil, err
	}
	var declared []sdk.ToolUnionParam
	for _, t := range adapted {
		if known.editor && isTextEditor(t) {
			declared = append(declared, sdk.ToolUnionParam{OfTextEditor20250728: &sdk.ToolTextEditor20250728Param{}})
			continue
		}
		p := sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Parameters)}
		if t.Description != "" {
			p.Description = param.NewOpt(t.Description)
		}
		declared = append(declared, sdk.ToolUnionParam{OfTool: &p})
	}
	return declared, nil
}

// setSchema makes the response one JSON value. It uses structured output, or a forced call of
// answerTool if the model or the schema does not support that. forced reports the latter.
func setSchema(params *sdk.MessageNewParams, schema json.RawMessage, known family) (forced bool, err error) {
	var keys map[string]any
	if err := json.Unmarshal(schema, &keys); err != nil || keys == nil {
		return false, invalidRequest("the schema of the answer is not a valid JSON schema", err)
	}
	if known.structured {
		// The SDK converts the schema to the supported subset: closed objects, no ranges.
		accepted, _ := sdk.BetaJSONSchemaOutputFormat(keys).Schema.(map[string]any)
		if len(accepted) > 0 {
			params.OutputConfig.Format.Schema = accepted
			return false, nil
		}
	}
	wrapped := map[string]any{"type": "object", "required": []string{"answer"}, "properties": map[string]any{"answer": keys}}
	for _, definitions := range []string{"$defs", "definitions"} { // references are resolved from the root
		if v, ok := keys[definitions]; ok {
			wrapped[definitions] = v
			delete(keys, definitions)
		}
	}
	parameters, err := json.Marshal(wrapped)
	if err != nil {
		return false, invalidRequest("the schema of the answer is not a valid JSON schema", err)
	}
	declared, err := declare([]model.Tool{{
		Name: answerTool, Description: "Gives your answer. Call it once, with the whole answer.", Parameters: parameters,
	}}, family{})
	if err != nil {
		return false, err
	}
	params.Tools = append(params.Tools, declared...)
	params.ToolChoice = sdk.ToolChoiceParamOfTool(answerTool)
	return true, nil
}

// markCache marks the prefix that the next request is likely to share: the tools, the system prompt
// (already marked) and the conversation so far.
func markCache(params *sdk.MessageNewParams) {
	cache := sdk.NewCacheControlEphemeralParam()
	if n := len(params.Tools); n > 0 {
		if marked := params.Tools[n-1].GetCacheControl(); marked != nil {
			*marked = cache
		}
	}
	if n := len(params.Messages); n > 0 {
		blocks := params.Messages[n-1].Content
		if marked := blocks[len(blocks)-1].GetCacheControl(); marked != nil {
			*marked = cache
		}
	}
}

// countParams returns the parameters that count the tokens of the same request.
func countParams(p *sdk.MessageNewParams) sdk.MessageCountTokensParams {
	count := sdk.MessageCountTokensParams{
		Model: p.Model, Messages: p.Messages, ToolChoice: p.ToolChoice, OutputConfig: p.OutputConfig,
		System: sdk.MessageCountTokensParamsSystemUnion{OfTextBlockArray: p.System},
	}
	for _, t := range p.Tools {
		count.Tools = append(count.Tools, sdk.MessageCountTokensToolUnionParam{OfTool: t.OfTool, OfTextEditor20250728: t.OfTextEditor20250728})
	}
	return count
}
