package openai

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wire"
)

// The fields that limit the length of a response. OpenAI's own models require the newer one; many
// other servers know only the older one.
const (
	oldLimit = "max_tokens"
	newLimit = "max_completion_tokens"
)

// The field that a server accepts.
const (
	limitByModel int32 = iota // derived from the model name and the address
	limitOld
	limitNew
)

// query is a request in the form of the SDK, plus fields that the SDK cannot express: max_tokens, and
// numbers that the SDK rounds, or omits because they are 0.
type query struct {
	sdk.ChatCompletionRequest
	more map[string]json.RawMessage
}

// maxDescription is the limit of a tool description in characters that the API's errors state.
const maxDescription = 1024

// described cuts a description to the limit, since the API would reject the whole request
// otherwise. Tools of MCP servers can have longer ones.
func described(text string) string {
	const mark = "… (cut)"
	if utf8.RuneCountInString(text) <= maxDescription {
		return text
	}
	return string([]rune(text)[:maxDescription-utf8.RuneCountInString(mark)]) + mark
}

// query converts r to the form of the SDK. The error is a *model.Error of kind invalid_request.
func (g *generator) query(r *model.Request, stream bool) (*query, error) {
	out := &query{ChatCompletionRequest: sdk.ChatCompletionRequest{Model: r.Model}, more: map[string]json.RawMessage{}}
	out.Model = cmp.Or(out.Model, DefaultModel)
	offered := r.Tools
	if r.Choice.Mode == model.ToolAny && r.Choice.Allowed != nil {
		// The API cannot allow only some of the declared tools, so no others are declared.
		offered = slices.DeleteFunc(slices.Clone(offered), func(t model.Tool) bool { return !slices.Contains(r.Choice.Allowed, t.Name) })
	}
	tools, err := model.AdaptTools(offered, model.DialectOpenAI)
	if err != nil {
		return nil, err
	}
	for _, t := range tools {
		out.Tools = append(out.Tools, sdk.Tool{Type: sdk.ToolTypeFunction, Function: &sdk.FunctionDefinition{
			Name: t.Name, Description: described(t.Description), Parameters: t.Parameters,
		}})
	}
	if len(tools) > 0 {
		switch r.Choice.Mode {
		case model.ToolAny:
			out.ToolChoice = "required"
		case model.ToolNone:
			out.ToolChoice = "none"
		}
	}
	if len(r.ResponseSchema) > 0 {
		if !json.Valid(r.ResponseSchema) {
			return nil, &model.Error{Provider: Provider, Kind: model.InvalidRequest, Message: "the schema of the answer is not valid JSON"}
		}
		out.ResponseFormat = &sdk.ChatCompletionResponseFormat{
			Type:       sdk.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &sdk.ChatCompletionResponseFormatJSONSchema{Name: "answer", Schema: r.ResponseSchema},
		}
	}
	if len(tools) > 0 && slices.Contains([]string{sdk.GPT6Sol, sdk.GPT6Luna}, out.Model) {
		out.ReasoningEffort = sdk.ReasoningEffortNone // required for calling tools over chat completions
	}
	out.Messages = messages(r, keepsThoughts(out.Model))
	switch {
	case r.MaxOutputTokens <= 0:
	case g.wantsNewLimit(out.Model):
		out.MaxCompletionTokens = r.MaxOutputTokens
	default:
		out.more[oldLimit] = json.RawMessage(strconv.Itoa(r.MaxOutputTokens))
	}
	if !reasons(out.Model) {
		out.number("temperature", r.Temperature)
		out.number("top_p", r.TopP)
	}
	if stream && !g.noStreamOptions.Load() {
		out.StreamOptions = &sdk.StreamOptions{IncludeUsage: true}
	}
	return out, nil
}

// family returns the name of a model without its prefix.
func family(name string) string { return strings.ToLower(name[strings.LastIndexByte(name, '/')+1:]) }

// reasons reports whether a model is a reasoning model of OpenAI. Those accept no temperature, and
// the SDK knows them by name.
func reasons(name string) bool {
	name = family(name)
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6", "codex-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// keepsThoughts reports whether a model needs its own thoughts back while it calls tools; other
// models reject them, or perform better without them.
func keepsThoughts(name string) bool {
	name = family(name)
	return strings.Contains(name, "deepseek") || strings.Contains(name, "kimi")
}

func (g *generator) wantsNewLimit(name string) bool {
	switch g.limit.Load() {
	case limitOld:
		return false
	case limitNew:
		return true
	}
	return g.public || reasons(name)
}

// adjust reports whether the server rejected a field that has an alternative, and uses the
// alternative from now on.
func (g *generator) adjust(q *query, x *wire.Exchange) bool {
	if x.Status != http.StatusBadRequest && x.Status != http.StatusUnprocessableEntity {
		return false
	}
	problem := string(x.Problem)
	switch {
	case q.StreamOptions != nil && strings.Contains(problem, "stream_options"):
		g.noStreamOptions.Store(true)
	case q.more[oldLimit] != nil && strings.Contains(problem, newLimit):
		g.limit.Store(limitNew)
	case q.MaxCompletionTokens > 0 && g.limit.Load() == limitByModel && !reasons(q.Model) && strings.Contains(problem, newLimit):
		g.limit.Store(limitOld)
	default:
		return false
	}
	return true
}

// number adds a number that may be 0.
func (q *query) number(key string, value *float64) {
	if value == nil {
		return
	}
	if raw, err := json.Marshal(*value); err == nil { // NaN cannot be encoded and is ignored
		q.more[key] = raw
	}
}

// edit adds to the JSON of a request the fields that the SDK cannot express.
func (q *query) edit(body []byte) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, err
	}
	maps.Copy(object, q.more)
	return json.Marshal(object)
}
