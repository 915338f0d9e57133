package telemetry

import (
	"context"

	"github.com/fettle-dev/fettle/core/agent"
)

// compactionStatus returns the name of a compaction's status.
func compactionStatus(s agent.CompactionStatus) string {
	switch s {
	case agent.Compacted:
		return "compacted"
	case agent.CompactionInflated:
		return "inflated"
	case agent.CompactionCountFailed:
		return "count_failed"
	case agent.CompactionEmpty:
		return "empty"
	case agent.CompactionNoop:
		return "noop"
	case agent.CompactionTruncated:
		return "truncated"
	}
	return "" // there was no compaction
}

// Compaction starts a span for an attempt at compacting the history. It ends the running
// turn, so the span is between turns.
func (t *Telemetry) Compaction(ctx context.Context, forced bool) (context.Context, func(agent.Compaction, error)) {
	p := t.promptOf(ctx)
	if p == nil { // requested by the user
		p = &prompt{t: t}
	}
	p.endTurn(ctx)
	ctx, span := t.start(ctx, spanCompaction)
	return ctx, func(c agent.Compaction, err error) {
		failed := classify(ctx, err)
		status := compactionStatus(c.Status)
		if span.IsRecording() {
			set(span, attrForced.Bool(forced), attrCompactionStatus.String(status), attrTokensBefore.Int(c.Before), attrTokensAfter.Int(c.After))
			usage(span, c.Usage)
			t.fail(span, failed, err)
		}
		span.End()
		if t.m.compactions.Enabled(ctx) {
			t.m.compactions.Add(ctx, 1, measured(attrForced.Bool(forced), attrCompactionStatus.String(status), attrErrorType.String(failed.code)))
		}
		t.countTokens(ctx, p, p.model, "", c.Usage)
	}
}
