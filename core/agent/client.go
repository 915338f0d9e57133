package agent

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// Client is a conversation with a model. Its methods are safe for concurrent use. Initialize, Run, SendStream, Compress,
// ResetChat and SetHistory run one at a time; the next one waits until its ctx ends. They must therefore not be called
// from a function of [Options], nor from the loop over Run's events before the last event. A Client starts no goroutine
// that outlives such a call.
type Client struct {
	o    Options
	turn chan struct{} // capacity 1: held while a method works on the conversation

	// Guarded by turn.
	requests    int          // number of requests so far
	covered     int          // turns of the history whose length in tokens is known
	tokens      int          // length of these turns and the preceding parts, reported by the provider or estimated; 0: unknown
	compactable bool         // no automatic compaction has failed since the last forced one
	pending     []model.Part // reminders that were not delivered to the model
	recording   bool
	unrecorded  bool    // the recorder does not have the history, and must receive all of it
	warnings    []Event // to be emitted with the next event

	mu        sync.Mutex // guards the fields below; written under turn, except for tools
	generator model.Generator
	requested string // the name that found generator
	name      string // generator's name, if known
	tools     func() []model.Tool
	history   []model.Content         // its elements are never modified
	refused   map[string]*fault.Error // errors of calls of the last answer that must not run, by ID
	usage     model.Usage
}

// New returns a client. The error has code invalid_config.
func New(o Options) (*Client, error) {
	if o.Source == nil || o.Model == nil {
		return nil, fault.New(fault.InvalidConfig, "agent.new", "A client requires a source of models and a model name.",
			"Set Options.Source and Options.Model.")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Purpose = cmp.Or(o.Purpose, model.PurposeMain)
	c := &Client{
		o:           o,
		turn:        make(chan struct{}, 1),
		compactable: true,
		recording:   o.Recorder != nil,
		unrecorded:  ValidHistory(o.History) != nil,
		tools:       o.Tools,
		history:     slices.Clip(RepairHistory(o.History)),
	}
	c.o.History = nil
	return c, nil
}

// acquire waits until the conversation is free.
func (c *Client) acquire(ctx context.Context) error {
	if ctx.Err() == nil {
		select {
		case c.turn <- struct{}{}:
			return nil
		case <-ctx.Done():
		}
	}
	return fault.Wrap(fault.Cancelled, "agent.acquire", "Waiting for the conversation was cancelled.", "", context.Cause(ctx))
}

func (c *Client) release() { <-c.turn }

// Initialize finds the Generator of the current model. It is optional: the first prompt does it. The error is that of
// Options.Source.
func (c *Client) Initialize(ctx context.Context) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	_, _, err := c.find(ctx)
	return err
}

// find returns the current model and its Generator.
func (c *Client) find(ctx context.Context) (g model.Generator, name string, err error) {
	err = c.guard("the choice of the model", func() error {
		name = c.o.Model()
		if c.generator != nil && name == c.requested {
			g = c.generator
			return nil
		}
		g, err = c.o.Source(ctx, name)
		if err == nil && g == nil {
			err = fault.New(fault.InvalidConfig, "agent.find", "There is no model named \""+name+"\".", "Choose another model.")
		}
		return err
	})
	if err != nil {
		return nil, name, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generator, c.requested = g, name
	if known := model.NameOf(g); known != (model.Name{}) {
		name = known.String()
	}
	if name != c.name {
		c.tokens = 0 // another model counts differently
	}
	c.name = name
	return g, name, nil
}

// Limit returns the maximum length of a request in tokens: Options.Limits.Tokens, else the limit of the current model,
// from its Generator or by its name. It calls Options.Model but not Options.Source, so a Generator that no prompt has
// used yet is not consulted.
func (c *Client) Limit() int {
	name := ""
	if c.guard("the choice of the model", func() error {
		name = c.o.Model()
		return nil
	}) != nil {
		name = ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generator != nil && name == c.requested {
		return c.tokenLimit(c.generator, c.name)
	}
	return c.tokenLimit(nil, name)
}

// Initialized reports whether a Generator has been found.
func (c *Client) Initialized() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.generator != nil
}

// SetTools replaces Options.Tools, from the next request on.
func (c *Client) SetTools(tools func() []model.Tool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools = tools
}

// ResetChat empties the history and the state of compaction. The Recorder is notified with the next turn, so that the
// previous session can still be resumed if no new one follows.
func (c *Client) ResetChat(ctx context.Context) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	c.clear()
	return nil
}

func (c *Client) clear() {
	c.setHistory(nil)
	c.refuse(nil)
	c.unrecorded, c.pending, c.compactable = true, nil, true
	if c.o.Cleared != nil {
		_ = c.guard("the callback for a cleared history", func() error { // a panic is logged
			c.o.Cleared()
			return nil
		})
	}
}

// History returns the turns so far; they must not be modified.
func (c *Client) History() []model.Content {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clip(c.history)
}

// SetHistory replaces the history. An invalid history is repaired: roles alternate, each call has exactly one response,
// empty turns are removed; see [RepairHistory]. The Recorder is notified. history must not be modified afterwards.
func (c *Client) SetHistory(ctx context.Context, history []model.Content) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	c.refuse(nil)
	c.compactable = true
	c.replace(ctx, RepairHistory(history))
	return nil
}

// Usage returns the tokens of all requests so far, including those with invalid answers.
func (c *Client) Usage() model.Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.usage
}

// spend adds to the token usage.
func (c *Client) spend(u model.Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.usage = sum(c.usage, u)
}

func sum(a, b model.Usage) model.Usage {
	return model.Usage{
		Input: a.Input + b.Input, Output: a.Output + b.Output, Cached: a.Cached + b.Cached,
		Thoughts: a.Thoughts + b.Thoughts, Tool: a.Tool + b.Tool, Total: total(a) + total(b),
	}
}

func total(u model.Usage) int {
	if u.Total > 0 {
		return u.Total
	}
	return u.Input + u.Output + u.Thoughts + u.Tool
}
