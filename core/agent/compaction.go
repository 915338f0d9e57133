package agent

import (
	"cmp"
	"context"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// Compress shortens the history with the Compactor; force tries even if the history is short or the previous attempt
// failed. It does nothing while calls are unanswered. The error is the Compactor's, or has code cancelled; the history
// is then unchanged.
func (c *Client) Compress(ctx context.Context, force bool) (Compaction, error) {
	if err := c.acquire(ctx); err != nil {
		return Compaction{}, err
	}
	defer c.release()
	g, name, err := c.find(ctx)
	if err != nil {
		return Compaction{}, err
	}
	if !force && !c.needsCompaction(nil, c.tokenLimit(g, name)) {
		return Compaction{Status: CompactionNoop}, nil
	}
	return c.compact(ctx, g, name, force, true)
}

// length estimates the tokens of a request that adds parts to the history, from the known length of its start and the
// rest.
func (c *Client) length(parts []model.Part) int {
	known, fresh := c.tokens, c.history
	if known > 0 {
		fresh = fresh[c.covered:]
	}
	return known + model.EstimateTokens(&model.Request{Contents: fresh}) +
		model.EstimateTokens(&model.Request{Contents: []model.Content{{Parts: parts}}})
}

// needsCompaction reports whether the history must be compacted before a request that adds parts.
func (c *Client) needsCompaction(parts []model.Part, limit int) bool {
	return c.compactsItself() && c.compactable && float64(c.length(parts)) >= c.compactAt()*float64(limit)
}

func (c *Client) compactAt() float64 { return cmp.Or(c.o.Limits.CompactAt, defaultCompactAt) }

// compactsItself reports whether automatic compaction is enabled.
func (c *Client) compactsItself() bool {
	return c.o.Compactor != nil && c.compactAt() > 0 && c.compactAt() <= 1
}

// compact shortens the history, which must have no open call.
func (c *Client) compact(ctx context.Context, g model.Generator, name string, force, requested bool) (Compaction, error) {
	if c.o.Compactor == nil || len(c.history) == 0 || len(openCalls(c.history)) > 0 {
		return Compaction{Status: CompactionNoop}, nil
	}
	if force {
		c.compactable = true
	}
	inner, end := c.observeCompaction(ctx, force)
	var result Compaction
	var err error
	defer func() { end(compacted{result, err}) }()
	result, err = c.askCompactor(inner, CompactRequest{
		History: slices.Clip(c.history), Generator: g, Model: bareName(name),
		Tokens: c.length(nil), Limit: c.tokenLimit(g, name), Force: force, Requested: requested,
	})
	c.spend(result.Usage)
	switch {
	case err != nil:
		return Compaction{Usage: result.Usage}, err
	case result.Status.Changed():
		old := slices.Clip(c.history)
		c.setHistory(RepairHistory(result.History))
		parts := c.restate(ctx, old)
		result.After += model.EstimateTokens(&model.Request{Contents: []model.Content{{Parts: parts}}})
		result.History = withState(c.history, parts)
		c.replace(ctx, result.History)
	case result.Status != CompactionNoop:
		c.compactable = false
	}
	return result, nil
}

// askCompactor calls the Compactor, and rejects an invalid history.
func (c *Client) askCompactor(ctx context.Context, r CompactRequest) (result Compaction, err error) {
	err = c.guard("the compaction of the history", func() error {
		result, err = c.o.Compactor.Compact(ctx, r)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			err = fault.Wrap(fault.Cancelled, "agent.compact", "The compaction was cancelled.", "", err)
		}
		return result, err
	}
	if result.Status.Changed() && len(RepairHistory(result.History)) == 0 {
		result.Status, result.History = CompactionEmpty, nil
	}
	return result, nil
}

// restate returns the state of files in use for the new history, which is already in force.
func (c *Client) restate(ctx context.Context, old []model.Content) []model.Part {
	if c.o.Restate == nil {
		return nil
	}
	var parts []model.Part
	err := c.guard("the restating of files", func() (err error) {
		parts, err = c.o.Restate(ctx, old)
		return err
	})
	if err != nil {
		c.warn(fault.Wrap(fault.AgentFailed, "agent.restate", "The state of files in use was not restated after compaction: "+
			asFault("its reading", err).Message, "Files have to be read again.", err))
	}
	return userParts(parts)
}

// withState returns a history with the state of files at the end of its first turn.
func withState(history []model.Content, parts []model.Part) []model.Content {
	if len(parts) == 0 {
		return history
	}
	history = slices.Clone(history)
	history[0].Parts = slices.Concat(history[0].Parts, parts)
	return history
}
