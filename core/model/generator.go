package model

import (
	"context"
	"encoding/json"
	"iter"
)

// Generator is a provider's model, or whatever takes its place. All methods are
// safe for concurrent use, end when ctx does, and try once: retries are the
// agent's. Their errors are [*Error].
type Generator interface {
	// Generate returns the whole answer at once.
	Generate(ctx context.Context, r *Request) (*Response, error)
	// Stream returns the answer in pieces, in order. The sequence is ranged over
	// once; the request begins with the ranging. An error is its last element,
	// with a nil chunk. Leaving the loop ends the request and frees what it holds.
	Stream(ctx context.Context, r *Request) iter.Seq2[*Chunk, error]
	// CountTokens returns how many tokens r has as input; one that cannot tell
	// returns an estimate as [EstimateTokens] makes it.
	CountTokens(ctx context.Context, r *Request) (int, error)
}

// Described is a Generator that knows which model it asks, whatever name it was
// found by, as "auto".
type Described interface {
	Generator
	Name() Name // the model; zero: not known
	Limit() int // how many tokens of input it takes; 0: not known
}

// NameOf returns the model that g asks, as far as it tells; else the zero Name.
func NameOf(g Generator) Name {
	if d, ok := g.(Described); ok {
		return d.Name()
	}
	return Name{}
}

// LimitOf returns how many tokens of input the model of g takes, as far as it
// tells; else 0.
func LimitOf(g Generator) int {
	if d, ok := g.(Described); ok {
		return d.Limit()
	}
	return 0
}

// Source finds the Generator of a model by its name, as config.Config.Model and
// the flag --model give it; see [ParseName]. It is called again when the name
// changes. The error is of code invalid_config and says what is missing.
type Source func(ctx context.Context, name string) (Generator, error)

// Always is a Source with one Generator for every name.
func Always(g Generator) Source {
	return func(context.Context, string) (Generator, error) { return g, nil }
}

// Request is what a model is asked. A Generator does not change it.
type Request struct {
	Model    string    // the name without the provider, as "gemini-2.5-pro"; "": the provider's default
	System   string    // the system prompt; "": none
	Contents []Content // begins and ends with a turn of the user's; roles alternate
	Tools    []Tool
	Choice   ToolChoice // zero: the model decides

	Temperature     *float64 // nil: the provider's default
	TopP            *float64
	MaxOutputTokens int // 0: the provider's default, or where it demands one, the largest that the model is known to take

	// ResponseSchema, where it is not nil, makes the answer one JSON value of this
	// JSON schema. Tools must be empty then.
	ResponseSchema json.RawMessage

	// Purpose says what the request is for, for statistics and telemetry.
	Purpose Purpose
	// Deferred counts tools that the model can search for and is not told of in
	// Tools, for statistics and telemetry.
	Deferred int
}

// DeclaredBytes is how long the declarations of Tools are together.
func (r *Request) DeclaredBytes() int {
	sum := 0
	for _, t := range r.Tools {
		sum += t.Bytes()
	}
	return sum
}

// Purpose is why a request is made.
type Purpose string

// The purposes. "" counts as PurposeMain.
const (
	PurposeMain     Purpose = "main"
	PurposeSubagent Purpose = "subagent"
	PurposeCompact  Purpose = "utility_compressor"
)

// Tool is a tool as a model is told of it.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON schema of an object; nil: no parameters
}

// Bytes is how long the declaration is: name, description and schema.
func (t Tool) Bytes() int { return len(t.Name) + len(t.Description) + len(t.Parameters) }

// ToolChoice restricts which tools a model may call.
type ToolChoice struct {
	Mode    ToolMode
	Allowed []string // names, for ToolAny; nil: all
}

// ToolMode says whether a model may, must or must not call tools.
type ToolMode string

// The modes of a [ToolChoice].
const (
	ToolAuto ToolMode = ""     // as the model decides
	ToolAny  ToolMode = "any"  // at least one
	ToolNone ToolMode = "none" // none
)

// Response is a whole answer.
type Response struct {
	ID        string // the provider's, for its support; may be empty
	Model     string // what answered, where the provider says so
	Content   Content
	Finish    FinishReason
	Usage     Usage
	Citations []string // sources that the provider names
}

// Chunk is a piece of an answer. A field that is zero adds nothing. A call
// arrives whole, in one chunk.
type Chunk struct {
	ID    string
	Model string
	// Parts follow those of earlier chunks. A text or thought continues the last
	// part if that is of the same sort.
	Parts     []Part
	Finish    FinishReason // "" until the provider says why it stopped
	Usage     *Usage       // of the request so far, not of the chunk; nil: nothing new
	Citations []string
}

// FinishReason is why a model stopped.
type FinishReason string

// The reasons. "" means that the provider gave none.
const (
	FinishStop          FinishReason = "stop"            // it was done, or it calls tools
	FinishMaxTokens     FinishReason = "max_tokens"      // the answer was cut
	FinishSafety        FinishReason = "safety"          // the provider withheld it
	FinishRecitation    FinishReason = "recitation"      // it repeated a protected text
	FinishMalformedCall FinishReason = "malformed_call"  // it wrote a call that cannot be read
	FinishUnexpected    FinishReason = "unexpected_call" // it called a tool where none was offered
	FinishOther         FinishReason = "other"
)

// Usage counts tokens. Zero fields were not told.
type Usage struct {
	Input    int `json:"input"`    // of the request, cached ones included
	Output   int `json:"output"`   // of the answer, without thoughts
	Cached   int `json:"cached"`   // of Input, those read from a cache
	Thoughts int `json:"thoughts"` // of thinking
	Tool     int `json:"tool"`     // of the provider's own tools
	Total    int `json:"total"`    // as the provider counts; 0: Input + Output + Thoughts + Tool
}
