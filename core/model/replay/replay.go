// Package replay records the responses of a model and plays them back, for tests without a network.
// A recording contains the responses, and only enough of the requests to tell them apart.
package replay

import (
	"slices"
	"time"

	"github.com/fettle-dev/fettle/core/model"
)

// provider is the provider name in the errors of this package.
const provider = "replay"

// version is the format version in the first line of a recording.
const version = 1

// header is the first line.
type header struct {
	Recording int `json:"fettleRecording"`
}

// exchange is any later line: a request and its result. It has no times, so that the same
// conversation makes the same recording.
type exchange struct {
	Number  int     `json:"n"` // in the order in which requests began, 1-based
	Request asked   `json:"request"`
	Chunks  []chunk `json:"chunks,omitempty"`
	Tokens  *int    `json:"tokens,omitempty"` // the result of CountTokens
	Error   *failed `json:"error,omitempty"`  // the error; nil: success
	Left    bool    `json:"left,omitempty"`   // the caller stopped before the end
}

// chunk is the recorded form of a model.Chunk.
type chunk struct {
	ID        string             `json:"id,omitempty"`
	Model     string             `json:"model,omitempty"`
	Parts     []part             `json:"parts,omitempty"`
	Finish    model.FinishReason `json:"finish,omitempty"`
	Usage     *model.Usage       `json:"usage,omitempty"`
	Citations []string           `json:"citations,omitempty"`
}

// part is the recorded form of a model.Part in a response.
type part struct {
	Text      string      `json:"text,omitempty"`
	Thought   bool        `json:"thought,omitempty"`
	Call      *call       `json:"call,omitempty"`
	Data      *model.Data `json:"data,omitempty"`
	Signature []byte      `json:"signature,omitempty"`
	Provider  string      `json:"provider,omitempty"`
}

// call is the recorded form of a model.FunctionCall; Args is a text, to keep every byte.
type call struct {
	ID   string  `json:"id"`
	Name string  `json:"name"`
	Args *string `json:"args,omitempty"` // nil: none
}

// failed is the recorded form of a model.Error.
type failed struct {
	Provider     string          `json:"provider"`
	Kind         model.ErrorKind `json:"kind"`
	Status       int             `json:"status,omitempty"`
	Code         string          `json:"code,omitempty"`
	Message      string          `json:"message,omitempty"`
	RetryAfterMS int64           `json:"retryAfterMs,omitempty"`
}

// toChunk retains nothing that the receiver of c may change.
func toChunk(c *model.Chunk) chunk {
	out := chunk{ID: c.ID, Model: c.Model, Finish: c.Finish, Citations: slices.Clone(c.Citations)}
	if c.Usage != nil {
		usage := *c.Usage
		out.Usage = &usage
	}
	for _, p := range c.Parts {
		to := part{Text: p.Text, Thought: p.Thought, Data: p.Data, Signature: p.Signature, Provider: p.Provider}
		if p.Call != nil {
			to.Call = &call{ID: p.Call.ID, Name: p.Call.Name}
			if p.Call.Args != nil {
				args := string(p.Call.Args)
				to.Call.Args = &args
			}
		}
		out.Parts = append(out.Parts, to)
	}
	return out
}

func (c *chunk) model() *model.Chunk {
	out := &model.Chunk{ID: c.ID, Model: c.Model, Finish: c.Finish, Usage: c.Usage, Citations: c.Citations}
	for _, p := range c.Parts {
		to := model.Part{Text: p.Text, Thought: p.Thought, Data: p.Data, Signature: p.Signature, Provider: p.Provider}
		if p.Call != nil {
			to.Call = &model.FunctionCall{ID: p.Call.ID, Name: p.Call.Name}
			if p.Call.Args != nil {
				to.Call.Args = []byte(*p.Call.Args)
			}
		}
		out.Parts = append(out.Parts, to)
	}
	return out
}

func toFailed(err error) *failed {
	e := model.AsError(provider, err)
	return &failed{
		Provider: e.Provider, Kind: e.Kind, Status: e.Status, Code: e.Code, Message: e.Message,
		RetryAfterMS: e.RetryAfter.Milliseconds(),
	}
}

func (f *failed) model() *model.Error {
	return &model.Error{
		Provider: f.Provider, Kind: f.Kind, Status: f.Status, Code: f.Code, Message: f.Message,
		RetryAfter: time.Duration(f.RetryAfterMS) * time.Millisecond,
	}
}
