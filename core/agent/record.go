package agent

import (
	"context"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// Only the functions of this file change the history; each notifies the recorder. Past events are recorded even if ctx
// has ended.

// append adds a turn.
func (c *Client) append(ctx context.Context, e Entry) {
	e.Time = c.o.Now()
	c.record(ctx, func(ctx context.Context) error { return c.o.Recorder.Append(ctx, e) })
	c.setHistory(append(c.history, e.Content))
}

// rewind keeps only the first keep turns.
func (c *Client) rewind(ctx context.Context, keep int) {
	if keep == len(c.history) {
		return
	}
	c.record(ctx, func(ctx context.Context) error { return c.o.Recorder.Rewind(ctx, keep) })
	c.setHistory(slices.Clip(c.history[:keep])) // the next turn must not overwrite a shared one
}

// replace replaces the history.
func (c *Client) replace(ctx context.Context, history []model.Content) {
	c.unrecorded = false
	c.record(ctx, func(ctx context.Context) error { return c.o.Recorder.Replace(ctx, history) })
	c.setHistory(slices.Clip(history))
	c.tokens = 0
}

func (c *Client) setHistory(history []model.Content) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = history
	if c.covered > len(history) {
		c.tokens = 0
	}
}

// record notifies the recorder, unless recording has ended. Its first error ends the recording.
func (c *Client) record(ctx context.Context, write func(ctx context.Context) error) {
	if !c.recording {
		return
	}
	err := c.guard("the recording of the session", func() error {
		ctx = context.WithoutCancel(ctx)
		if c.unrecorded {
			if err := c.o.Recorder.Replace(ctx, c.history); err != nil {
				return err
			}
			c.unrecorded = false
		}
		return write(ctx)
	})
	if err == nil {
		return
	}
	c.recording = false
	c.warn(fault.Wrap(fault.SessionUnreadable, "agent.record",
		"The session is no longer recorded: "+asFault("its recording", err).Line(),
		"The conversation continues, but later turns cannot be resumed.", err))
}

// warn keeps a warning for the next event.
func (c *Client) warn(err *fault.Error) {
	c.warnings = append(c.warnings, Event{Type: EventWarning, Text: err.Line(), Err: err})
	if c.o.Logger != nil {
		c.o.Logger.Warn(err.Line(), "code", string(err.Code))
	}
}

// addition is the change of addUserTurn to the history, for undoUserTurn.
type addition struct {
	keep int            // number of unchanged turns
	back *model.Content // the turn that it replaced, or the part of its own that stays; nil: none
}

// InterruptedText replaces a missing answer in a history, between two user turns. The model did not write it.
const InterruptedText = "(This answer was interrupted.)"

// addUserTurn adds a user turn and keeps the history valid. It answers open calls, inserts a placeholder for a missing
// answer to responses, and merges adjacent user texts into one turn.
func (c *Client) addUserTurn(ctx context.Context, parts []model.Part, responses []scheduler.Response) addition {
	n := len(c.history)
	done := addition{keep: n}
	if calls := openCalls(c.history); len(calls) > 0 {
		parts = answers(calls, parts)
		done.back = &model.Content{Role: model.RoleUser, Parts: parts[:len(calls):len(calls)]}
	} else if n > 0 && c.history[n-1].Role == model.RoleUser {
		last := c.history[n-1]
		if len(last.Responses()) > 0 {
			c.append(ctx, Entry{Content: model.Content{Role: model.RoleModel, Parts: []model.Part{model.TextPart(InterruptedText)}}})
		} else {
			done = addition{keep: n - 1, back: &last}
			parts = slices.Concat(last.Parts, parts)
			c.rewind(ctx, n-1)
		}
	}
	c.append(ctx, Entry{Content: model.Content{Role: model.RoleUser, Parts: parts}, Responses: responses})
	return done
}

// withdraw reports that parts, with the files shown in them, are not in the history.
func (c *Client) withdraw(parts []model.Part) {
	parts = userParts(parts) // responses stay
	if c.o.Withdrawn == nil || len(parts) == 0 {
		return
	}
	_ = c.guard("the callback for a withdrawn prompt", func() error { // a panic is logged
		c.o.Withdrawn(parts)
		return nil
	})
}

// undoUserTurn undoes addUserTurn, except for responses.
func (c *Client) undoUserTurn(ctx context.Context, s addition) {
	c.rewind(ctx, s.keep)
	if s.back != nil {
		c.append(ctx, Entry{Content: *s.back})
	}
}
