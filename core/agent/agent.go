// Package agent runs a conversation with a model: it keeps the history valid in
// every exit, streams each turn as events, has the scheduler run the calls, and
// ends at its limits.
package agent

import (
	"context"
	"log/slog"
	"time"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// Scheduler runs tool calls; *scheduler.Scheduler has it.
type Scheduler interface {
	// RunAll returns one response for each request, in their order.
	RunAll(ctx context.Context, requests []scheduler.Request) []scheduler.Response
}

// Options are the parts of a [Client]. Source and Model are required. Every
// function is called on the goroutine that ranges over the client's events, or
// that has called the method which needs it.
type Options struct {
	Source model.Source // finds the Generator of a name
	// Model is the model's name, PROVIDER:MODEL or one without its provider, asked
	// once for each prompt, whose requests all go to it.
	Model func() string

	// Tools are declared to the model, asked for each request. nil: none.
	Tools func() []model.Tool
	// Deferred counts tools that are there and not declared, as the model can
	// search for them; asked for each request, and told as Request.Deferred. nil: 0.
	Deferred func() int
	// Scheduler runs the calls. nil: each is answered as not registered.
	Scheduler Scheduler
	// Bus is where people are asked, so that the time they take does not count
	// for Limits.Time. nil: it counts.
	Bus *bus.MessageBus

	// System is the system prompt, asked for each request, so that instructions
	// that became due stand in the next one (FT-15). nil: none.
	System func(ctx context.Context) (string, error)
	// Reminders go into the user's turn before each request, once (FT-15, the
	// option). Those of a request that failed go with the next; a text that another
	// one holds is left out, so give each reminder in a part of its own. nil: none.
	Reminders func(ctx context.Context) ([]model.Part, error)

	// History is what the conversation begins with, as one that is resumed does.
	// It is made valid: see [Client.SetHistory]. The Recorder is taken to hold it,
	// and is told of it with the next turn where it had to be mended.
	History []model.Content

	// Compactor shortens the history near the model's limit and on request. nil:
	// it is never shortened.
	Compactor Compactor
	// Restate is called once compaction has replaced the history (RC-22). What it
	// returns follows the summary, as the state of files in work. nil: nothing.
	Restate func(ctx context.Context, old []model.Content) ([]model.Part, error)

	// Withdrawn is told of what was said to the model and is not in its history
	// after all, or not for certain: the prompt got no answer, or was dropped. So
	// what these parts show, as files, does not count as shown. It may be called
	// while somebody else works on the conversation. nil: nobody is told.
	Withdrawn func(parts []model.Part)
	// Cleared is called once the history has been emptied, by [Client.ResetChat]
	// or a step (RC-21, FT-13). nil: nothing is.
	Cleared func()

	Recorder Recorder // writes the history down; nil: it is not recorded
	Observer Observer // is told of prompts, turns and requests; nil: nobody
	Steps    Steps    // take part in each prompt and request; zero: none

	Limits          Limits
	Retry           Retry
	NoLoopDetection bool // a model that repeats itself is not stopped

	Temperature *float64      // of each request; nil: the provider's default
	Purpose     model.Purpose // of each request; "": main

	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: nothing is logged
}

// Limits end a prompt. A zero field is its default.
type Limits struct {
	PromptTurns  int           // requests that one prompt may make; 0: 100, negative: no limit
	SessionTurns int           // requests that the Client may make in all; 0 or less: no limit
	Time         time.Duration // how long one prompt may take, waiting for people not counted; 0: no limit
	// Tokens is how long a request may be; 0: what the model is known to take.
	Tokens int
	// CompactAt is the share of Tokens from which on the history is compacted
	// before a request, as it is where the model finds a request too long; 0: 0.5;
	// negative or above 1: only when [Client.Compress] is called.
	CompactAt float64
	// OutputTokens is what one answer may have; 0: the provider's default.
	OutputTokens int
}

// Retry says how often and how patiently a failed request is made again. A zero
// field is its default; waits carry jitter of up to 30 % either way and end with
// ctx. A provider that asks for a longer wait gets it, and up to 20 % more; one
// that asks for more than five minutes is not asked again.
type Retry struct {
	Attempts int           // of one request until an answer begins, the first included; 0: 10
	First    time.Duration // wait after the first failure; 0: 5 s; doubled each time
	Longest  time.Duration // no wait is longer, unless the provider asks for it; 0: 30 s
	// StreamAttempts are made of a request whose answer breaks off or cannot be
	// used, the first included; 0: 4.
	StreamAttempts int
	StreamFirst    time.Duration // wait after the first broken answer; 0: 1 s; doubled each time
	// OnlyStatus leaves failures without an answer from the provider to the
	// caller: a lost connection is not tried again.
	OnlyStatus bool
}

// Compactor shortens a history. core/agent/compact has the one that fettle uses.
type Compactor interface {
	Compact(ctx context.Context, r CompactRequest) (Compaction, error)
}

// CompactRequest is what a [Compactor] is given.
type CompactRequest struct {
	History   []model.Content // valid and without an open call; must not be changed
	Generator model.Generator
	Model     string
	Tokens    int  // the length of the last request; 0: not known
	Limit     int  // the model's
	Force     bool // try even if it did not help before
	Asked     bool // by somebody, with Client.Compress
}

// Compaction is what became of an attempt. Its JSON form is that of the event.
type Compaction struct {
	Status CompactionStatus `json:"compressionStatus"`
	Before int              `json:"originalTokenCount"` // of the history, estimated, alike for both
	// After is of the new history. The Compactor gives it without the state of
	// files, which the Client adds. Where the history stays it is what the summary
	// would have come to, or Before.
	After int `json:"newTokenCount"`
	// History is the new one, valid, if Status.Changed; its first turn is the
	// user's, and the state of files is added at its end.
	History []model.Content `json:"-"`
	Usage   model.Usage     `json:"-"` // of the requests that it took
}

// CompactionStatus says what became of an attempt. The numbers are upstream's.
type CompactionStatus int

// The states of a [Compaction].
const (
	Compacted             CompactionStatus = 1
	CompactionInflated    CompactionStatus = 2 // the summary was no shorter; the history stays
	CompactionCountFailed CompactionStatus = 3
	CompactionEmpty       CompactionStatus = 4 // there was no summary; the history stays
	CompactionNoop        CompactionStatus = 5 // there is nothing to shorten
	CompactionTruncated   CompactionStatus = 6 // only long answers of tools were cut
)

// Changed reports whether there is a new history.
func (s CompactionStatus) Changed() bool { return s == Compacted || s == CompactionTruncated }

// Recorder writes a history down, so that it can be resumed. Its errors do not
// end the conversation; the first is told as an event of type warning, with
// which recording ends.
type Recorder interface {
	// Append records the next turn; it is durable when Append returns.
	Append(ctx context.Context, e Entry) error
	// Rewind records that only the first keep turns are left.
	Rewind(ctx context.Context, keep int) error
	// Replace records that this is the history now.
	Replace(ctx context.Context, history []model.Content) error
}

// Entry is a turn with what is known of it.
type Entry struct {
	Content   model.Content
	Time      time.Time
	Model     string               // what answered; "" for a turn of the user's
	Usage     model.Usage          // zero for a turn of the user's
	Responses []scheduler.Response // the calls that this turn answers
}

// Observer is told what the client does, for telemetry. Each method returns the
// context that the work goes on with and a function that is called once, when
// it has ended; neither may be nil.
type Observer interface {
	Prompt(ctx context.Context, p PromptInfo) (context.Context, func(PromptEnd))
	Request(ctx context.Context, r RequestInfo) (context.Context, func(RequestEnd))
	Compaction(ctx context.Context, forced bool) (context.Context, func(Compaction, error))
}

// PromptInfo is a prompt that begins.
type PromptInfo struct {
	ID      string
	Model   string
	Purpose model.Purpose
	Parts   []model.Part
}

// PromptEnd is how a prompt ended.
type PromptEnd struct {
	Turns int
	Calls int
	Usage model.Usage
	Text  string // the last turn's
	Err   error  // nil: done
	// Left says that whoever ranged over the events left the loop, which may be
	// on purpose; Err is of code cancelled then.
	Left bool
}

// RequestInfo is one attempt at a request.
type RequestInfo struct {
	Request *model.Request // must not be changed
	Attempt int            // 1-based
}

// RequestEnd is what became of it.
type RequestEnd struct {
	Response *model.Response // nil: none came
	Err      error
}
