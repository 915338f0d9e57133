// Package compact compacts a conversation: a summary by the model replaces the older part, and the
// newest part is kept unchanged.
package compact

import (
	"context"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// Options configures a [Compactor]. A zero field is its default.
type Options struct {
	Keep float64 // share of the history that is kept unchanged; 0: 0.3
	// AnswerTokens is the number of tokens of the newest tool results that are not cut; 0: 50,000.
	AnswerTokens int
	// Save stores a tool result that is cut and returns its path, which the model receives. nil: it
	// is not stored. A result that cannot be saved is cut nevertheless.
	Save func(ctx context.Context, name string, data []byte) (path string, err error)
}

const (
	defaultKeep         = 0.3
	defaultAnswerTokens = 50_000
)

// Compactor is fettle's [agent.Compactor], for one conversation. It is safe for concurrent use.
type Compactor struct {
	o Options

	mu     sync.Mutex
	failed int // tokens of the conversation after its last unusable summary; 0: there was none
}

var _ agent.Compactor = (*Compactor)(nil)

// New returns a Compactor.
func New(o Options) *Compactor {
	if o.Keep <= 0 || o.Keep >= 1 {
		o.Keep = defaultKeep
	}
	if o.AnswerTokens <= 0 {
		o.AnswerTokens = defaultAnswerTokens
	}
	return &Compactor{o: o}
}

// Compact replaces the older part of a history by a summary that the model writes. The summary
// becomes a marked user turn. The newest part, about the share Keep, is kept byte for byte. It
// begins with a user message or, while a prompt is processed, with a model turn, so that no call is
// separated from its response. The new history is valid and shorter. A summary that is empty,
// blocked by the provider, or not shorter is rejected with status CompactionEmpty or
// CompactionInflated, and the history is kept. Both lengths are measured by [model.EstimateTokens].
//
// An earlier summary is given to the model in full, to be merged into the new one. A part that
// exceeds the model's limit is shortened first: long tool results, then all long texts, then the
// oldest turns. The only request has purpose utility_compressor and no tools. No second request
// verifies the summary: it would cost as much again, since it needs the whole older part. The state
// of files, for which a summary cannot be trusted, is added from the files themselves.
//
// Without Force, an attempt with an unusable summary cuts long tool results in the older part
// instead, with status CompactionTruncated. Later attempts do the same without requesting a summary,
// until the history has grown by a quarter. With Force a summary is always requested.
//
// Errors are those of the Generator, of code cancelled, or of code invalid_stream if the summary
// reached the model's output limit. The history is then kept.
func (c *Compactor) Compact(ctx context.Context, r agent.CompactRequest) (agent.Compaction, error) {
	before := tokens(r.History...)
	result := agent.Compaction{Status: agent.CompactionNoop, Before: before, After: before}
	at := splitAt(r.History, c.o.Keep)
	if at == 0 {
		return result, nil
	}
	if !r.Force && c.recentlyFailed(before) {
		return c.cut(ctx, r.History, at, result)
	}
	older := r.History[:at]
	summary, usage, err := summarize(ctx, r, older)
	result.Usage = usage
	if err != nil {
		if fault.CodeOf(err) == fault.InvalidStream {
			c.setFailed(before)
		}
		return result, err
	}
	if summary == "" {
		result.Status = agent.CompactionEmpty
		return c.refuse(ctx, r, at, result)
	}
	history := replaced(older, r.History[at:], summary)
	if result.After = tokens(history...); result.After >= before {
		result.Status = agent.CompactionInflated
		return c.refuse(ctx, r, at, result)
	}
	c.setFailed(0)
	result.Status, result.History = agent.Compacted, history
	return result, nil
}

// refuse ends an attempt with an unusable summary; result has its status.
func (c *Compactor) refuse(ctx context.Context, r agent.CompactRequest, at int, result agent.Compaction) (agent.Compaction, error) {
	c.setFailed(result.Before)
	if r.Force {
		return result, nil
	}
	cut, err := c.cut(ctx, r.History, at, result)
	if err != nil || !cut.Status.Changed() {
		return result, err
	}
	c.setFailed(cut.After)
	return cut, nil
}

// cut shortens the tool results before turn at.
func (c *Compactor) cut(ctx context.Context, history []model.Content, at int, result agent.Compaction) (agent.Compaction, error) {
	older, some, err := cutAnswers(ctx, history[:at], c.o.AnswerTokens-answerTokens(history[at:]), c.o.Save)
	if err != nil || !some {
		return result, err
	}
	shorter := append(older, history[at:]...)
	after := tokens(shorter...)
	if after >= result.Before {
		return result, nil
	}
	result.Status, result.After, result.History = agent.CompactionTruncated, after, shorter
	return result, nil
}

func (c *Compactor) setFailed(tokens int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = tokens
}

// recentlyFailed reports whether a summary of a conversation of about this many tokens was unusable.
func (c *Compactor) recentlyFailed(tokens int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed > 0 && tokens >= c.failed && tokens < c.failed+c.failed/4
}

// summarize requests a summary; "" is an unusable one.
func summarize(ctx context.Context, r agent.CompactRequest, older []model.Content) (string, model.Usage, error) {
	response, err := r.Generator.Generate(ctx, request(ctx, r, older))
	if err != nil {
		return "", model.Usage{}, model.AsError("model", err).Fault()
	}
	if err := ctx.Err(); err != nil {
		return "", response.Usage, fault.Wrap(fault.Cancelled, "compact", "The compaction was cancelled.", "", err)
	}
	switch response.Finish {
	case model.FinishStop, "":
		return clean(response.Content.Text()), response.Usage, nil
	case model.FinishMaxTokens:
		return "", response.Usage, fault.New(fault.InvalidStream, "compact",
			"The conversation was not compacted: the model's summary reached its output limit.",
			"Raise the limit of output tokens, use another model, or begin a new conversation.").Because(fault.Reason(model.FinishMaxTokens))
	}
	return "", response.Usage, nil
}

// tokens estimates the length of turns.
func tokens(turns ...model.Content) int { return model.EstimateTokens(&model.Request{Contents: turns}) }

// clean returns a model's summary without marks that it may have copied.
func clean(text string) string {
	return strings.TrimSpace(strings.NewReplacer(summaryBegin, "", summaryEnd, "", requestBegin, "", requestEnd, "").Replace(text))
}
