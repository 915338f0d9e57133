// Package scheduler takes tool calls through their whole path: look up, build,
// decide, confirm, execute. Every call gets exactly one response.
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

// Tools finds tools by name; *tools.Registry has it.
type Tools interface {
	Lookup(name string) (tools.DeclarativeTool, error)
}

// Options are the parts of a [Scheduler]. Every function must be safe for
// concurrent use, as calls may run side by side.
type Options struct {
	Tools  Tools                      // required
	Policy Policy                     // nil: an engine without rules
	Bus    *bus.MessageBus            // nil: there is nobody to ask and nobody to tell
	Mode   func() policy.ApprovalMode // asked for each decision; nil: the default mode

	// Subagent is whose calls these are, for policy and for all that is told of
	// them from the first moment; "" is the main agent.
	Subagent string
	// Subject fills in what else the session knows about a call: trust, directories.
	// nil: nothing.
	Subject func(c *policy.Call)
	// RealPath tells where an absolute cleaned path leads once links are
	// followed, a file that is not there yet included. nil: where its text says.
	RealPath func(ctx context.Context, path string) (string, error)
	// Check runs a safety checker that a decision names. What it returns can
	// only tighten; an error or a panic denies. nil: a call that is due a check
	// is denied.
	Check func(ctx context.Context, ch policy.Checker, c policy.Call) (policy.Verdict, string, error)

	Before []Before // in the order they run
	// Executing is called when a call is about to run, once nobody is waited for
	// any more. nil: nothing is.
	Executing Executing
	After     []After // in the order they run
	// Record holds what a call shows until its response is known. It is begun for
	// each call that runs. nil: nothing is held.
	Record Record
	// Asked is told of each question right before it is put to people. It must not
	// wait, and what goes wrong in it goes to OnDefect.
	Asked func(ctx context.Context, q bus.ToolConfirmationRequest)
	// Observe is told of each call from its beginning to its response, in this
	// order and at the end in the other.
	Observe []Observe

	ID          string           // names this scheduler in its messages; "": "root"
	MaxParallel int              // calls that run at once in one RunAll; 0 or less: 8
	Now         func() time.Time // stamps states; nil: time.Now
	OnDefect    func(err error)  // receives mistakes in tools and in other parts, with stack; nil: dropped
}

const defaultMaxParallel = 8

// Scheduler runs tool calls. It keeps nothing between calls and is safe for
// concurrent use.
type Scheduler struct {
	o Options
}

// New returns a scheduler. It panics if o.Tools is nil, a mistake in the
// program.
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

// WithPolicy returns a scheduler that is like s and asks p in the place of s's
// policy.
func (s *Scheduler) WithPolicy(p Policy) *Scheduler {
	o := s.o
	o.Policy = p
	return &Scheduler{o}
}

// report hands a defect to the host, whose own mistakes end here.
func (s *Scheduler) report(err error) {
	if s.o.OnDefect != nil {
		defer func() { _ = recover() }()
		s.o.OnDefect(err)
	}
}

// Request is one call as a model makes it.
type Request struct {
	CallID string          // told apart by the caller; may be empty
	Tool   string          // name or alias
	Args   json.RawMessage // one JSON object; empty means {}
}

// Response is what became of a call.
type Response struct {
	CallID string
	Tool   string // the tool's own name, or the requested one if there is no such tool
	Status Status
	Result tools.Result // Result.Error is set unless Status is success
	// Preview says that plan mode has shown what the call would do instead of
	// doing it (CR-22). Status is success then.
	Preview bool
	// Replaced says that a step after the call has put other content in the place of
	// what the tool gave, or taken some of it away.
	Replaced bool
	Decision policy.Decision // zero if the call did not get that far
	Params   json.RawMessage // the arguments that were decided on; nil if the call did not get that far
	// Notices tell the model and the person what else happened: an approval
	// that could not be remembered, arguments that were changed on the way.
	Notices []string
}

// FunctionResponse returns what a model receives: that of the result, with
// the notices under the key "notice".
func (r Response) FunctionResponse() json.RawMessage {
	return withNotices(r.Result.FunctionResponse(), r.Notices)
}

// Status is the outcome of a call.
type Status string

// The outcomes.
const (
	StatusSuccess   Status = "success"
	StatusError     Status = "error"
	StatusDenied    Status = "denied"    // by policy or a person, or for want of one
	StatusCancelled Status = "cancelled" // ctx ended, or an earlier call of the batch ended the batch
)

// Run takes one call through its path and returns its one response. It never
// panics: what a tool does wrong becomes an error response of code
// unhandled_exception, and goes with its stack to Options.OnDefect.
//
// The order is that of AR-28 and CR-36: the tool is found and its arguments
// are checked; Options.Before may rewrite them, which are then checked again;
// policy decides once, on the arguments as they are then, and may deny; the
// safety checkers it names may tighten; then the tool itself may refuse, in its
// confirmation step; only then is a person asked, over the bus. With nobody to
// answer, an ask is a refusal (AR-24). Options.After sees what the tool gave.
//
// In plan mode a call that changes something is not executed; its response is
// a preview of the change (CR-22). Once ctx has ended no further step begins,
// and the response is of status cancelled unless the tool had already
// succeeded or failed (AR-29).
//
// All steps get the values of ctx. Its [tools.Host] is that of the call: what the
// tool tells it after Execute has returned is dropped, as is what any step tells it
// after Run has, and a question is then refused.
func (s *Scheduler) Run(ctx context.Context, r Request) Response {
	b := s.newBatch([]Request{r})
	b.publish()
	b.run(ctx, 0)
	return b.responses[0]
}

// RunAll runs the calls that a model made in one turn, and returns one
// response for each, in their order (AR-28). Neighbouring calls of tools that
// change nothing and may run in parallel run side by side, at most
// Options.MaxParallel at once; every other call runs alone, after all before
// it and before all after it.
//
// When a person answers a question with cancel, or a [Before] stops, the calls
// after that one which have not begun are cancelled; those that run go on. All
// that RunAll starts has ended when it returns. Batches of several RunAll at
// once are not ordered among each other.
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
