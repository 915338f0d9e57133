package gemini

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"

	"google.golang.org/genai"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

// query is a request in the form of the SDK.
type query struct {
	model    string
	contents []*genai.Content
	config   *genai.GenerateContentConfig
}

// query converts r to the form of the SDK. The error is a *model.Error of kind invalid_request.
func (g *generator) query(r *model.Request) (*query, error) {
	name := cmp.Or(r.Model, DefaultModel)
	tools, err := model.AdaptTools(r.Tools, model.DialectGemini)
	if err != nil {
		return nil, err
	}
	off := false
	config := &genai.GenerateContentConfig{
		AutomaticContinuation: &off, // the SDK would otherwise repeat a request whose stream broke
		Tools:                 declarations(tools),
		Temperature:           float(r.Temperature),
		TopP:                  float(r.TopP),
		MaxOutputTokens:       int32(min(max(r.MaxOutputTokens, 0), math.MaxInt32)),
	}
	if r.System != "" {
		config.SystemInstruction = &genai.Content{Parts: []*genai.Part{{Text: r.System}}}
	}
	if len(tools) > 0 {
		config.ToolConfig = toolConfig(r.Choice)
	}
	if len(r.ResponseSchema) > 0 {
		if !json.Valid(r.ResponseSchema) {
			return nil, &model.Error{Provider: Provider, Kind: model.InvalidRequest, Message: "the schema of the answer is not valid JSON"}
		}
		config.ResponseMIMEType = "application/json"
		config.ResponseJsonSchema = wrapped(r.ResponseSchema)
	}
	if thinks(name) {
		config.ThinkingConfig = &genai.ThinkingConfig{IncludeThoughts: true}
	}
	return &query{name, contents(r.Contents, family(name)), config}, nil
}

// family returns the name of a model without its prefix.
func family(name string) string { return strings.ToLower(name[strings.LastIndexByte(name, '/')+1:]) }

// thinks reports whether a model supports returning thoughts; other models reject a request for
// them.
func thinks(name string) bool {
	name = family(name)
	if !strings.HasPrefix(name, "gemini-") {
		return false
	}
	for _, prefix := range []string{"gemini-1", "gemini-2.0", "gemini-pro", "gemini-embedding"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return !strings.Contains(name, "-image") && !strings.Contains(name, "-tts")
}

func float(v *float64) *float32 {
	if v == nil {
		return nil
	}
	f := float32(*v)
	return &f
}

func declarations(tools []model.Tool) []*genai.Tool {
	if len(tools) == 0 {
		return nil
	}
	functions := make([]*genai.FunctionDeclaration, len(tools))
	for i, t := range tools {
		functions[i] = &genai.FunctionDeclaration{Name: t.Name, Description: t.Description, ParametersJsonSchema: wrapped(t.Parameters)}
	}
	return []*genai.Tool{{FunctionDeclarations: functions}}
}

func toolConfig(c model.ToolChoice) *genai.ToolConfig {
	calling := &genai.FunctionCallingConfig{}
	switch c.Mode {
	case model.ToolAny:
		calling.Mode = genai.FunctionCallingConfigModeAny
		calling.AllowedFunctionNames = c.Allowed
	case model.ToolNone:
		calling.Mode = genai.FunctionCallingConfigModeNone
	default:
		calling.Mode = genai.FunctionCallingConfigModeAuto
	}
	return &genai.ToolConfig{FunctionCallingConfig: calling}
}

// contents converts turns. It omits a turn that has no parts left.
func contents(turns []model.Content, name string) []*genai.Content {
	var out []*genai.Content
	for _, c := range turns {
		turn := &genai.Content{Role: genai.RoleUser, Parts: userParts(c.Parts, dataInResponses(name))}
		if c.Role == model.RoleModel {
			turn = &genai.Content{Role: genai.RoleModel, Parts: modelParts(c.Parts)}
		}
		if len(turn.Parts) > 0 {
			out = append(out, turn)
		}
	}
	return out
}

// modelParts converts the parts of a model turn, without thoughts. The first call of a turn carries
// a signature, which models from Gemini 3 on require. A call without one of this provider gets a
// placeholder that skips the check.
func modelParts(parts []model.Part) []*genai.Part {
	var out []*genai.Part
	called := false
	for _, p := range parts {
		var part *genai.Part
		switch {
		case p.Thought:
			continue
		case p.Call != nil:
			part = &genai.Part{FunctionCall: &genai.FunctionCall{ID: p.Call.ID, Name: model.SafeToolName(p.Call.Name), Args: wrapped(p.Call.Object())}}
		case p.Data != nil:
			part = inline(*p.Data)
		default:
			part = &genai.Part{Text: p.Text}
		}
		if p.Provider == Provider {
			part.ThoughtSignature = p.Signature
		}
		if p.Call != nil {
			if !called && len(part.ThoughtSignature) == 0 {
				part.ThoughtSignature = unsigned
			}
			called = true
		}
		if p.Call != nil || p.Data != nil || p.Text != "" || len(part.ThoughtSignature) > 0 {
			out = append(out, part)
		}
	}
	return out
}

// userParts converts the parts of a user turn. If within is false, data of tool results is placed
// after all results.
func userParts(parts []model.Part, within bool) []*genai.Part {
	var out, data []*genai.Part
	for _, p := range parts {
		switch {
		case p.Response != nil:
			answer := &genai.FunctionResponse{ID: p.Response.ID, Name: model.SafeToolName(p.Response.Name), Response: wrapped(responseObject(p.Response.Response))}
			for _, d := range p.Response.Data {
				if within {
					answer.Parts = append(answer.Parts, genai.NewFunctionResponsePartFromBytes(d.Bytes, d.MIMEType))
				} else {
					data = append(data, inline(d))
				}
			}
			out = append(out, &genai.Part{FunctionResponse: answer})
		case p.Data != nil:
			out = append(out, inline(*p.Data))
		case p.Text != "" && !p.Thought:
			out = append(out, &genai.Part{Text: p.Text})
		}
	}
	// After the last tool result, before the user's text.
	last := 0
	for i, p := range out {
		if p.FunctionResponse != nil {
			last = i + 1
		}
	}
	return append(out[:last:last], append(data, out[last:]...)...)
}

// dataInResponses reports whether a model accepts data within a function response, as models from
// Gemini 3 on do.
func dataInResponses(name string) bool {
	version, ok := strings.CutPrefix(name, "gemini-")
	return ok && version != "" && version[0] >= '3' && version[0] <= '9'
}

func inline(d model.Data) *genai.Part {
	return &genai.Part{InlineData: &genai.Blob{Data: d.Bytes, MIMEType: d.MIMEType}}
}

// responseObject returns a tool result as the object that the API requires.
func responseObject(raw json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil && object != nil {
		return raw
	}
	out, err := json.Marshal(map[string]string{"output": string(raw)})
	if err != nil {
		return json.RawMessage("{}")
	}
	return out
}

// skipValidation is the documented signature of a call that the API did not make; unsigned is its
// decoded form, which the SDK expects.
const skipValidation = "skip_thought_signature_validator"

var unsigned, _ = base64.URLEncoding.DecodeString(skipValidation)

// holder is the only key of an object that holds JSON as text.
const holder = "json"

// wrapped returns raw in an object so that the SDK does not decode it, since its numbers would lose
// digits; [restore] unwraps it in the request.
func wrapped(raw json.RawMessage) map[string]any { return map[string]any{holder: string(raw)} }

// restore returns the JSON of a request with three corrections. It unwraps [wrapped] values. It
// writes skipValidation in its documented form. It adds an empty text to each part that is only a
// signature, because the SDK omits it and the API requires it.
func restore(body []byte) ([]byte, error) {
	release := func(raw json.RawMessage) (json.RawMessage, error) {
		var h map[string]string
		if err := json.Unmarshal(raw, &h); err != nil {
			return nil, err
		}
		return json.RawMessage(h[holder]), nil
	}
	spell := func(raw json.RawMessage) (json.RawMessage, error) {
		var signature []byte
		if json.Unmarshal(raw, &signature) == nil && string(signature) == string(unsigned) {
			return json.Marshal(skipValidation)
		}
		return raw, nil
	}
	parts := func(raw json.RawMessage) (json.RawMessage, error) {
		raw, err := wire.Edit(raw, release, "functionCall", "args")
		if err == nil {
			raw, err = wire.Edit(raw, release, "functionResponse", "response")
		}
		if err == nil {
			raw, err = wire.Edit(raw, spell, "thoughtSignature")
		}
		var keys map[string]json.RawMessage
		if err == nil && json.Unmarshal(raw, &keys) == nil && len(keys) == 1 && keys["thoughtSignature"] != nil {
			keys["text"] = json.RawMessage(`""`)
			return json.Marshal(keys)
		}
		return raw, err
	}
	raw, err := wire.Edit(body, parts, "contents", "*", "parts", "*")
	if err == nil {
		raw, err = wire.Edit(raw, release, "tools", "*", "functionDeclarations", "*", "parametersJsonSchema")
	}
	if err == nil {
		raw, err = wire.Edit(raw, release, "generationConfig", "responseJsonSchema")
	}
	return raw, err
}
