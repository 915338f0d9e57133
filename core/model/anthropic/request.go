package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/fettle-dev/fettle/core/model"
)

// answerTool is the tool through which a model that has no structured output
// gives an answer of a JSON schema.
const answerTool = "give_answer"

// messageParams returns a request in the API's words; forced reports that the
// answer comes as a call of answerTool. The error is a *model.Error of kind
// invalid_request.
func messageParams(r *model.Request) (params *sdk.MessageNewParams, forced bool, err error) {
	name := cmp.Or(r.Model, DefaultModel)
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
	if err := setTools(params, r); err != nil {
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

// setSampling leaves out what the model would refuse: newer ones take neither
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

// setTools declares the tools. Where only some are allowed, only those are
// declared, as the API knows one tool, any tool or none. A conversation with
// calls in it needs declarations even where none is offered.
func setTools(params *sdk.MessageNewParams, r *model.Request) error {
	tools, choice := r.Tools, r.Choice
	if choice.Mode == model.ToolAny && len(choice.Allowed) > 0 {
		tools = slices.DeleteFunc(slices.Clone(tools), func(t model.Tool) bool { return !slices.Contains(choice.Allowed, t.Name) })
	}
	if len(tools) == 0 {
		tools, choice = toolsOf(r.Contents), model.ToolChoice{Mode: model.ToolNone}
	}
	for _, t := range tools {
		declared, err := toolParam(t.Name, t.Description, t.Parameters)
		if err != nil {
			return err
		}
		params.Tools = append(params.Tools, declared)
	}
	if len(tools) == 0 {
		return nil
	}
	switch {
	case choice.Mode == model.ToolNone:
		none := sdk.NewToolChoiceNoneParam()
		params.ToolChoice = sdk.ToolChoiceUnionParam{OfNone: &none}
	case choice.Mode == model.ToolAny && len(choice.Allowed) == 1:
		params.ToolChoice = sdk.ToolChoiceParamOfTool(tools[0].Name)
	case choice.Mode == model.ToolAny:
		params.ToolChoice = sdk.ToolChoiceUnionParam{OfAny: &sdk.ToolChoiceAnyParam{}}
	}
	return nil
}

// toolsOf returns a declaration of each tool that was called, in order of name.
func toolsOf(contents []model.Content) []model.Tool {
	var names []string
	for _, c := range contents {
		for _, call := range c.Calls() {
			names = append(names, call.Name)
		}
	}
	slices.Sort(names)
	var tools []model.Tool
	for _, name := range slices.Compact(names) {
		tools = append(tools, model.Tool{Name: name})
	}
	return tools
}

// toolParam declares a tool with its schema as it is; the API demands one of
// an object.
func toolParam(name, description string, schema json.RawMessage) (sdk.ToolUnionParam, error) {
	if schema == nil {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(schema, &keys); err != nil || keys == nil {
		return sdk.ToolUnionParam{}, invalidRequest("the parameters of the tool "+name+" are no JSON schema of an object", err)
	}
	if _, ok := keys["type"]; !ok {
		keys["type"] = json.RawMessage(`"object"`)
		schema, _ = json.Marshal(keys) // of raw JSON that was just decoded: it cannot fail
	}
	t := sdk.ToolParam{Name: name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
	if description != "" {
		t.Description = param.NewOpt(description)
	}
	return sdk.ToolUnionParam{OfTool: &t}, nil
}

// setSchema makes the answer one JSON value: by the API's own means, or, where
// the model or the schema is not up to that, by a call that the model must make.
// forced reports the latter.
func setSchema(params *sdk.MessageNewParams, schema json.RawMessage, known family) (forced bool, err error) {
	if known.structured {
		var keys map[string]any
		if err := json.Unmarshal(schema, &keys); err != nil {
			return false, invalidRequest("the schema of the answer is no JSON schema", err)
		}
		// The SDK makes of it what the API accepts: closed objects, no ranges.
		accepted, _ := sdk.BetaJSONSchemaOutputFormat(keys).Schema.(map[string]any)
		if len(accepted) > 0 {
			params.OutputConfig.Format.Schema = accepted
			return false, nil
		}
	}
	wrapped, err := json.Marshal(map[string]any{
		"type": "object", "required": []string{"answer"}, "additionalProperties": false,
		"properties": map[string]json.RawMessage{"answer": schema},
	})
	if err != nil {
		return false, invalidRequest("the schema of the answer is no JSON", err)
	}
	declared, err := toolParam(answerTool, "Gives your answer. Call it once, with the whole answer.", wrapped)
	if err != nil {
		return false, err
	}
	params.Tools = append(params.Tools, declared)
	params.ToolChoice = sdk.ToolChoiceParamOfTool(answerTool)
	return true, nil
}

// markCache marks what the next request is likely to begin with: the tools, the
// system prompt (marked when it was set) and the conversation so far.
func markCache(params *sdk.MessageNewParams) {
	cache := sdk.NewCacheControlEphemeralParam()
	if n := len(params.Tools); n > 0 {
		params.Tools[n-1].OfTool.CacheControl = cache
	}
	if n := len(params.Messages); n > 0 {
		blocks := params.Messages[n-1].Content
		if marked := blocks[len(blocks)-1].GetCacheControl(); marked != nil {
			*marked = cache
		}
	}
}

// countParams is the same request for counting.
func countParams(p *sdk.MessageNewParams) sdk.MessageCountTokensParams {
	count := sdk.MessageCountTokensParams{
		Model: p.Model, Messages: p.Messages, ToolChoice: p.ToolChoice, OutputConfig: p.OutputConfig,
		System: sdk.MessageCountTokensParamsSystemUnion{OfTextBlockArray: p.System},
	}
	for _, t := range p.Tools {
		count.Tools = append(count.Tools, sdk.MessageCountTokensToolUnionParam{OfTool: t.OfTool})
	}
	return count
}
