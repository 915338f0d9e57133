package telemetry

import (
	"errors"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// instruments are the metric instruments.
type instruments struct {
	tokens    metric.Int64Histogram
	operation metric.Float64Histogram

	sessions, retries, calls, decisions, compactions, agentRuns metric.Int64Counter

	prompt, turn, call, agentRun metric.Float64Histogram
}

// newInstruments creates the instruments, with the bucket bounds of the semantic conventions for
// tokens and for seconds of an operation. The error names the instrument that failed.
func newInstruments(m metric.Meter) (*instruments, error) {
	var all instruments
	var failed error
	tokenBounds := []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	secondBounds := []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		failed = errors.Join(failed, err)
		return c
	}
	seconds := func(name, description string) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description), metric.WithExplicitBucketBoundaries(secondBounds...))
		failed = errors.Join(failed, err)
		return h
	}
	var err error
	all.tokens, err = m.Int64Histogram(metricTokens, metric.WithUnit("{token}"),
		metric.WithDescription("Number of input and output tokens used."), metric.WithExplicitBucketBoundaries(tokenBounds...))
	failed = errors.Join(failed, err)
	all.operation = seconds(metricOperation, "GenAI operation duration.")
	all.sessions = counter(metricSessions, "{session}", "Sessions that had a prompt.")
	all.prompt = seconds(metricPromptDuration, "Duration of prompts.")
	all.turn = seconds(metricTurnDuration, "Duration of turns: a request with its attempts, and the calls in its answer.")
	all.retries = counter(metricRetries, "{attempt}", "Attempts at a request after its first.")
	all.calls = counter(metricCalls, "{call}", "Tool calls.")
	all.call = seconds(metricCallDuration, "Duration of tool calls, including the wait for an approval.")
	all.decisions = counter(metricDecisions, "{decision}", "Decisions about tool calls.")
	all.compactions = counter(metricCompactions, "{compaction}", "Attempts at compacting a conversation.")
	all.agentRuns = counter(metricAgentRuns, "{run}", "Runs of subagents.")
	all.agentRun = seconds(metricAgentRunDuration, "Duration of runs of subagents.")
	return &all, failed
}

// since returns the time since begun in seconds.
func (t *Telemetry) since(begun time.Time) float64 { return t.o.Now().Sub(begun).Seconds() }
