// Package model is a conversation with a language model in words that belong to
// no provider, and what fettle asks of a provider: a Generator.
package model

import "encoding/json"

// Role says who speaks.
type Role string

// The roles of a [Content]. What tools answer is the user's turn. The system
// prompt is no content, see [Request.System].
const (
	RoleUser  Role = "user"
	RoleModel Role = "model"
)

// Content is one turn of a conversation: its parts in order. Its JSON form is
// what sessions are recorded in; keys are added to it and never renamed.
type Content struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is one piece of a turn: exactly one of Text, Data, Call and Response,
// or, with Thought, what a model thought before it answered. A part with
// nothing but a Signature is a thought that its provider keeps to itself.
type Part struct {
	Text     string            `json:"text,omitempty"`
	Data     *Data             `json:"data,omitempty"`
	Call     *FunctionCall     `json:"functionCall,omitempty"`
	Response *FunctionResponse `json:"functionResponse,omitempty"`

	// Thought marks the text as the model's thinking, which is no part of its
	// answer and is not shown as one.
	Thought bool `json:"thought,omitempty"`
	// Signature is a provider's proof that it produced this part. It goes back
	// unchanged with the part, to the same provider alone; see Provider.
	Signature []byte `json:"signature,omitempty"`
	// Provider is who made Signature, as "gemini"; "" where there is none.
	Provider string `json:"provider,omitempty"`
}

// Data is a picture, a document or other bytes.
type Data struct {
	MIMEType string `json:"mimeType"`
	Bytes    []byte `json:"data"`
	Name     string `json:"name,omitempty"` // a file's name, for people; may be empty
}

// FunctionCall is a call of a tool that a model asks for.
type FunctionCall struct {
	// ID tells this call from others of the conversation. A provider that gives
	// none gets one from its Generator, so that it is never empty.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Args is what the model wrote, byte for byte, so that numbers keep all their
	// digits. It is empty for no arguments, and may be no JSON at all.
	Args json.RawMessage `json:"-"`
}

// FunctionResponse is the answer to the call of the same ID and name.
type FunctionResponse struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Response is a JSON object: {"output": …} or {"error": …, "output": …}, with
	// "context" and "notice" where there is such; see
	// scheduler.Response.FunctionResponse.
	Response json.RawMessage `json:"response,omitempty"`
	Data     []Data          `json:"data,omitempty"` // what came with it and is no text
}

// TextPart returns a part of text.
func TextPart(text string) Part { return Part{Text: text} }

// UserText returns a turn of the user's that is text alone.
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

// Responses returns the answers to calls in c, in order.
func (c Content) Responses() []FunctionResponse {
	var responses []FunctionResponse
	for _, p := range c.Parts {
		if p.Response != nil {
			responses = append(responses, *p.Response)
		}
	}
	return responses
}

// callJSON is a FunctionCall on record. Arguments that are no JSON are kept as
// text beside the place where they would stand.
type callJSON struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args,omitempty"`
	RawArgs *string         `json:"rawArgs,omitempty"`
}

// MarshalJSON writes arguments that are JSON as such, and others as a text
// under rawArgs.
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

// UnmarshalJSON reads what MarshalJSON writes.
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
