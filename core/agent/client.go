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

// Client is a conversation with a model (AR-30; the rows' model client). Its
// methods are safe for concurrent use; of Initialize, Run, SendStream, Compress,
// ResetChat and SetHistory one works at a time, and the next waits for it under
// its ctx. So none of them is called from a function of [Options], nor from the
// loop over Run's events before its last one. A Client starts no goroutine that
// outlives such a call.
type Client struct {
	o    Options
	turn chan struct{} // holds one while somebody works on the conversation

	// Of whoever works on the conversation.
	requests    int          // made so far
	covered     int          // turns of the history whose length in tokens is known
	tokens      int          // their length with what goes before them, as the provider has told, or estimated; 0: not known
	compactable bool         // an automatic compaction has not failed since somebody last forced one
	owed        []model.Part // reminders that did not reach the model
	recording   bool
	unrecorded  bool    // the recorder does not hold the history and is to be told all of it
	warnings    []Event // to be told with the next event

	mu        sync.Mutex // guards what is below; written by who works on the conversation, but for tools
	generator model.Generator
	asked     string // the name by which generator was found
	name      string // generator's, as far as it tells
	tools     func() []model.Tool
	history   []model.Content         // what is in it is never changed
	refused   map[string]*fault.Error // calls of the last answer that are not to be run, by ID, and why
	usage     model.Usage
}

// New returns a client. The error is of code invalid_config.
func New(o Options) (*Client, error) {
	if o.Source == nil || o.Model == nil {
		return nil, fault.New(fault.InvalidConfig, "agent.new", "A client needs a source of models and the name of one.",
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
		history:     slices.Clip(MendHistory(o.History)),
	}
	c.o.History = nil
	return c, nil
}

// acquire waits until nobody else works on the conversation.
func (c *Client) acquire(ctx context.Context) error {
	if ctx.Err() == nil {
		select {
		case c.turn <- struct{}{}:
			return nil
		case <-ctx.Done():
		}
	}
	return fault.Wrap(fault.Cancelled, "agent.acquire", "The wait for the conversation was cancelled.", "", context.Cause(ctx))
}

func (c *Client) release() { <-c.turn }

// Initialize finds the Generator of the model in force. It is optional: the
// first prompt does it. The error is that of Options.Source.
func (c *Client) Initialize(ctx context.Context) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	_, _, err := c.find(ctx)
	return err
}

// find returns the model in force and its Generator.
func (c *Client) find(ctx context.Context) (g model.Generator, name string, err error) {
	err = c.guard("the choice of the model", func() error {
		name = c.o.Model()
		if c.generator != nil && name == c.asked {
			g = c.generator
			return nil
		}
		g, err = c.o.Source(ctx, name)
		if err == nil && g == nil {
			err = fault.New(fault.InvalidConfig, "agent.find", "There is no model of the name \""+name+"\".", "Choose another model.")
		}
		return err
	})
	if err != nil {
		return nil, name, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generator, c.asked = g, name
	if told := model.NameOf(g); told != (model.Name{}) {
		name = told.String()
	}
	if name != c.name {
		c.tokens = 0 // another model counts otherwise
	}
	c.name = name
	return g, name, nil
}

// Limit returns how many tokens a request may have: Options.Limits.Tokens, else
// what the model in force is known to take, as its Generator tells, or by its
// name. It asks Options.Model and not Options.Source: a Generator that no prompt
// has needed yet is not asked.
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
	if c.generator != nil && name == c.asked {
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

// SetTools puts another source of declarations in the place of Options.Tools,
// from the next request on.
func (c *Client) SetTools(tools func() []model.Tool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools = tools
}

// ResetChat empties the history (CM-11), and forgets that compaction did not
// help. The Recorder is told with the next turn, so that a session which ends
// here, or is followed by a new one, can still be resumed.
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
	c.unrecorded, c.owed, c.compactable = true, nil, true
	if c.o.Cleared != nil {
		_ = c.guard("what follows the emptying of the history", func() error { // a panic is logged
			c.o.Cleared()
			return nil
		})
	}
}

// History returns the turns so far; they must not be changed.
func (c *Client) History() []model.Content {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clip(c.history)
}

// SetHistory puts a history in the place of this one, mended where it is not
// valid: roles alternate, each call has its one answer, empty turns are gone;
// see [MendHistory]. The Recorder is told. history must not be changed any more.
func (c *Client) SetHistory(ctx context.Context, history []model.Content) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	c.refuse(nil)
	c.compactable = true
	c.replace(ctx, MendHistory(history))
	return nil
}

// Usage returns the tokens of all requests so far, those included whose answers
// could not be used.
func (c *Client) Usage() model.Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.usage
}

// spend adds to the tokens.
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
