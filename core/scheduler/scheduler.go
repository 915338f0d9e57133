// Package scheduler runs tool calls. A [Scheduler] takes each call through lookup, building, the policy decision,
// confirmation and execution, and returns exactly one response for it. Before and After middlewares, safety checkers and
// observers extend this path; see [Options].
package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// Tools finds tools by name; *tools.Registry implements it.
type Tools interface {
	Lookup(name string) (tools.DeclarativeTool, error)
}

// Options configures a [Scheduler]. Every function must be safe for concurrent use, because calls may run concurrently.
type Options struct {
	Tools  Tools                      // required
	Policy Policy                     // nil: an engine without rules
	Bus    *bus.MessageBus            // nil: no approver and no events
	Mode   func() policy.ApprovalMode // called for each decision; nil: the default mode

	// Subagent is the agent whose calls these are, for policy and messages; "": the main agent.
	Subagent string
	// Subject adds the session's knowledge of a call: trust, directories. nil: none.
	Subject func(c *policy.Call)
	// RealPath resolves the symbolic links of an absolute clean path, which may not exist yet. nil: the path itself.
	RealPath func(ctx context.Context, path string) (string, error)
	// Check runs a safety checker that a decision names. Its verdict can only tighten; an error or a panic denies. nil:
	// a call that requires a check is denied.
	Check func(ctx context.Context, ch policy.Checker, c policy.Call) (policy.Verdict, string, error)

	Before []Before // in the order they run
	// Executing is called right before a call runs, after all approvals. nil: none.
	Executing Executing
	After     []After // in the order they run
	// Record records the content that a call shows until its response is known. It is called for each call that runs.
	// Content counts as shown to the conversation only after the Recording is committed.
	// nil: none.
	Record func(ctx context.Context) (context.Context, Recording)
	// Asked is called with each question right before it is sent. It must not block, and its panics go to OnDefect.
	Asked func(ctx context.Context, q bus.ToolConfirmationRequest)
	// Observe is called for each call at its start, in this order; the returned functions are called at its end in
	// reverse order.
	Observe []Observe

	ID          string           // identifies this scheduler in its messages; "": "root"
	MaxParallel int              // maximum of concurrent calls in one RunAll; 0 or less: 8
	Now         func() time.Time // clock for states; nil: time.Now
	OnDefect    func(err error)  // receives bugs in tools and other parts, with stack; nil: discarded
}

const defaultMaxParallel = 8

// Scheduler runs tool calls. It keeps no state between calls and is safe for concurrent use.
type Scheduler struct {
	o Options
}

// New returns a scheduler. It panics if o.Tools is nil, which is a programming error.
func New(o Options) *Scheduler {
	if o.Tools == nil {
		panic("scheduler: Options.Tools is nil")
	}
	if o.Policy == nil {
		o.Policy = withoutRules()
	}
	if o.Mode == nil {
		o.Mode = func() policy.ApprovalMode { return policy.ModeDefault }
	}
	o.ID = cmp.Or(o.ID, "root")
	if o.MaxParallel <= 0 {
		o.MaxParallel = defaultMaxParallel
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Scheduler{o}
}

// WithPolicy returns a copy of s that uses p as its policy.
func (s *Scheduler) WithPolicy(p Policy) *Scheduler {
	o := s.o
	o.Policy = p
	return &Scheduler{o}
}

// report passes an internal error to OnDefect, and recovers from its panics.
func (s *Scheduler) report(err error) {
	if s.o.OnDefect != nil {
		defer func() { _ = recover() }()
		s.o.OnDefect(err)
	}
}

// Request is one call as a model makes it.
type Request struct {
	CallID string          // id chosen by the caller; "": the scheduler chooses a unique one
	Tool   string          // name or alias
	Args   json.RawMessage // one JSON object; empty means {}
}

// Response is the result of a call.
type Response struct {
	CallID string
	Tool   string // the tool's own name, or the requested one if there is no such tool
	Status Status
	Result tools.Result // Result.Error is set unless Status is success
	// Preview is set if plan mode previewed the call instead of running it. Status is then success.
	Preview bool
	// Replaced is set if an After middleware replaced the tool's content or removed some of it.
	Replaced bool
	Decision policy.Decision     // zero if the call ended before
	Params   json.RawMessage     // the arguments of the decision; nil if the call ended before
	Mode     policy.ApprovalMode // of the decision; zero if the call ended before
	Asked    bool                // an approver was asked, whatever the answer
	// Notices are further messages for the model and the user: an approval that could not be stored, arguments that were
	// changed.
	Notices []string
}

// FunctionResponse returns the response for the model: that of the result, with the notices under the key "notice".
func (r Response) FunctionResponse() json.RawMessage {
	return withNotices(r.Result.FunctionResponse(), r.Notices)
}

// Status is the outcome of a call.
type Status string

// The outcomes.
const (
	StatusSuccess   Status = "success"
	StatusError     Status = "error"
	StatusDenied    Status = "denied"    // by policy or the user, or without an approver
	StatusCancelled Status = "cancelled" // ctx ended, or an earlier call ended the batch
)

// Run runs one call and returns its response. It never panics: a bug in a tool becomes a response with code
// unhandled_exception, and is passed with its stack to Options.OnDefect.
//
// The steps are: look up the tool and validate the arguments; Options.Before, which may rewrite the arguments, which are
// then validated again; the policy decision on the final arguments; the safety checkers that it names, which may tighten
// it; the confirmation step of the tool, which may refuse; approval over the bus, if needed; execution; Options.After.
// If no approver is available, a call that needs approval is denied.
//
// In plan mode a mutating call is not executed; its response is a preview of the change. Once ctx has ended no further
// step starts, and the status of the response is cancelled unless the tool had already succeeded or failed.
//
// All steps receive the values of ctx. Its [host.Host] serves the tool until Execute has returned, and the other steps
// until Run returns; later messages are discarded, and later questions fail.
func (s *Scheduler) Run(ctx context.Context, r Request) Response {
	b := s.newBatch([]Request{r})
	b.publish()
	b.run(ctx, 0)
	return b.responses[0]
}

// RunAll runs the calls of one model turn, and returns one response for each, in their order. Adjacent calls of tools
// that change nothing and allow it run concurrently, at most Options.MaxParallel at a time. Every other call runs alone,
// after all calls before it and before all calls after it.
//
// If the user answers a question with cancel, or a [Before] stops, later calls that have not started are cancelled;
// running calls continue. All goroutines of RunAll have ended when it returns. Concurrent calls of RunAll are not
// ordered among each other.
func (s *Scheduler) RunAll(ctx context.Context, requests []Request) []Response {
	b := s.newBatch(requests)
	b.publish()
	b.runAll(ctx)
	return b.responses
}

// withNotices adds the key "notice" to an encoded object.
func withNotices(object json.RawMessage, notices []string) json.RawMessage {
	if len(notices) == 0 {
		return object
	}
	text, err := tools.JSON(notices)
	if err != nil {
		return object
	}
	b := append(object[:len(object)-1:len(object)-1], `,"notice":`...)
	return append(append(b, text.String()...), '}')
}
