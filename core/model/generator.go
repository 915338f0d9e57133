package model

import (
	"context"
	"encoding/json"
	"iter"
)

// Generator is the model of a provider, or a substitute for one. All methods are safe for
// concurrent use, end with ctx, and send a request once: retries are up to the agent. Their errors
// are [*Error].
type Generator interface {
	// Generate returns the complete response.
	Generate(ctx context.Context, r *Request) (*Response, error)
	// Stream returns the response in chunks, in order. The sequence can be ranged over once;
	// ranging sends the request. An error is the last element, with a nil chunk. Leaving the loop
	// cancels the request and releases its resources.
	Stream(ctx context.Context, r *Request) iter.Seq2[*Chunk, error]
	// CountTokens returns the number of input tokens of r. A provider that cannot count returns
	// [EstimateTokens].
	CountTokens(ctx context.Context, r *Request) (int, error)
}

// NameOf returns the model of g, also if it was requested by an alias such as "auto": the result of
// the method Name() Name, or the zero Name if g has no such method.
func NameOf(g Generator) Name {
	if d, ok := g.(interface{ Name() Name }); ok {
		return d.Name()
	}
	return Name{}
}

// LimitOf returns the input token limit of g's model: the result of the method Limit() int, or 0 for
// an unknown limit or if g has no such method.
func LimitOf(g Generator) int {
	if d, ok := g.(interface{ Limit() int }); ok {
		return d.Limit()
	}
	return 0
}

// Source returns the Generator of a model by its name, as given to config.Config.Model and the flag
// --model; see [ParseName]. It is called again when the name changes. The error is of code
// invalid_config and names the missing configuration.
type Source func(ctx context.Context, name string) (Generator, error)

// Always returns a Source that returns g for every name.
func Always(g Generator) Source {
	return func(context.Context, string) (Generator, error) { return g, nil }
}

// Request is a request to a model. A Generator does not change it.
type Request struct {
	Model    string    // name without the provider, e.g. "gemini-2.5-pro"; "": the provider's default
	System   string    // the system prompt; "": none
	Contents []Content // begins and ends with a user turn; roles alternate
	Tools    []Tool
	Choice   ToolChoice // zero: the model decides

	Temperature     *float64 // nil: the provider's default
	TopP            *float64
	MaxOutputTokens int // 0: the provider's default, or the model's known maximum if the provider requires a number

	// ResponseSchema, if not nil, makes the answer one JSON value that matches this JSON schema.
	// Tools must be empty then.
	ResponseSchema json.RawMessage

	// Purpose is the reason for the request, for statistics and telemetry.
	Purpose Purpose
	// Deferred is the number of tools that the model can search for and that are not in Tools, for
	// statistics and telemetry.
	Deferred int
}

// DeclaredBytes returns the total length in bytes of the declarations in Tools.
func (r *Request) DeclaredBytes() int {
	sum := 0
	for _, t := range r.Tools {
		sum += t.bytes()
	}
	return sum
}

// Purpose is the reason for a request.
type Purpose string

// The purposes. "" counts as PurposeMain.
const (
	PurposeMain     Purpose = "main"
	PurposeSubagent Purpose = "subagent"
	PurposeCompact  Purpose = "utility_compressor"
)

// Tool is the declaration of a tool for a model.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON schema of an object; nil: no parameters
}

// bytes returns the length of the declaration in bytes: name, description and schema.
func (t Tool) bytes() int { return len(t.Name) + len(t.Description) + len(t.Parameters) }

// ToolChoice restricts the tools that a model may call.
type ToolChoice struct {
	Mode    ToolMode
	Allowed []string // names, for ToolAny; nil: all
}

// ToolMode states whether a model may, must or must not call tools.
type ToolMode string

// The modes of a [ToolChoice].
const (
	ToolAuto ToolMode = ""     // the model decides
	ToolAny  ToolMode = "any"  // at least one call
	ToolNone ToolMode = "none" // no call
)

// Response is a complete response.
type Response struct {
	ID        string // the provider's ID, for support requests; may be empty
	Model     string // the model that answered, if the provider states it
	Content   Content
	Finish    FinishReason
	Usage     Usage
	Citations []string // sources that the provider lists
}

// Chunk is a piece of a response. Zero fields add nothing. A call arrives complete, in one chunk.
type Chunk struct {
	ID    string
	Model string
	// Parts follow those of earlier chunks. A text or thought continues the last part if that is of
	// the same type.
	Parts     []Part
	Finish    FinishReason // "" until the provider states a finish reason
	Usage     *Usage       // totals for the request so far, not for the chunk; nil: unchanged
	Citations []string
}

// FinishReason is the reason why a model stopped.
type FinishReason string

// The finish reasons. "" means that the provider gave none.
const (
	FinishStop          FinishReason = "stop"            // it finished, or it calls tools
	FinishMaxTokens     FinishReason = "max_tokens"      // the length limit was reached
	FinishSafety        FinishReason = "safety"          // the provider blocked the content
	FinishRecitation    FinishReason = "recitation"      // it repeated a protected text
	FinishMalformedCall FinishReason = "malformed_call"  // it wrote a call that cannot be parsed
	FinishUnexpected    FinishReason = "unexpected_call" // it called a tool although none was offered
	FinishOther         FinishReason = "other"
)

// Usage counts tokens. Zero fields were not reported.
type Usage struct {
	Input    int `json:"input"`    // of the request, including cached ones
	Output   int `json:"output"`   // of the answer, without thoughts
	Cached   int `json:"cached"`   // the part of Input that was read from a cache
	Thoughts int `json:"thoughts"` // of thinking
	Tool     int `json:"tool"`     // of the provider's own tools
	Total    int `json:"total"`    // the provider's total; 0: Input + Output + Thoughts + Tool
}
