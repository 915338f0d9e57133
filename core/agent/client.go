package agent

import (
	"context"
	"iter"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// Client is a conversation with a model (AR-30; the rows' model client). Its
// methods are safe for concurrent use; of Run, SendStream, Compress, ResetChat
// and SetHistory one works at a time, and the next waits for it under its ctx.
type Client struct {
	o Options
}

// New returns a client. The error is of code invalid_config.
func New(o Options) (*Client, error) { return &Client{o: o}, nil }

// Initialize finds the Generator of the model in force. It is optional: the
// first prompt does it. The error is that of Options.Source.
func (c *Client) Initialize(ctx context.Context) error { return nil }

// Initialized reports whether a Generator has been found.
func (c *Client) Initialized() bool { return false }

// Run works on a prompt until the model answers without calling a tool, or
// something ends it: request, calls, their answers, next request. The last event
// is of a type that Ends. Leaving the loop early cancels what runs; the history
// is valid afterwards, with an answer to each call.
func (c *Client) Run(ctx context.Context, prompt ...model.Part) iter.Seq[Event] { return nil }

// SendStream makes one request with these parts as the user's turn and ends with
// its answer; its calls are the caller's to run, with ProcessTurn. A call that
// is not answered until the next request is answered as cancelled.
func (c *Client) SendStream(ctx context.Context, parts ...model.Part) iter.Seq[Event] { return nil }

// ProcessTurn runs calls through the scheduler and returns the parts that answer
// them, in their order, for SendStream.
func (c *Client) ProcessTurn(ctx context.Context, calls []model.FunctionCall) ([]model.Part, []scheduler.Response) {
	return nil, nil
}

// SetTools puts another source of declarations in the place of Options.Tools,
// from the next request on.
func (c *Client) SetTools(tools func() []model.Tool) {}

// ResetChat empties the history (CM-11).
func (c *Client) ResetChat(ctx context.Context) error { return nil }

// Compress has the Compactor shorten the history; force tries even where it is
// short, or where it did not help before.
func (c *Client) Compress(ctx context.Context, force bool) (Compaction, error) {
	return Compaction{}, nil
}

// History returns the turns so far; they must not be changed.
func (c *Client) History() []model.Content { return nil }

// SetHistory puts a history in the place of this one, mended where it is not
// valid: roles alternate, each call has its one answer, empty turns are gone.
func (c *Client) SetHistory(ctx context.Context, history []model.Content) error { return nil }

// Usage returns the tokens of all requests so far.
func (c *Client) Usage() model.Usage { return model.Usage{} }
