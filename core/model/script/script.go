// Package script has a model whose turns come from a file, for demos and tests
// without a network. The file holds the model's turns only: every hash in them
// is copied, when it is played, from what the tools answered. docs/scripts.md
// describes it.
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

// Provider is the name under which this package makes errors.
const Provider = "script"

// Script is what a model will say. It is not changed by playing it.
type Script struct {
	Name  string // of the file, for errors
	Turns []Turn
}

// Turn is one answer, or one failure. A request takes the first turn of the
// file that has not been played as often as Repeat says and whose When holds.
type Turn struct {
	Line int `json:"-"` // of the file, 1-based; 0: it is from no file

	Title string          `json:"title,omitempty"` // for people
	Note  json.RawMessage `json:"note,omitempty"`  // for whoever plays the script; any JSON

	When   *Condition `json:"when,omitempty"`   // which requests the turn answers; nil: all
	Expect *Condition `json:"expect,omitempty"` // what must hold once it is taken, else the request fails; nil: nothing

	Thought Text               `json:"thought,omitzero"`
	Text    Text               `json:"text,omitzero"`
	Calls   []Call             `json:"calls,omitempty"`
	Empty   bool               `json:"empty,omitempty"`  // the turn says nothing, on purpose
	Finish  model.FinishReason `json:"finish,omitempty"` // "": stop
	Usage   *model.Usage       `json:"usage,omitempty"`  // nil: estimated

	Fail   *Failure `json:"fail,omitempty"`
	Repeat Repeat   `json:"repeat,omitzero"` // how often the turn is played; 0: once
}

// Text is what a model says or thinks: Whole, streamed in pieces of
// [PieceRunes], or the Pieces as they are. In the file it is a text, or a list
// of pieces. Placeholders in it are filled in, except those across two pieces.
type Text struct {
	Whole  string
	Pieces []string
}

// PieceRunes is how many characters of a text stand in one piece of the stream.
const PieceRunes = 32

// Call is a call of a tool: with Args, whose texts may hold placeholders, or
// with RawArgs, which are sent as they are and may be no JSON.
type Call struct {
	ID      string          `json:"id,omitempty"` // "": one that no other call of the Generator or the conversation has
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args,omitempty"` // a JSON object; nil: {}
	RawArgs *string         `json:"rawArgs,omitempty"`
}

// Failure ends an answer with an error: before its first piece, or after some
// of it, as a connection does that breaks.
type Failure struct {
	Kind         model.ErrorKind `json:"kind"`
	Status       int             `json:"status,omitempty"`
	Code         string          `json:"code,omitempty"`
	Message      string          `json:"message,omitempty"`
	RetryAfterMS int             `json:"retryAfterMs,omitempty"`
	// AfterPieces is how many pieces of the stream come first: pieces of thought
	// and text, then calls. AfterBytes counts bytes of those instead; a call that
	// would be cut does not come at all. nil: none.
	AfterPieces *int `json:"afterPieces,omitempty"`
	AfterBytes  *int `json:"afterBytes,omitempty"`
}

// Repeat is how often a turn is played.
type Repeat int

// Forever is the Repeat of a model that never stops; "forever" in the file.
const Forever Repeat = -1

// Load reads a script from a file. The error is of code invalid_config and names
// the file and the line.
func Load(file string) (*Script, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fault.Wrap(fault.InvalidConfig, "script.load", "The script "+file+" cannot be read.",
			"Give the path of a script: --model script:FILE.", err)
	}
	return Parse(file, data)
}

// UnmarshalJSON reads a text or a list of texts.
func (t *Text) UnmarshalJSON(data []byte) error {
	*t = Text{}
	if data[0] == '[' {
		return json.Unmarshal(data, &t.Pieces)
	}
	return json.Unmarshal(data, &t.Whole)
}

// MarshalJSON writes what UnmarshalJSON reads.
func (t Text) MarshalJSON() ([]byte, error) {
	if t.Pieces != nil {
		return json.Marshal(t.Pieces)
	}
	return json.Marshal(t.Whole)
}

// IsZero reports whether nothing is said.
func (t Text) IsZero() bool { return t.Whole == "" && t.Pieces == nil }

// UnmarshalJSON reads a number from 1 on, or "forever".
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

// MarshalJSON writes what UnmarshalJSON reads.
func (r Repeat) MarshalJSON() ([]byte, error) {
	if r < 0 {
		return []byte(`"forever"`), nil
	}
	return json.Marshal(max(1, int(r)))
}

// plays is how often a turn is played; negative: for ever.
func (r Repeat) plays() int {
	if r == 0 {
		return 1
	}
	return int(r)
}

// error returns what the provider of a real model would.
func (f *Failure) error() *model.Error {
	message := cmp.Or(f.Message, "the script says so")
	return &model.Error{
		Provider: Provider, Kind: f.Kind, Status: f.Status, Code: f.Code, Message: message,
		RetryAfter: time.Duration(f.RetryAfterMS) * time.Millisecond,
	}
}
