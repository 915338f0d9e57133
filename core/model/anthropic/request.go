package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/fettle-dev/fettle/core/model"
)

// answerTool is the tool that returns a JSON response for models without structured output.
const answerTool = "give_answer"

// query converts a request to the form of the API. forced reports that the response comes as a call
// of answerTool. The error is a *model.Error of kind invalid_request.
func query(r *model.Request) (q *request, forced bool, err error) {
	name := cmp.Or(r.Model, DefaultModel)
	known := familyOf(name)
	q = &request{
		Model:     name,
		MaxTokens: cmp.Or(r.MaxOutputTokens, known.maxOutput),
		Messages:  messages(r.Contents),
	}
	if r.System != "" {
		q.System = []block{{Type: "text", Text: r.System, CacheControl: ephemeral()}}
	}
	q.setSampling(r, known)
	if err := q.setTools(r, known); err != nil {
		return nil, false, err
	}
	if r.ResponseSchema != nil {
		if forced, err = q.setSchema(r.ResponseSchema, known); err != nil {
			return nil, false, err
		}
	}
	q.markCache()
	return q, forced, nil
}

// setSampling sets the sampling parameters that the model accepts: newer models accept neither
// temperature nor top_p, others only one of them.
func (q *request) setSampling(r *model.Request, known family) {
	if !known.sampling {
		return
	}
	if r.Temperature != nil {
		q.Temperature = r.Temperature
	}
	if r.TopP != nil && (r.Temperature == nil || !known.oneSampler) {
		q.TopP = r.TopP
	}
}

// setTools declares the tools. If Choice.Allowed restricts them, only those tools are declared,
// since the API supports only one tool, any tool or none. A conversation with calls needs
// declarations even if no tool is offered.
func (q *request) setTools(r *model.Request, known family) error {
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
	q.Tools = declared
	switch {
	case choice.Mode == model.ToolNone:
		q.ToolChoice = &toolChoice{Type: "none"}
	case choice.Mode == model.ToolAny && len(choice.Allowed) == 1:
		q.ToolChoice = &toolChoice{Type: "tool", Name: choice.Allowed[0]}
	case choice.Mode == model.ToolAny:
		q.ToolChoice = &toolChoice{Type: "any"}
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
func declare(tools []model.Tool, known family) ([]tool, error) {
	adapted, err := model.AdaptTools(tools, model.DialectAnthropic)
	if err != nil {
		return nil, err
	}
	var declared []tool
	for _, t := range adapted {
		if known.editor && isTextEditor(t) {
			declared = append(declared, tool{Type: textEditorType, Name: textEditor})
			continue
		}
		declared = append(declared, tool{Name: t.Name, Description: t.Description, InputSchema: t.Parameters})
	}
	return declared, nil
}

// setSchema makes the response one JSON value. It uses structured output, or a forced call of
// answerTool if the model or the schema does not support that. forced reports the latter.
func (q *request) setSchema(schema json.RawMessage, known family) (forced bool, err error) {
	var keys map[string]any
	if err := json.Unmarshal(schema, &keys); err != nil || keys == nil {
		return false, invalidRequest("the schema of the answer is not a valid JSON schema", err)
	}
	if known.structured {
		if accepted, ok := structured(keys); ok {
			q.OutputConfig = &outputConfig{Format: outputFormat{Type: "json_schema", Schema: accepted}}
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
	q.Tools = append(q.Tools, declared...)
	q.ToolChoice = &toolChoice{Type: "tool", Name: answerTool}
	return true, nil
}

// markCache marks the prefix that the next request is likely to share: the tools, the system prompt
// (already marked) and the conversation so far.
func (q *request) markCache() {
	if n := len(q.Tools); n > 0 {
		q.Tools[n-1].CacheControl = ephemeral()
	}
	if n := len(q.Messages); n > 0 {
		blocks := q.Messages[n-1].Content
		if last := &blocks[len(blocks)-1]; last.Type != "thinking" && last.Type != "redacted_thinking" { // the API accepts no mark there
			last.CacheControl = ephemeral()
		}
	}
}

// counted returns the part of a request that its tokens are counted of.
func (q *request) counted() *request {
	count := *q
	count.MaxTokens, count.Temperature, count.TopP, count.Stream = 0, nil, nil, false
	return &count
}
