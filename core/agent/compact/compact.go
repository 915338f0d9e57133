// Package compact shortens a conversation: its older part gives way to a summary
// that the model writes, and the newest part stays as it is.
package compact

import (
	"context"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// Options configure a [Compactor]. A zero field is its default.
type Options struct {
	Keep float64 // the share of the history that stays as it is; 0: 0.3
	// AnswerTokens is how many tokens of tools' answers, the newest, stay whole
	// where answers are cut; 0: 50,000.
	AnswerTokens int
	// Save keeps an answer that is cut and returns where, which the model is told.
	// nil: it is not kept. An answer that cannot be saved is cut all the same.
	Save func(ctx context.Context, name string, data []byte) (path string, err error)
}

const (
	defaultKeep         = 0.3
	defaultAnswerTokens = 50_000
)

// Compactor is fettle's [agent.Compactor]. One belongs to one conversation; it
// is safe for concurrent use.
type Compactor struct {
	o Options

	mu     sync.Mutex
	failed int // tokens that the conversation went on with after its last useless summary; 0: there was none
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

// Compact has the model summarize the older part of a history, and puts the
// summary, as a marked turn of the user's, in its place. The newest part, about
// the share Keep, stays byte for byte; it begins where the user speaks, or, in
// the midst of a prompt's work, with an answer of the model's, so that no call is
// parted from its response. The new history is valid and shorter: a summary that
// is empty, that the provider withheld, or that does not make the history shorter
// is refused, of status CompactionEmpty or CompactionInflated, and the history
// stays; both lengths are measured by [model.EstimateTokens].
//
// An earlier summary is given to the model whole, to be merged into the new one.
// What does not fit into the model is shortened first: long answers of tools, then
// all that is long, then the oldest turns. The one request is of purpose
// utility_compressor and has no tools. There is no second one to check the first:
// it would cost as much again, since it needs all that was to be summarized, and
// what a summary must not be trusted with, the state of files, is said again from
// the files.
//
// After a useless summary the next is asked for with Force, or once the history
// has grown by a quarter; until then, and instead of that summary without Force,
// long answers of tools in the older part are cut, of status CompactionTruncated.
//
// Errors are the Generator's, of code cancelled, or of code invalid_stream where
// the summary was cut at the model's limit of output. The history then stays.
func (c *Compactor) Compact(ctx context.Context, r agent.CompactRequest) (agent.Compaction, error) {
	before := tokens(r.History...)
	result := agent.Compaction{Status: agent.CompactionNoop, Before: before, After: before}
	at := splitAt(r.History, c.o.Keep)
	if at == 0 {
		return result, nil
	}
	if !r.Force && c.givenUp(before) {
		return c.cut(ctx, r.History, at, result)
	}
	older := r.History[:at]
	summary, usage, err := summarize(ctx, r, older)
	result.Usage = usage
	if err != nil {
		if fault.CodeOf(err) == fault.InvalidStream {
			c.giveUp(before)
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
	c.giveUp(0)
	result.Status, result.History = agent.Compacted, history
	return result, nil
}

// refuse ends an attempt with a useless summary, whose status result has.
func (c *Compactor) refuse(ctx context.Context, r agent.CompactRequest, at int, result agent.Compaction) (agent.Compaction, error) {
	c.giveUp(result.Before)
	if r.Force {
		return result, nil
	}
	cut, err := c.cut(ctx, r.History, at, result)
	if err != nil || !cut.Status.Changed() {
		return result, err
	}
	c.giveUp(cut.After)
	return cut, nil
}

// cut shortens the answers of tools before the turn at.
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

func (c *Compactor) giveUp(tokens int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = tokens
}

// givenUp reports whether a summary of a conversation of so many tokens was
// useless, and there is little more to summarize than there was then.
func (c *Compactor) givenUp(tokens int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed > 0 && tokens >= c.failed && tokens < c.failed+c.failed/4
}

// summarize asks the model for a summary; "" is a useless one.
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
			"The conversation was not compacted: the model's summary was cut at its limit of output.",
			"Raise the limit of output tokens, use another model, or begin a new conversation.").Because(fault.Reason(model.FinishMaxTokens))
	}
	return "", response.Usage, nil
}

// tokens estimates the length of turns.
func tokens(turns ...model.Content) int { return model.EstimateTokens(&model.Request{Contents: turns}) }

// clean returns a model's summary without the marks that it may have copied.
func clean(text string) string {
	return strings.TrimSpace(strings.NewReplacer(summaryBegin, "", summaryEnd, "", requestBegin, "", requestEnd, "").Replace(text))
}
