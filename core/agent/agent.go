// Package agent runs a conversation with a model. A [Client] streams each turn as events, runs the tool calls through
// the scheduler, and keeps the history valid on every exit. It ends a prompt at its limits, retries failed requests, and
// compacts a history that becomes too long. See [Options] for its parts and [Client.Run] for a prompt.
//
// The errors of events have these reasons:
//
//   - invalid_stream: no_finish_reason, malformed_function_call, unexpected_tool_call, max_tokens_exceeded,
//     safety_blocked, recitation_blocked, other_blocked, thinking_only_response, no_response_text, too_many_calls
//   - limit_reached: prompt_turns, session_turns, time, tokens
//   - loop_detected: consecutive_identical_tool_calls, chanting_identical_sentences
package agent

import (
	"context"
	"log/slog"
	"time"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// Scheduler runs tool calls; *scheduler.Scheduler implements it.
type Scheduler interface {
	// RunAll returns one response for each request, in their order.
	RunAll(ctx context.Context, requests []scheduler.Request) []scheduler.Response
}

// Options configures a [Client]. Source and Model are required. Every function is called on the goroutine that ranges
// over the client's events, or that called a method.
type Options struct {
	Source model.Source // finds the Generator of a model name
	// Model returns the model name, PROVIDER:MODEL or without the provider. It is called once for each prompt, whose
	// requests all use that model.
	Model func() string

	// Tools returns the tool declarations; called for each request. nil: none.
	Tools func() []model.Tool
	// Deferred returns the number of tools that are available through search and not declared; called for each request,
	// and sent as Request.Deferred. nil: 0.
	Deferred func() int
	// Scheduler runs the calls. nil: each call fails as not registered.
	Scheduler Scheduler
	// Bus carries approval questions, whose waiting time does not count for Limits.Time. nil: it counts.
	Bus *bus.MessageBus

	// System returns the system prompt; called for each request, so that new instructions are in the next one. nil:
	// none.
	System func(ctx context.Context) (string, error)
	// Reminders are added once to the user's turn before each request. Those of a failed request are sent with the next
	// one. A text that is contained in another is omitted, so return each reminder as a part of its own. nil: none.
	Reminders func(ctx context.Context) ([]model.Part, error)

	// History is the initial history, for example of a resumed session. It is repaired if needed: see
	// [Client.SetHistory]. The Recorder is assumed to have it, and receives it with the next turn if it was repaired.
	History []model.Content

	// Compactor shortens the history near the model's limit and on request. nil: it is never shortened.
	Compactor Compactor
	// Restate is called after compaction has replaced the history. Its parts, such as the state of files in use, follow
	// the summary. nil: none.
	Restate func(ctx context.Context, old []model.Content) ([]model.Part, error)

	// Withdrawn receives parts that were sent to the model and are not, or not certainly, in its history: the prompt had
	// no answer, or was dropped. Files in these parts no longer count as shown. It may be called during other work on
	// the conversation. nil: no callback.
	Withdrawn func(parts []model.Part)
	// Cleared is called after [Client.ResetChat] or a step has emptied the history. nil: no callback.
	Cleared func()

	Recorder Recorder // records the history; nil: none
	Observer Observer // observes prompts, turns and requests; nil: none
	Steps    Steps    // hooks of prompts and requests; zero: none

	Limits          Limits
	Retry           Retry
	NoLoopDetection bool // do not stop a model that repeats itself

	Temperature *float64      // of each request; nil: the provider's default
	Purpose     model.Purpose // of each request; "": main

	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: no logging
}

// Limits are the limits of a prompt. A zero field selects its default.
type Limits struct {
	PromptTurns  int           // requests of one prompt; 0: 100, negative: no limit
	SessionTurns int           // requests of the Client in total; 0 or less: no limit
	Time         time.Duration // duration of one prompt, without waiting for approvals; 0: no limit
	// Tokens is the maximum length of a request; 0: the limit of the model.
	Tokens int
	// CompactAt is the share of Tokens above which the history is compacted before a request; it is also compacted if
	// the model rejects a request as too long. 0: 0.5; negative or above 1: only with [Client.Compress].
	CompactAt float64
	// OutputTokens is the maximum length of an answer; 0: the provider's default.
	OutputTokens int
}

// Retry configures the repetition of failed requests. A zero field selects its default. Waits have a jitter of up to 30
// % either way and end with ctx. A wait requested by the provider is followed, plus up to 20 %; a provider that requests
// more than five minutes is not asked again.
type Retry struct {
	Attempts int           // attempts at one request until an answer starts, including the first; 0: 10
	First    time.Duration // wait after the first failure; 0: 5 s; doubled each time
	Longest  time.Duration // maximum wait, unless the provider requests more; 0: 30 s
	// StreamAttempts is the number of attempts, including the first, at a request whose answer breaks off or is invalid;
	// 0: 4.
	StreamAttempts int
	StreamFirst    time.Duration // wait after the first broken answer; 0: 1 s; doubled each time
	// OnlyStatus limits retries to failures with a response of the provider: a lost connection is returned to the
	// caller.
	OnlyStatus bool
}

// Compactor shortens a history. A Config provides fettle's implementation.
type Compactor interface {
	Compact(ctx context.Context, r CompactRequest) (Compaction, error)
}

// CompactRequest is the input of a [Compactor].
type CompactRequest struct {
	History   []model.Content // valid and without an open call; must not be modified
	Generator model.Generator
	Model     string
	Tokens    int  // length of the last request; 0: unknown
	Limit     int  // of the model
	Force     bool // try even if the previous attempt failed
	Requested bool // requested by a caller with Client.Compress
}

// Compaction is the result of an attempt. Its JSON form is that of the event.
type Compaction struct {
	Status CompactionStatus `json:"compressionStatus"`
	Before int              `json:"originalTokenCount"` // estimated length of the history; After is estimated alike
	// After is the estimated length of the new history. The Compactor returns it without the state of files, which the
	// Client adds. If the history stays, it is the length with the rejected summary, or Before.
	After int `json:"newTokenCount"`
	// History is the new, valid history if Status.Changed. Its first turn is the user's, and the Client appends the
	// state of files to it.
	History []model.Content `json:"-"`
	Usage   model.Usage     `json:"-"` // of the requests of this attempt
}

// CompactionStatus is the outcome of an attempt. The numbers are those of gemini-cli.
type CompactionStatus int

// The states of a [Compaction].
const (
	Compacted             CompactionStatus = 1
	CompactionInflated    CompactionStatus = 2 // the summary was not shorter; the history stays
	CompactionCountFailed CompactionStatus = 3
	CompactionEmpty       CompactionStatus = 4 // there was no summary; the history stays
	CompactionNoop        CompactionStatus = 5 // there is nothing to shorten
	CompactionTruncated   CompactionStatus = 6 // only long tool responses were cut
)

// Changed reports whether there is a new history.
func (s CompactionStatus) Changed() bool { return s == Compacted || s == CompactionTruncated }

// Recorder records a history, so that it can be resumed. Its errors do not end the conversation; the first ends the
// recording and is reported as an event of type warning.
type Recorder interface {
	// Append records the next turn; it is durable when Append returns.
	Append(ctx context.Context, e Entry) error
	// Rewind records that only the first keep turns remain.
	Rewind(ctx context.Context, keep int) error
	// Replace records a new history.
	Replace(ctx context.Context, history []model.Content) error
}

// Entry is a turn with its metadata.
type Entry struct {
	Content   model.Content
	Time      time.Time
	Model     string               // the model that answered; "" for a user turn
	Usage     model.Usage          // zero for a user turn
	Responses []scheduler.Response // the responses in this turn
}

// Observer observes the client, for telemetry. Each method returns the context for the observed work and a function that
// is called once at its end; neither may be nil.
type Observer interface {
	Prompt(ctx context.Context, p PromptInfo) (context.Context, func(PromptEnd))
	Request(ctx context.Context, r RequestInfo) (context.Context, func(RequestEnd))
	Compaction(ctx context.Context, forced bool) (context.Context, func(Compaction, error))
}

// PromptInfo describes a prompt at its start.
type PromptInfo struct {
	ID      string
	Model   string
	Purpose model.Purpose
	Parts   []model.Part
}

// PromptEnd is the outcome of a prompt.
type PromptEnd struct {
	Turns int
	Calls int
	Usage model.Usage
	Text  string // of the last turn
	Err   error  // nil: success
	// Left reports that the caller left the loop over the events, possibly on purpose; Err then has code cancelled.
	Left bool
}

// RequestInfo is one attempt at a request.
type RequestInfo struct {
	Request *model.Request // must not be modified
	Attempt int            // 1-based
}

// RequestEnd is the outcome of an attempt.
type RequestEnd struct {
	Response *model.Response // nil: none
	Err      error
}
