// Package script provides a model whose turns come from a file, for demos and tests without a
// network. The file contains only the model's turns. Each hash in them is copied from tool results
// when it is played. docs/scripts.md describes the format.
package script

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// Provider is the provider name in the errors of this package.
const Provider = "script"

// Script is a list of model turns. Playing it does not change it.
type Script struct {
	Name  string // file name, for errors
	Turns []Turn
}

// Turn is one response, or one failure. A request takes the first turn of the file whose Repeat is
// not used up and whose When matches.
type Turn struct {
	Line int `json:"-"` // line in the file, 1-based; 0: not from a file

	Title string          `json:"title,omitempty"` // description for readers
	Note  json.RawMessage `json:"note,omitempty"`  // data for the caller that plays the script; any JSON

	When   *Condition `json:"when,omitempty"`   // condition on the requests that the turn answers; nil: none
	Expect *Condition `json:"expect,omitempty"` // condition that must match once the turn is claimed, else the request fails; nil: none

	Thought Text               `json:"thought,omitzero"`
	Text    Text               `json:"text,omitzero"`
	Calls   []Call             `json:"calls,omitempty"`
	Empty   bool               `json:"empty,omitempty"`  // the turn has no content, on purpose
	Finish  model.FinishReason `json:"finish,omitempty"` // "": stop
	Usage   *model.Usage       `json:"usage,omitempty"`  // nil: estimated

	Fail   *Failure `json:"fail,omitempty"`
	Repeat Repeat   `json:"repeat,omitzero"` // how often the turn is played; 0: once
}

// Text is text or a thought of a model: either Whole, streamed in pieces of [PieceRunes], or Pieces
// as they are. In the file it is a text or a list of pieces. Placeholders in it are filled, except
// those that span two pieces.
type Text struct {
	Whole  string
	Pieces []string
}

// PieceRunes is the number of characters in one streamed piece of a text.
const PieceRunes = 32

// Call is a tool call. The texts in Args may contain placeholders; RawArgs are sent unchanged and
// may be invalid JSON.
type Call struct {
	ID      string          `json:"id,omitempty"` // "": one that is unique in the Generator and the conversation
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args,omitempty"` // a JSON object; nil: {}
	RawArgs *string         `json:"rawArgs,omitempty"`
}

// Failure ends a response with an error: before its first chunk, or after some of it, like a broken
// connection.
type Failure struct {
	Kind         model.ErrorKind `json:"kind"`
	Status       int             `json:"status,omitempty"`
	Code         string          `json:"code,omitempty"`
	Message      string          `json:"message,omitempty"`
	RetryAfterMS int             `json:"retryAfterMs,omitempty"`
	// AfterPieces is the number of streamed pieces before the failure: pieces of thought and text,
	// then calls. AfterBytes counts bytes of those instead; a call that would be cut is omitted.
	// nil: none.
	AfterPieces *int `json:"afterPieces,omitempty"`
	AfterBytes  *int `json:"afterBytes,omitempty"`
}

// Repeat is how often a turn is played.
type Repeat int

// Forever is the Repeat of a model that never stops; "forever" in the file.
const Forever Repeat = -1

// Load reads a script from a file. The error is of code invalid_config and names the file and the
// line.
func Load(file string) (*Script, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fault.Wrap(fault.InvalidConfig, "script.load", "The script "+file+" cannot be read.",
			"Give the path of a script: --model script:FILE.", err)
	}
	return Parse(file, data)
}

// UnmarshalJSON decodes a text or a list of texts.
func (t *Text) UnmarshalJSON(data []byte) error {
	*t = Text{}
	if data[0] == '[' {
		return json.Unmarshal(data, &t.Pieces)
	}
	return json.Unmarshal(data, &t.Whole)
}

// MarshalJSON encodes the form that UnmarshalJSON decodes.
func (t Text) MarshalJSON() ([]byte, error) {
	if t.Pieces != nil {
		return json.Marshal(t.Pieces)
	}
	return json.Marshal(t.Whole)
}

// IsZero reports whether t is empty.
func (t Text) IsZero() bool { return t.Whole == "" && t.Pieces == nil }

// UnmarshalJSON decodes a number from 1 on, or "forever".
func (r *Repeat) UnmarshalJSON(data []byte) error {
	if string(data) == `"forever"` {
		*r = Forever
		return nil
	}
	var n int
	if json.Unmarshal(data, &n) != nil || n < 1 {
		return fmt.Errorf(`repeat is %s, and must be a number from 1 on or "forever"`, data)
	}
	*r = Repeat(n)
	return nil
}

// MarshalJSON encodes the form that UnmarshalJSON decodes.
func (r Repeat) MarshalJSON() ([]byte, error) {
	if r < 0 {
		return []byte(`"forever"`), nil
	}
	return json.Marshal(max(1, int(r)))
}

// plays returns how often a turn is played; negative: forever.
func (r Repeat) plays() int {
	if r == 0 {
		return 1
	}
	return int(r)
}

// error returns the error that the provider of a real model would return.
func (f *Failure) error() *model.Error {
	message := cmp.Or(f.Message, "the script requests this failure")
	return &model.Error{
		Provider: Provider, Kind: f.Kind, Status: f.Status, Code: f.Code, Message: message,
		RetryAfter: time.Duration(f.RetryAfterMS) * time.Millisecond,
	}
}
