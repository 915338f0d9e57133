package config

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/agent/compact"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/history"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// Conversation says how the model is spoken to. The zero value is a sensible
// session.
type Conversation struct {
	Limits          agent.Limits // zero fields: the settings', else their defaults
	Retry           agent.Retry  // the same
	NoLoopDetection bool         // a model that repeats itself is not stopped
	Temperature     *float64     // nil: the provider's default
	SystemPrompt    string       // in the place of fettle's own words; instruction files follow it. "": fettle's
	// Compactor makes what shortens a history that comes near the model's limit, a
	// new one for each conversation, subagents' included. nil: that of
	// core/agent/compact.
	Compactor func() agent.Compactor
	Observer  agent.Observer // is told what the client does; derived Configs have it too. nil: nobody
	Steps     agent.Steps    // take part in prompts and requests; derived Configs have them too
}

// Opening is how a conversation begins. The zero value is an empty one that
// nobody records.
type Opening struct {
	Recorder agent.Recorder  // writes it down, as a [Recording] does
	History  []model.Content // of a session that is resumed
	// Agents is where the runs of its subagents are recorded. nil: nowhere.
	Agents *Transcripts
}

// Client returns this conversation with the model, the same at each call until
// Converse begins another. The error is of code not_initialized, or
// invalid_config where there are no models; see Parameters.Models.
func (c *Config) Client() (*agent.Client, error) {
	s, err := c.own("Client")
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.client == nil {
		return c.converse(s, Opening{})
	}
	return s.client, nil
}

// Converse begins a conversation with the model, which from then on is the
// one that Client returns. What this Config was shown of files is not touched:
// see StartNewSession and Resume. Errors are those of Client.
func (c *Config) Converse(o Opening) (*agent.Client, error) {
	s, err := c.own("Converse")
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.converse(s, o)
}

// converse is Converse; c.mu is held.
func (c *Config) converse(s *session, opening Opening) (*agent.Client, error) {
	o, err := c.clientOptions(s)
	if err != nil {
		return nil, err
	}
	o.History = opening.History
	c.record(s, &o, opening.Recorder)
	client, err := agent.New(o)
	if err != nil {
		return nil, err
	}
	if s.client != nil {
		s.ended.Add(1)
		s.catalog.Reset()
	}
	s.catalog.Load(history.Tools(opening.History)...)
	s.skills.Reopen(opening.History)
	s.client, c.agentRecords = client, opening.Agents
	return client, nil
}

// record gives a conversation its recorder, which may be nil, and a Compactor
// of its own.
func (c *Config) record(s *session, o *agent.Options, recorder agent.Recorder) {
	o.Recorder = recorder
	s.hooks.RecordedIn("")
	if r, ok := recorder.(*Recording); ok && r != nil {
		s.hooks.RecordedIn(r.Path())
	}
	var own agent.Compactor
	if given := c.params().Conversation.Compactor; given != nil {
		if own = given(); own == nil {
			return // it is never shortened
		}
	} else {
		var keeps compact.Options
		if r, ok := recorder.(*Recording); ok {
			keeps.Save = r.Save // answers that are cut
		}
		own = compact.New(keeps)
	}
	o.Compactor = s.history.Compactor(own, s.hooks.Compacting)
}

// clientOptions are those of this Config's own conversation, but for what record
// adds.
func (c *Config) clientOptions(s *session) (agent.Options, error) {
	p := c.params()
	if p.Models == nil {
		return agent.Options{}, fault.New(fault.InvalidConfig, "config.client", "This session has no models.",
			"Set Models of the Parameters, as core/standard does.")
	}
	talk := p.Conversation
	o := agent.Options{
		Source: p.Models, Model: c.Model,
		Tools:     func() []model.Tool { return modelTools(s.registry) },
		Deferred:  s.catalog.Deferred,
		Scheduler: s.scheduler,
		System:    c.SystemPrompt,
		Restate:   s.history.AfterCompaction,
		Withdrawn: s.history.Withdrawn, Cleared: s.cleared,
		Observer: talk.Observer, Steps: s.hooks.Steps(talk.Steps),
		Limits: talk.Limits, Retry: talk.Retry, NoLoopDetection: talk.NoLoopDetection, Temperature: talk.Temperature,
		Bus: c.bus, Now: p.Now, Logger: p.Logger,
	}
	if c.parent != nil {
		o.Purpose = model.PurposeSubagent
	} else {
		o.Steps = s.shared.checkpoints.keep().Steps(o.Steps)
	}
	if p.Instructions.AsMessages {
		o.Reminders = s.history.Instructions
	}
	if p.DebugMode {
		o.Steps.BeforeRequest = slices.Concat(o.Steps.BeforeRequest, []agent.BeforeRequest{c.logRequest}) // the given ones are shared
	}
	return o, nil
}

// modelTools are the tools as a model is told of them.
func modelTools(r *tools.Registry) []model.Tool {
	declared := r.Declarations()
	all := make([]model.Tool, len(declared))
	for i, d := range declared {
		all[i] = model.Tool(d)
	}
	return all
}

// logRequest writes the final prompt into the debug log, with secrets masked
// (CF-08).
func (c *Config) logRequest(ctx context.Context, r *model.Request) (agent.RequestAdvice, error) {
	log := c.params().Logger.With(slog.String("component", "MODEL_REQUEST"))
	mask := c.masker()
	log.DebugContext(ctx, "system prompt", slog.String("model", r.Model), slog.String("text", mask(r.System)))
	if len(r.Contents) > 0 { // earlier turns were told with earlier requests
		last := r.Contents[len(r.Contents)-1]
		for _, part := range last.Parts {
			log.DebugContext(ctx, "turn", slog.Int("number", len(r.Contents)), slog.String("role", string(last.Role)), slog.String("part", mask(describePart(part))))
		}
	}
	return agent.RequestAdvice{}, nil
}

// describePart is a part of a turn as text.
func describePart(p model.Part) string {
	switch {
	case p.Call != nil:
		return fmt.Sprintf("call %s %s", p.Call.Name, p.Call.Args)
	case p.Response != nil:
		return fmt.Sprintf("response of %s: %s", p.Response.Name, p.Response.Response)
	case p.Data != nil:
		return fmt.Sprintf("%d bytes of %s", len(p.Data.Bytes), p.Data.MIMEType)
	case p.Thought:
		return "thought: " + p.Text
	}
	return p.Text
}

// masker replaces the session's secrets, as they are and as they stand in JSON,
// and what has the shape of one.
func (c *Config) masker() func(text string) string {
	var m redact.Masker
	m.Add(c.family.extensions.Secrets()...)
	m.Add(c.params().Secrets...)
	return m.Text
}

// Restating says how [Config.Restate] does its work. A zero field is its
// default.
type Restating struct {
	Files int // how many files are said again; 0: 10, negative: none
	// Bytes is how much of them is said again in all; 0: an eighth of what a
	// request may have, by Conversation.Limits or as the model in force is known
	// to take it, at 4 bytes a token, and at most 512 KiB.
	Bytes int64
	// Tokens is how long all that is said may be, by [model.EstimateTokens]; 0:
	// Bytes alone count, negative: nothing is said.
	Tokens int
	// Messages says that instructions which accesses bring up are given in
	// messages, which compaction takes away, and not in the system prompt: they
	// become due again (FT-17).
	Messages bool
}

// Restated is what the model is told of its files after compaction.
type Restated struct {
	Kind   string `json:"kind"` // always [RestatedKind]
	Notice string `json:"notice"`
	// Files are state objects, in the order of their last use, the last one
	// first. In the place of one that cannot be given stands what is wrong.
	Files []any `json:"files"`
	// ReadAgain are further files that were in work, in the same order.
	ReadAgain []string `json:"read_again,omitempty"`
}

// RestatedKind marks what the model is told of its files after compaction, of
// which a history holds one at most.
const RestatedKind = history.Kind

var _ = Restated(history.Restated{}) // which is what the model is given

// Restate is called once compaction has replaced the history (RC-22, CR-19): it
// clears the cache of this Config alone (RC-23), whose versions go on, and then
// reads the files in work again, those that the conversation was given whole and
// used last, as read_file would, with its limits for each, under new versions,
// and records them as read. So the next change of one needs no reading, and a
// read of it is answered by a placeholder, as what it points to is in the history
// (RC-13). A file that is gone, that cannot be read, or that read_file may not
// show, or not without asking, is named with the reason; one beyond Files, Bytes or
// Tokens is named. The result is one part, the JSON of a [Restated], for the history; none
// if no file was in work, as with the cache turned off. After an error, of code
// not_initialized or cancelled, no file counts as read. It is called by the
// conversation's client, and not at once with another of its requests.
func (c *Config) Restate(ctx context.Context, o Restating) ([]model.Part, error) {
	s, err := c.own("Restate")
	if err != nil {
		return nil, err
	}
	return s.history.Restate(ctx, history.Restating(o))
}

// tokenLimit is how many tokens a request of this conversation may have.
func (c *Config) tokenLimit(s *session) int {
	c.mu.Lock()
	client := s.client
	c.mu.Unlock()
	if client != nil {
		return client.Limit()
	}
	if limit := c.params().Conversation.Limits.Tokens; limit > 0 {
		return limit
	}
	name := c.Model()
	if _, bare, found := strings.Cut(name, ":"); found {
		name = bare
	}
	return model.TokenLimit(name)
}

// Declarations returns the tools that a model is to be told of now, in order, for
// a loop of the embedder's own: those of [tools.Registry.Declarations] with their
// schemas as a provider takes them, see [model.AdaptSchema]. d is the provider's
// dialect. Ask anew for each request: the list follows the approval mode, the
// settings, MCP servers and what tool_search has found. The schemas must not be
// changed. The error is of code not_initialized, or a [*model.Error] that names a
// tool which cannot be declared.
func (c *Config) Declarations(d model.Dialect) ([]model.Tool, error) {
	s, err := c.own("Declarations")
	if err != nil {
		return nil, err
	}
	return model.AdaptTools(modelTools(s.registry), d)
}

// RunCalls takes the calls that a model has made in one answer through their whole
// path, as [scheduler.Scheduler.RunAll] does, for a loop of the embedder's own. It
// returns what to send to the model, and what became of each, both in the order of
// the calls and one for each, whatever becomes of them. The error is of code
// not_initialized; nothing was run then.
func (c *Config) RunCalls(ctx context.Context, calls []model.FunctionCall) ([]model.FunctionResponse, []scheduler.Response, error) {
	s, err := c.own("RunCalls")
	if err != nil {
		return nil, nil, err
	}
	requests := make([]scheduler.Request, len(calls))
	for i, call := range calls {
		requests[i] = scheduler.Request{CallID: call.ID, Tool: call.Name, Args: call.Args}
	}
	responses := s.scheduler.RunAll(ctx, requests)
	answers := make([]model.FunctionResponse, len(calls))
	for i, call := range calls {
		answers[i] = agent.Answer(call, responses[i])
	}
	return answers, responses, nil
}

// Given is what a person has answered to a question that an earlier attempt of a
// call has left open.
type Given struct {
	Question bus.ToolConfirmationRequest
	Answer   bus.ToolConfirmationResponse // its CorrelationID is filled in
}

// RunCall takes one call through its whole path, for a host that cannot wait for a
// person while a call runs, as a framework that ends a run to ask and begins it
// again with the answer. A question of the call's that nobody on the message bus
// answers ends it, so that nothing is done, and is returned as open; it is nil
// where there was none. The host puts it to the person, and makes the same call
// again with the answer as given, which is nil at first.
//
// The answer holds for what the person was shown: where the call would do anything
// else by now, as the file has changed, or other answers are offered, its question
// is left open once more. It is given once. Each attempt is a call of its own for
// steps and observers; questions of subagents that the call begins are for the bus
// alone. A call without ID gets one for the events that tell of it. RunCall is safe
// for concurrent use; calls that run at once are not ordered, see RunCalls, and each
// needs an ID of its own. The error is of code not_initialized.
func (c *Config) RunCall(ctx context.Context, call model.FunctionCall, given *Given) (answer model.FunctionResponse, r scheduler.Response, open *bus.ToolConfirmationRequest, err error) {
	s, err := c.own("RunCall")
	if err != nil {
		return answer, r, nil, err
	}
	request := scheduler.Request{CallID: call.ID, Tool: call.Name, Args: call.Args}
	if request.CallID == "" {
		request.CallID = model.NewCallID()
	}
	var sub *bus.Subscription
	ready := make(chan struct{})
	sub = bus.Subscribe(ctx, c.bus, func(_ context.Context, q bus.ToolConfirmationRequest) {
		<-ready
		if q.CallID == request.CallID && q.Subagent == c.subagent {
			if given != nil && sameQuestion(q, given.Question) {
				answer := given.Answer
				given, answer.CorrelationID = nil, q.CorrelationID
				_ = c.bus.Publish(answer) // refused where the call has ended, or another front end was faster
				return
			}
			open = &q
		}
		sub.Decline(q.CorrelationID)
	})
	close(ready)
	r = s.scheduler.Run(ctx, request)
	sub.Unsubscribe()
	<-sub.Done()
	if fault.CodeOf(r.Result.Error) != fault.NoApprover {
		open = nil // somebody else has answered, or the call was called off
	}
	return agent.Answer(call, r), r, open, nil
}

// sameQuestion reports whether two questions are about the same call, show a person
// the same of it, and offer the same answers, which stand for the same.
func sameQuestion(a, b bus.ToolConfirmationRequest) bool {
	shown := func(q bus.ToolConfirmationRequest) (decoded any) {
		raw, err := json.Marshal([]any{q.ServerName, q.ToolAnnotations, q.ToolCall, q.Details, q.Modified, q.Outcomes, q.Remembers})
		if err != nil {
			return nil
		}
		d := json.NewDecoder(bytes.NewReader(raw)) // so that the order of keys does not matter
		d.UseNumber()                              // every digit does
		if err := d.Decode(&decoded); err != nil {
			return nil
		}
		return decoded
	}
	x, y := shown(a), shown(b)
	return x != nil && reflect.DeepEqual(x, y)
}
