// Package model represents a conversation with a language model independently of providers.
//
// A [Request] has the contents so far, the declared tools and the system instruction; a [Response]
// has text, calls of tools and the number of tokens. A provider implements [Generator], and a
// [Source] returns the Generator for the name of a model. [AdaptSchema] and [AdaptTools] rewrite
// declarations for the [Dialect] of JSON schema that a provider accepts. Providers are in
// model/anthropic, model/gemini and model/openai; model/replay records and replays, and model/script
// answers from a script, for tests.
package model

import "encoding/json"

// Role is the author of a [Content].
type Role string

// The roles of a [Content]. Tool results belong to a user turn. The system prompt is not a Content,
// see [Request.System].
const (
	RoleUser  Role = "user"
	RoleModel Role = "model"
)

// Content is one turn of a conversation: its parts in order. Sessions are recorded in its JSON
// form; keys may be added and are never renamed.
type Content struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is one piece of a turn. Exactly one of Text, Data, Call and Response is set; with Thought,
// Text is a thought of the model. A part that has only a Signature is a thought that its provider
// does not show.
type Part struct {
	Text     string            `json:"text,omitempty"`
	Data     *Data             `json:"data,omitempty"`
	Call     *FunctionCall     `json:"functionCall,omitempty"`
	Response *FunctionResponse `json:"functionResponse,omitempty"`

	// Thought marks the text as thinking of the model. It is not part of the answer and not shown
	// as one.
	Thought bool `json:"thought,omitempty"`
	// Signature is the provider's proof that it produced this part. It is sent back unchanged with
	// the part, and only to that provider; see Provider.
	Signature []byte `json:"signature,omitempty"`
	// Provider is the provider of Signature, e.g. "gemini"; "" without one.
	Provider string `json:"provider,omitempty"`
}

// Data is an image, a document or other bytes.
type Data struct {
	MIMEType string `json:"mimeType"`
	Bytes    []byte `json:"data"`
	Name     string `json:"name,omitempty"` // a file name, for display; may be empty
}

// FunctionCall is a tool call that a model requests.
type FunctionCall struct {
	// ID identifies the call within the conversation. It is never empty: a Generator creates one if
	// the provider sends none.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Args is the text that the model wrote, byte for byte, so that numbers keep all their digits.
	// It is empty for no arguments, and may be invalid JSON.
	Args json.RawMessage `json:"-"`
}

// FunctionResponse is the result of the call with the same ID and name.
type FunctionResponse struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Response is a JSON object: {"output": …} or {"error": …, "output": …}, with optional
	// "context" and "notice"; see scheduler.Response.FunctionResponse.
	Response json.RawMessage `json:"response,omitempty"`
	Data     []Data          `json:"data,omitempty"` // attached data that is not text
}

// TextPart returns a part of text.
func TextPart(text string) Part { return Part{Text: text} }

// UserText returns a user turn that consists of text.
func UserText(text string) Content { return Content{Role: RoleUser, Parts: []Part{{Text: text}}} }

// Text returns the answer in c: its texts joined, without thoughts.
func (c Content) Text() string {
	var text string
	for _, p := range c.Parts {
		if !p.Thought {
			text += p.Text
		}
	}
	return text
}

// Calls returns the calls in c, in order.
func (c Content) Calls() []FunctionCall {
	var calls []FunctionCall
	for _, p := range c.Parts {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// Responses returns the tool results in c, in order.
func (c Content) Responses() []FunctionResponse {
	var responses []FunctionResponse
	for _, p := range c.Parts {
		if p.Response != nil {
			responses = append(responses, *p.Response)
		}
	}
	return responses
}

// callJSON is the recorded form of a FunctionCall. Arguments that are invalid JSON are kept as text
// under a separate key.
type callJSON struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args,omitempty"`
	RawArgs *string         `json:"rawArgs,omitempty"`
}

// MarshalJSON encodes valid JSON arguments as JSON, and others as a text under rawArgs.
func (c FunctionCall) MarshalJSON() ([]byte, error) {
	out := callJSON{ID: c.ID, Name: c.Name}
	switch {
	case len(c.Args) == 0:
	case json.Valid(c.Args):
		out.Args = c.Args
	default:
		raw := string(c.Args)
		out.RawArgs = &raw
	}
	return json.Marshal(out)
}

// UnmarshalJSON decodes the form of MarshalJSON.
func (c *FunctionCall) UnmarshalJSON(data []byte) error {
	var in callJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*c = FunctionCall{ID: in.ID, Name: in.Name, Args: in.Args}
	if in.RawArgs != nil {
		c.Args = json.RawMessage(*in.RawArgs)
	}
	return nil
}
