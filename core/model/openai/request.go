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

// The fields that limit an answer. OpenAI's own models demand the newer one; many
// other servers only know the older.
const (
	oldLimit = "max_tokens"
	newLimit = "max_completion_tokens"
)

// Which of them a server wants.
const (
	limitByModel int32 = iota // as the name of the model and the address suggest
	limitOld
	limitNew
)

// query is a request in the SDK's words, and what it has no good words for:
// numbers that it would leave out because they are 0, or round, and max_tokens.
type query struct {
	sdk.ChatCompletionRequest
	more map[string]json.RawMessage
}

// maxDescription is how many characters of a tool's description are taken, by
// what the API's errors say.
const maxDescription = 1024

// described is a description that is taken: a longer one, as servers' tools have,
// is cut, as it would have the whole request refused.
func described(text string) string {
	const mark = "… (cut)"
	if utf8.RuneCountInString(text) <= maxDescription {
		return text
	}
	return string([]rune(text)[:maxDescription-utf8.RuneCountInString(mark)]) + mark
}

// query returns r in the SDK's words. The error is a *model.Error of kind
// invalid_request.
func (g *Generator) query(r *model.Request, stream bool) (*query, error) {
	out := &query{ChatCompletionRequest: sdk.ChatCompletionRequest{Model: r.Model}, more: map[string]json.RawMessage{}}
	out.Model = cmp.Or(out.Model, g.name)
	offered := r.Tools
	if r.Choice.Mode == model.ToolAny && r.Choice.Allowed != nil {
		// There is no way to allow some of the tools but to declare no others.
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
			return nil, &model.Error{Provider: Provider, Kind: model.InvalidRequest, Message: "the schema of the answer is no JSON"}
		}
		out.ResponseFormat = &sdk.ChatCompletionResponseFormat{
			Type:       sdk.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &sdk.ChatCompletionResponseFormatJSONSchema{Name: "answer", Schema: r.ResponseSchema},
		}
	}
	if len(tools) > 0 && slices.Contains([]string{sdk.GPT6Sol, sdk.GPT6Luna}, out.Model) {
		out.ReasoningEffort = sdk.ReasoningEffortNone // with chat completions they call tools only so
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

// family returns the name of a model without what stands before it.
func family(name string) string { return strings.ToLower(name[strings.LastIndexByte(name, '/')+1:]) }

// reasons reports whether a model is one of OpenAI's that reason: they take no
// temperature, and the SDK knows them by their names.
func reasons(name string) bool {
	name = family(name)
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6", "codex-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// keepsThoughts reports whether a model wants its own thoughts back while it
// calls tools; the others refuse them, or do better without.
func keepsThoughts(name string) bool {
	name = family(name)
	return strings.Contains(name, "deepseek") || strings.Contains(name, "kimi")
}

func (g *Generator) wantsNewLimit(name string) bool {
	switch g.limit.Load() {
	case limitOld:
		return false
	case limitNew:
		return true
	}
	return g.public || reasons(name)
}

// adjust looks whether the server refused a field that has another form, and
// takes that from now on; true: it did.
func (g *Generator) adjust(q *query, x *wire.Exchange) bool {
	if x.Status != http.StatusBadRequest && x.Status != http.StatusUnprocessableEntity {
		return false
	}
	said := string(x.Problem)
	switch {
	case q.StreamOptions != nil && strings.Contains(said, "stream_options"):
		g.noStreamOptions.Store(true)
	case q.more[oldLimit] != nil && strings.Contains(said, newLimit):
		g.limit.Store(limitNew)
	case q.MaxCompletionTokens > 0 && g.limit.Load() == limitByModel && !reasons(q.Model) && strings.Contains(said, newLimit):
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
	if raw, err := json.Marshal(*value); err == nil { // not of a NaN, which nobody can mean
		q.more[key] = raw
	}
}

// edit adds to the JSON of a request what the SDK has no good words for.
func (q *query) edit(body []byte) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, err
	}
	maps.Copy(object, q.more)
	return json.Marshal(object)
}
