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

// Script is a list of model turns, read by [Load] or [Parse]. Playing it does not change it.
type Script struct {
	name  string // file name, for errors
	turns []turn
}

// Turn describes a turn to [Options].OnTurn and in [Generator.Left].
type Turn struct {
	Title string          // description for readers; may be empty
	Note  json.RawMessage // data for the caller that plays the script; any JSON; may be nil
}

// turn is one response, or one failure. A request takes the first turn of the file whose Repeat is
// not used up and whose When matches.
type turn struct {
	Line int `json:"-"` // line in the file, 1-based

	Title string          `json:"title"` // description for readers
	Note  json.RawMessage `json:"note"`  // data for the caller that plays the script; any JSON

	When   *condition `json:"when"`   // condition on the requests that the turn answers; nil: none
	Expect *condition `json:"expect"` // condition that must match once the turn is claimed, else the request fails; nil: none

	Thought text               `json:"thought"`
	Text    text               `json:"text"`
	Calls   []call             `json:"calls"`
	Empty   bool               `json:"empty"`  // the turn has no content, on purpose
	Finish  model.FinishReason `json:"finish"` // "": stop
	Usage   *model.Usage       `json:"usage"`  // nil: estimated

	Fail   *failure `json:"fail"`
	Repeat repeat   `json:"repeat"` // how often the turn is played; 0: once
}

// text is text or a thought of a model: either Whole, streamed in pieces of [pieceRunes], or Pieces
// as they are. In the file it is a text or a list of pieces. Placeholders in it are filled, except
// those that span two pieces.
type text struct {
	Whole  string
	Pieces []string
}

// pieceRunes is the number of characters in one streamed piece of a text.
const pieceRunes = 32

// call is a tool call. The texts in Args may contain placeholders; RawArgs are sent unchanged and
// may be invalid JSON.
type call struct {
	ID      string          `json:"id"` // "": one that is unique in the Generator and the conversation
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"` // a JSON object; nil: {}
	RawArgs *string         `json:"rawArgs"`
}

// failure ends a response with an error: before its first chunk, or after some of it, like a broken
// connection.
type failure struct {
	Kind         model.ErrorKind `json:"kind"`
	Status       int             `json:"status"`
	Code         string          `json:"code"`
	Message      string          `json:"message"`
	RetryAfterMS int             `json:"retryAfterMs"`
	// AfterPieces is the number of streamed pieces before the failure: pieces of thought and text,
	// then calls. AfterBytes counts bytes of those instead; a call that would be cut is omitted.
	// nil: none.
	AfterPieces *int `json:"afterPieces"`
	AfterBytes  *int `json:"afterBytes"`
}

// repeat is how often a turn is played.
type repeat int

// forever is the repeat of a model that never stops; "forever" in the file.
const forever repeat = -1

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
func (t *text) UnmarshalJSON(data []byte) error {
	*t = text{}
	if data[0] == '[' {
		return json.Unmarshal(data, &t.Pieces)
	}
	return json.Unmarshal(data, &t.Whole)
}

// empty reports whether t has no text.
func (t text) empty() bool { return t.Whole == "" && t.Pieces == nil }

// UnmarshalJSON decodes a number from 1 on, or "forever".
func (r *repeat) UnmarshalJSON(data []byte) error {
	if string(data) == `"forever"` {
		*r = forever
		return nil
	}
	var n int
	if json.Unmarshal(data, &n) != nil || n < 1 {
		return fmt.Errorf(`repeat is %s, and must be a number from 1 on or "forever"`, data)
	}
	*r = repeat(n)
	return nil
}

// plays returns how often a turn is played; negative: forever.
func (r repeat) plays() int {
	if r == 0 {
		return 1
	}
	return int(r)
}

// error returns the error that the provider of a real model would return.
func (f *failure) error() *model.Error {
	message := cmp.Or(f.Message, "the script requests this failure")
	return &model.Error{
		Provider: Provider, Kind: f.Kind, Status: f.Status, Code: f.Code, Message: message,
		RetryAfter: time.Duration(f.RetryAfterMS) * time.Millisecond,
	}
}
