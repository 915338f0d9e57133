package sessionhooks

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/internal/hookrun"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/toollist"
)

// beforeModel runs the hooks before a request, and then those that select its
// tools.
func (c *Conversation) beforeModel(ctx context.Context, r *model.Request) (agent.RequestAdvice, error) {
	if !c.Any(hooks.BeforeModel, hooks.BeforeToolSelection, hooks.AfterModel) {
		return agent.RequestAdvice{}, nil
	}
	request := llmRequest(r)
	c.begin(request)
	effect := c.fire(ctx, hooks.Input{Event: hooks.BeforeModel, LLMRequest: request}, hookrun.Subject{})
	if effect.Stop {
		return agent.RequestAdvice{Stop: effect.StopReason}, nil
	}
	if answer := c.synthetic(effect.LLMResponse); answer != nil {
		return agent.RequestAdvice{Response: answer}, nil
	}
	if effect.Decision == hooks.Block {
		return agent.RequestAdvice{Stop: effect.Reason}, nil
	}
	if effect.LLMRequest != nil {
		overridden := c.of.Overriding(r.Contents)
		if !overrideRequest(r, effect.LLMRequest) {
			c.tell(hooks.BeforeModel, nil, bus.HookWarning, "The llm_request of a hook is invalid; the request is sent unchanged.")
		}
		overridden(r.Contents)
	}
	effect = c.fire(ctx, hooks.Input{Event: hooks.BeforeToolSelection, LLMRequest: llmRequest(r)}, hookrun.Subject{})
	if !chooseTools(r, effect.ToolConfig, c.toolNames) {
		c.tell(hooks.BeforeToolSelection, nil, bus.HookWarning, "The model has none of the tools in allowedFunctionNames of a hook, so it may call none.")
	}
	c.begin(llmRequest(r)) // as sent
	return agent.RequestAdvice{}, nil
}

// afterModel runs the hooks on a piece of an answer.
func (c *Conversation) afterModel(ctx context.Context, chunk *model.Chunk) (string, error) {
	if !c.Any(hooks.AfterModel) {
		return "", nil
	}
	c.mu.Lock()
	request := c.request
	c.mu.Unlock()
	in := hooks.Input{Event: hooks.AfterModel, LLMRequest: request, LLMResponse: llmResponse(chunk)}
	effect := c.fire(ctx, in, hookrun.Subject{})
	switch {
	case effect.Stop:
		return effect.StopReason, nil
	case effect.Decision == hooks.Block:
		return effect.Reason, nil
	}
	if effect.LLMResponse != nil && !overrideChunk(chunk, effect.LLMResponse) {
		c.tell(hooks.AfterModel, nil, bus.HookWarning, "The llm_response of a hook is invalid; the response is unchanged.")
	}
	return "", nil
}

// synthetic returns an answer by hooks that replaces the model's; nil: none.
func (c *Conversation) synthetic(given json.RawMessage) *model.Response {
	if given == nil {
		return nil
	}
	var r hooks.LLMResponse
	if json.Unmarshal(given, &r) != nil || len(r.Candidates) == 0 && r.Text == "" {
		c.tell(hooks.BeforeModel, nil, bus.HookWarning, "The llm_response of a hook is invalid; the request is sent to the model.")
		return nil
	}
	text, finish := r.Text, model.FinishStop
	if len(r.Candidates) > 0 {
		text = strings.Join(r.Candidates[0].Content.Parts, "")
		finish = finishOf(r.Candidates[0].FinishReason, model.FinishStop)
	}
	answer := &model.Response{Content: model.Content{Role: model.RoleModel, Parts: []model.Part{model.TextPart(text)}}, Finish: finish}
	if u := r.Usage; u != nil {
		answer.Usage = model.Usage{Input: u.Prompt, Output: u.Candidates, Total: u.Total}
	}
	return answer
}

// hasText reports whether a part is text of an answer or a prompt.
func hasText(p model.Part) bool { return p.Text != "" && !p.Thought }

// llmRequest converts a request for hooks.
func llmRequest(r *model.Request) *hooks.LLMRequest {
	request := &hooks.LLMRequest{Model: r.Model, Messages: []hooks.LLMMessage{}}
	for _, turn := range r.Contents {
		if slices.ContainsFunc(turn.Parts, hasText) {
			request.Messages = append(request.Messages, hooks.LLMMessage{Role: string(turn.Role), Content: turn.Text()})
		}
	}
	request.Config.Temperature, request.Config.TopP = r.Temperature, r.TopP
	if r.MaxOutputTokens > 0 {
		request.Config.MaxOutputTokens = &r.MaxOutputTokens
	}
	request.ToolConfig = &hooks.ToolConfig{Mode: hookrun.ToolsAuto, AllowedFunctionNames: r.Choice.Allowed}
	switch r.Choice.Mode {
	case model.ToolAny:
		request.ToolConfig.Mode = hookrun.ToolsAny
	case model.ToolNone:
		request.ToolConfig.Mode = hookrun.ToolsNone
	case model.ToolAuto:
	}
	return request
}

// overrideRequest applies the override of hooks to a request, which is a copy. It
// returns false for an invalid override.
func overrideRequest(r *model.Request, given json.RawMessage) bool {
	var o struct {
		Model    string              `json:"model"`
		Messages *[]hooks.LLMMessage `json:"messages"`
		Config   hooks.LLMConfig     `json:"config"`
	}
	if json.Unmarshal(given, &o) != nil {
		return false
	}
	if o.Model != "" {
		r.Model = o.Model
	}
	if o.Config.Temperature != nil {
		r.Temperature = o.Config.Temperature
	}
	if o.Config.TopP != nil {
		r.TopP = o.Config.TopP
	}
	if n := o.Config.MaxOutputTokens; n != nil && *n > 0 {
		r.MaxOutputTokens = *n
	}
	if o.Messages != nil {
		r.Contents = overrideTexts(r.Contents, *o.Messages)
	}
	return true
}

// overrideTexts replaces the texts of the turns by those of messages, in order;
// other parts stay. Further messages are appended.
func overrideTexts(contents []model.Content, messages []hooks.LLMMessage) []model.Content {
	next := 0
	for i, turn := range contents {
		if next == len(messages) || !slices.ContainsFunc(turn.Parts, hasText) {
			continue
		}
		if text := messages[next].Content; text != turn.Text() {
			contents[i].Parts = withText(turn.Parts, text)
		}
		next++
	}
	for _, m := range messages[next:] {
		role := model.RoleUser
		if m.Role == string(model.RoleModel) {
			role = model.RoleModel
		}
		part := model.TextPart(m.Content)
		if last := len(contents) - 1; last >= 0 && contents[last].Role == role {
			contents[last].Parts = append(contents[last].Parts, part)
			continue
		}
		contents = append(contents, model.Content{Role: role, Parts: []model.Part{part}})
	}
	return contents
}

// withText returns parts with one text in place of their texts.
func withText(parts []model.Part, text string) []model.Part {
	var out []model.Part
	placed := false
	for _, p := range parts {
		if !hasText(p) {
			out = append(out, p)
			continue
		}
		if !placed && text != "" {
			out = append(out, model.TextPart(text))
		}
		placed = true
	}
	return out
}

// toolNames returns the names by which hooks may refer to a tool.
func (c *Conversation) toolNames(tool string) []string {
	if t, err := c.of.Tools.Lookup(tool); err == nil {
		return c.subject(t.Spec()).Names
	}
	return subjectOf(tools.Spec{Name: tool}).Names
}

// chooseTools restricts the tools of a request, by any of their names. It returns
// false if there are tools, and none of them is allowed by name.
func chooseTools(r *model.Request, given *hooks.ToolConfig, names func(tool string) []string) bool {
	if given == nil {
		return true
	}
	had := len(r.Tools) > 0
	var allowed []string
	for _, t := range r.Tools {
		if slices.ContainsFunc(names(t.Name), func(name string) bool {
			return slices.ContainsFunc(given.AllowedFunctionNames, func(called string) bool {
				return called == name || slices.Contains(toollist.ForeignNames(called), name)
			})
		}) {
			allowed = append(allowed, t.Name)
		}
	}
	switch given.Mode {
	case hookrun.ToolsNone:
		r.Choice = model.ToolChoice{Mode: model.ToolNone}
		return true
	case hookrun.ToolsAny:
		r.Choice = model.ToolChoice{Mode: model.ToolAny, Allowed: allowed}
	default:
		r.Choice = model.ToolChoice{}
	}
	if len(given.AllowedFunctionNames) > 0 {
		r.Tools = slices.DeleteFunc(r.Tools, func(t model.Tool) bool { return !slices.Contains(allowed, t.Name) })
	}
	if len(r.Tools) == 0 {
		r.Choice = model.ToolChoice{Mode: model.ToolNone}
	}
	return !had || len(r.Tools) > 0
}

// llmResponse converts a piece of an answer for hooks.
func llmResponse(c *model.Chunk) *hooks.LLMResponse {
	candidate := hooks.LLMCandidate{Content: hooks.LLMContent{Role: string(model.RoleModel), Parts: hooks.LLMParts{}}, FinishReason: wordOf(c.Finish)}
	for _, p := range c.Parts {
		if hasText(p) {
			candidate.Content.Parts = append(candidate.Content.Parts, p.Text)
		}
	}
	r := &hooks.LLMResponse{Text: strings.Join(candidate.Content.Parts, ""), Candidates: []hooks.LLMCandidate{candidate}}
	if u := c.Usage; u != nil {
		r.Usage = &hooks.LLMUsage{Prompt: u.Input, Candidates: u.Output, Total: u.Total}
	}
	return r
}

// overrideChunk applies the override of hooks to a piece of an answer. It returns
// false for an invalid override.
func overrideChunk(c *model.Chunk, given json.RawMessage) bool {
	var r hooks.LLMResponse
	if json.Unmarshal(given, &r) != nil {
		return false
	}
	if len(r.Candidates) == 0 || len(r.Candidates[0].Content.Parts) == 0 {
		return true
	}
	text := strings.Join(r.Candidates[0].Content.Parts, "")
	if !slices.ContainsFunc(c.Parts, hasText) && text != "" {
		c.Parts = append([]model.Part{model.TextPart(text)}, c.Parts...)
	} else {
		c.Parts = withText(c.Parts, text)
	}
	if c.Finish != "" || r.Candidates[0].FinishReason != "" {
		c.Finish = finishOf(r.Candidates[0].FinishReason, c.Finish)
	}
	return true
}

// finishWords maps finish reasons to those of hooks.
func finishWords() map[model.FinishReason]string {
	return map[model.FinishReason]string{
		model.FinishStop: "STOP", model.FinishMaxTokens: "MAX_TOKENS", model.FinishSafety: "SAFETY", model.FinishRecitation: "RECITATION",
	}
}

func wordOf(f model.FinishReason) string {
	if word, ok := finishWords()[f]; ok || f == "" {
		return word
	}
	return "OTHER"
}

// finishOf returns the reason for a word; otherwise for an unknown one.
func finishOf(word string, otherwise model.FinishReason) model.FinishReason {
	for f, known := range finishWords() {
		if word == known {
			return f
		}
	}
	if word == "OTHER" {
		return model.FinishOther
	}
	return otherwise
}
