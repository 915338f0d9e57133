package gemini

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"

	"github.com/fettle-dev/fettle/core/model"
)

// request is a request in the form of the API.
type request struct {
	Contents          []content         `json:"contents,omitempty"`
	SystemInstruction *content          `json:"systemInstruction,omitempty"`
	Tools             []toolSet         `json:"tools,omitempty"`
	ToolConfig        *toolConfig       `json:"toolConfig,omitempty"`
	GenerationConfig  *generationConfig `json:"generationConfig,omitempty"`
}

type content struct {
	Role  string     `json:"role"`
	Parts []sentPart `json:"parts"`
}

type sentPart struct {
	Text             *string       `json:"text,omitempty"`
	FunctionCall     *sentCall     `json:"functionCall,omitempty"`
	FunctionResponse *sentResponse `json:"functionResponse,omitempty"`
	InlineData       *blob         `json:"inlineData,omitempty"`
	ThoughtSignature string        `json:"thoughtSignature,omitempty"`
}

type sentCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type sentResponse struct {
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
	Parts    []sentPart      `json:"parts,omitempty"`
}

type blob struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type toolSet struct {
	FunctionDeclarations []declaration `json:"functionDeclarations"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

type toolConfig struct {
	FunctionCallingConfig functionCalling `json:"functionCallingConfig"`
}

type functionCalling struct {
	Mode    string   `json:"mode"`
	Allowed []string `json:"allowedFunctionNames,omitempty"`
}

type generationConfig struct {
	Temperature        *float64        `json:"temperature,omitempty"`
	TopP               *float64        `json:"topP,omitempty"`
	MaxOutputTokens    int32           `json:"maxOutputTokens,omitempty"`
	ResponseMIMEType   string          `json:"responseMimeType,omitempty"`
	ResponseJSONSchema json.RawMessage `json:"responseJsonSchema,omitempty"`
	ThinkingConfig     *thinking       `json:"thinkingConfig,omitempty"`
}

type thinking struct {
	IncludeThoughts bool `json:"includeThoughts"`
}

const (
	roleUser  = "user"
	roleModel = "model"
)

// query returns the model of r, and r in the form of the API. The error is a *model.Error of kind invalid_request.
func query(r *model.Request) (string, *request, error) {
	name := cmp.Or(r.Model, DefaultModel)
	tools, err := model.AdaptTools(r.Tools, model.DialectGemini)
	if err != nil {
		return "", nil, err
	}
	config := &generationConfig{
		Temperature: r.Temperature, TopP: r.TopP,
		MaxOutputTokens: int32(min(max(r.MaxOutputTokens, 0), math.MaxInt32)),
	}
	q := &request{Contents: contents(r.Contents, family(name)), Tools: declarations(tools), GenerationConfig: config}
	if r.System != "" {
		q.SystemInstruction = &content{roleUser, []sentPart{{Text: &r.System}}}
	}
	if len(tools) > 0 {
		q.ToolConfig = &toolConfig{calling(r.Choice)}
	}
	if len(r.ResponseSchema) > 0 {
		if !json.Valid(r.ResponseSchema) {
			return "", nil, &model.Error{Provider: Provider, Kind: model.InvalidRequest, Message: "the schema of the answer is not valid JSON"}
		}
		config.ResponseMIMEType, config.ResponseJSONSchema = "application/json", r.ResponseSchema
	}
	if thinks(name) {
		config.ThinkingConfig = &thinking{IncludeThoughts: true}
	}
	return name, q, nil
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

func declarations(tools []model.Tool) []toolSet {
	if len(tools) == 0 {
		return nil
	}
	functions := make([]declaration, len(tools))
	for i, t := range tools {
		functions[i] = declaration{t.Name, t.Description, t.Parameters}
	}
	return []toolSet{{functions}}
}

func calling(c model.ToolChoice) functionCalling {
	switch c.Mode {
	case model.ToolAny:
		return functionCalling{"ANY", c.Allowed}
	case model.ToolNone:
		return functionCalling{Mode: "NONE"}
	}
	return functionCalling{Mode: "AUTO"}
}

// contents converts turns. It omits a turn that has no parts left.
func contents(turns []model.Content, name string) []content {
	var out []content
	for _, c := range turns {
		turn := content{roleUser, nil}
		if c.Role == model.RoleModel {
			turn = content{roleModel, modelParts(c.Parts)}
		} else {
			turn.Parts = userParts(c.Parts, dataInResponses(name))
		}
		if len(turn.Parts) > 0 {
			out = append(out, turn)
		}
	}
	return out
}

// skipValidation is the documented signature of a call that the API did not make.
const skipValidation = "skip_thought_signature_validator"

// modelParts converts the parts of a model turn, without thoughts. The first call of a turn carries
// a signature, which models from Gemini 3 on require. A call without one of this provider gets a
// placeholder that skips the check. A part that is only a signature has an empty text, which the
// API requires.
func modelParts(parts []model.Part) []sentPart {
	var out []sentPart
	called := false
	for _, p := range parts {
		var part sentPart
		switch {
		case p.Thought:
			continue
		case p.Call != nil:
			part.FunctionCall = &sentCall{p.Call.ID, model.SafeToolName(p.Call.Name), p.Call.Object()}
		case p.Data != nil:
			part = inline(*p.Data)
		default:
			part.Text = &p.Text
		}
		if p.Provider == Provider {
			part.ThoughtSignature = base64.StdEncoding.EncodeToString(p.Signature)
		}
		if p.Call != nil {
			if !called && part.ThoughtSignature == "" {
				part.ThoughtSignature = skipValidation
			}
			called = true
		}
		if p.Call != nil || p.Data != nil || p.Text != "" || part.ThoughtSignature != "" {
			out = append(out, part)
		}
	}
	return out
}

// userParts converts the parts of a user turn. If within is false, data of tool results is placed
// after all results.
func userParts(parts []model.Part, within bool) []sentPart {
	var out, data []sentPart
	for _, p := range parts {
		switch {
		case p.Response != nil:
			answer := &sentResponse{ID: p.Response.ID, Name: model.SafeToolName(p.Response.Name), Response: responseObject(p.Response.Response)}
			for _, d := range p.Response.Data {
				if within {
					answer.Parts = append(answer.Parts, inline(d))
				} else {
					data = append(data, inline(d))
				}
			}
			out = append(out, sentPart{FunctionResponse: answer})
		case p.Data != nil:
			out = append(out, inline(*p.Data))
		case p.Text != "" && !p.Thought:
			out = append(out, sentPart{Text: &p.Text})
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

func inline(d model.Data) sentPart {
	return sentPart{InlineData: &blob{d.MIMEType, d.Bytes}}
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
