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
	"github.com/fettle-dev/fettle/core/agent/recordings"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/history"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/compact"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// Conversation configures the conversation with the model. The zero value is a
// sensible session.
type Conversation struct {
	Model string // "": that of the settings, else auto, the program's choice
	// Models resolves the name of a model. nil: Providers decides.
	Models model.Source
	// Providers creates Models from the environment variables, including those of
	// .env files, once Initialize has read the settings; core/standard provides
	// one. nil, without Models: there is no [Config.Client].
	Providers       func(Variables) model.Source
	Limits          agent.Limits // zero fields: those of the settings, else the defaults
	Retry           agent.Retry  // likewise
	NoLoopDetection bool         // disables the detection of repeated output
	Temperature     *float64     // nil: the provider's default
	SystemPrompt    string       // replaces fettle's own text; instruction files follow it. "": fettle's own
	// Compactor returns a new compactor for each conversation, including those of
	// subagents. It shortens a history that approaches the model's limit. nil:
	// fettle's own.
	Compactor func() agent.Compactor
	Observer  agent.Observer // observes the client; derived Configs share it. nil: none
	Steps     agent.Steps    // run in prompts and requests; derived Configs share them
}

// Opening configures the start of a conversation. The zero value is an empty
// conversation that is not recorded.
type Opening struct {
	Recorder agent.Recorder  // records the conversation, for example a [recordings.Recording]
	History  []model.Content // of a resumed session
	// Agents records the runs of subagents. nil: they are not recorded.
	Agents *recordings.Store
}

// Client returns this Config's conversation with the model, the same at each call
// until Converse begins a new one. The error has code not_initialized, or
// invalid_config without models; see Parameters.Conversation.Models.
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

// Converse begins a new conversation with the model, which Client returns from
// then on. The record of files shown to the model is unchanged: see
// StartNewSession and Resume. The errors are those of Client.
func (c *Config) Converse(o Opening) (*agent.Client, error) {
	s, err := c.own("Converse")
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.converse(s, o)
}

// converse implements Converse. The caller holds c.mu.
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

// record adds a recorder, which may be nil, and a new Compactor to the options of
// a conversation.
func (c *Config) record(s *session, o *agent.Options, recorder agent.Recorder) {
	o.Recorder = recorder
	s.hooks.RecordedIn("")
	if r, ok := recorder.(*recordings.Recording); ok && r != nil {
		s.hooks.RecordedIn(r.Path())
	}
	var own agent.Compactor
	if given := c.params().Conversation.Compactor; given != nil {
		if own = given(); own == nil {
			return // the history is never shortened
		}
	} else {
		var keeps compact.Options
		if r, ok := recorder.(*recordings.Recording); ok {
			keeps.Save = r.Save // shortened answers
		}
		own = compact.New(keeps)
	}
	o.Compactor = s.history.Compactor(own, s.hooks.Compacting)
}

// clientOptions returns the options of this Config's own conversation, without
// those that record adds.
func (c *Config) clientOptions(s *session) (agent.Options, error) {
	p := c.params()
	if p.Conversation.Models == nil {
		return agent.Options{}, fault.New(fault.InvalidConfig, "config.client", "This session has no models.",
			"Set Parameters.Conversation.Models, as core/standard does.")
	}
	talk := p.Conversation
	o := agent.Options{
		Source: c.models(s), Model: c.Model,
		Tools:     func() []model.Tool { return modelTools(s.registry) },
		Deferred:  s.catalog.Deferred,
		Scheduler: s.scheduler,
		System:    c.SystemPrompt,
		Restate:   s.history.AfterCompaction,
		Withdrawn: s.history.Withdrawn, Cleared: s.cleared,
		Observer: talk.Observer, Steps: s.hooks.Steps(talk.Steps),
		Limits: talk.Limits, Retry: talk.Retry, NoLoopDetection: talk.NoLoopDetection, Temperature: talk.Temperature,
		Bus: c.bus, Now: p.Environment.Now, Logger: p.Environment.Logger,
	}
	if c.parent != nil {
		o.Purpose = model.PurposeSubagent
	} else {
		o.Steps = s.shared.checkpoints.Steps(o.Steps)
	}
	if p.Instructions.AsMessages {
		o.Reminders = s.history.Instructions
	}
	if p.Environment.DebugMode {
		o.Steps.BeforeRequest = slices.Concat(o.Steps.BeforeRequest, []agent.BeforeRequest{c.logRequest}) // the slice of the Parameters is shared
	}
	return o, nil
}

// modelTools returns the declarations of the tools for a model.
func modelTools(r *tools.Registry) []model.Tool {
	declared := r.Declarations()
	all := make([]model.Tool, len(declared))
	for i, d := range declared {
		all[i] = model.Tool(d)
	}
	return all
}

// logRequest writes the final prompt to the debug log, with secrets masked.
func (c *Config) logRequest(ctx context.Context, r *model.Request) (agent.RequestAdvice, error) {
	log := c.params().Environment.Logger.With(slog.String("component", "MODEL_REQUEST"))
	mask := c.masker()
	log.DebugContext(ctx, "system prompt", slog.String("model", r.Model), slog.String("text", mask(r.System)))
	if len(r.Contents) > 0 { // earlier turns were logged with earlier requests
		last := r.Contents[len(r.Contents)-1]
		for _, part := range last.Parts {
			log.DebugContext(ctx, "turn", slog.Int("number", len(r.Contents)), slog.String("role", string(last.Role)), slog.String("part", mask(describePart(part))))
		}
	}
	return agent.RequestAdvice{}, nil
}

// describePart formats a part of a turn as text.
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

// masker returns a function that masks the session's secrets, literally and in
// JSON, and text of the shape of a secret.
func (c *Config) masker() func(text string) string {
	var m redact.Masker
	m.Add(c.family.extensions.Secrets()...)
	m.Add(c.params().Environment.Secrets...)
	return m.Text
}

// Restate is called when compaction has replaced the history. It clears the cache
// of this Config only and continues its versions. It then reads the files in use
// again, that is those shown completely and used last, as read_file would, with
// its limits for each file, under new versions, and records them as read. So the
// next change of such a file requires no read, and a read of it is answered by a
// placeholder, because the history contains the content. A file that is missing,
// cannot be read, or that read_file may not show or only with approval, is listed
// with the reason. At most 10 files are read, with at most an eighth of the maximum
// size of a request, as given by Conversation.Limits or known of the current model,
// at 4 bytes per token, and at most 512 KiB; further files are listed by name. With
// Instructions.AsMessages, the instructions found by file accesses become pending
// again.
//
// The result is one part for the history, or none if no file was in use, which
// includes a disabled cache. The part is a JSON object with the members kind,
// which marks it and of which a history contains at most one, notice, files, the
// state objects, the most recently used first, where an error replaces a file
// that cannot be restated, and read_again, the names of further files in use, in
// the same order. After an error, of code
// not_initialized or cancelled, no file counts as read. The conversation's client
// calls Restate, and not concurrently with another of its requests.
func (c *Config) Restate(ctx context.Context) ([]model.Part, error) {
	s, err := c.own("Restate")
	if err != nil {
		return nil, err
	}
	return s.history.Restate(ctx, history.RestateOptions{})
}

// tokenLimit returns the maximum number of tokens of a request of this
// conversation.
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

// Declarations returns the tools to declare to the model at the moment, in order,
// for a loop of the embedder's own: those of [tools.Registry.Declarations], with
// schemas adapted to the provider's dialect d by [model.AdaptSchema]. Call it for
// each request: the list depends on the approval mode, the model, the settings,
// the MCP servers and the results of tool_search. The schemas must not be modified. The
// error has code not_initialized, or is a [*model.Error] that names a tool which
// cannot be declared.
func (c *Config) Declarations(d model.Dialect) ([]model.Tool, error) {
	s, err := c.own("Declarations")
	if err != nil {
		return nil, err
	}
	name := c.Model()
	c.useModel(s, name, s.dialects.resolve(name))
	return model.AdaptTools(modelTools(s.registry), d)
}

// RunCalls runs the calls of one model answer through policy, approval and
// execution, like [scheduler.Scheduler.RunAll], for a loop of the embedder's own.
// It always returns the responses for the model and the outcomes, one per call and
// in the order of the calls. The error has code
// not_initialized; no call was run then.
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

// PriorAnswer is the user's answer to a question that an earlier attempt of a call has
// left open.
type PriorAnswer struct {
	Question bus.ToolConfirmationRequest
	Answer   bus.ToolConfirmationResponse // RunCall sets its CorrelationID
}

// RunCall runs one call through policy, approval and execution for a host that
// cannot wait for the user during a call, for example a framework that ends a run
// to ask and starts it again with the answer. If the call asks a question that no
// subscriber of the message bus answers, the call ends without an effect and the
// question is returned as open; otherwise open is nil. The host asks the user,
// and repeats the same call with the answer as given, which is nil at first.
//
// The answer applies to the question as shown: if the call would do something
// else by now, for example because the file has changed, or if other answers are
// offered, its question is left open again. An answer is used once. Each attempt
// is a call of its own for steps and observers; questions of subagents started by
// the call go to the bus only. A call without an ID receives one for its events.
// RunCall is safe for concurrent use; concurrent calls are not ordered (see
// RunCalls), and each requires an ID of its own. The error has code
// not_initialized.
func (c *Config) RunCall(ctx context.Context, call model.FunctionCall, given *PriorAnswer) (answer model.FunctionResponse, r scheduler.Response, open *bus.ToolConfirmationRequest, err error) {
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
				_ = c.bus.Publish(answer) // refused if the call has ended, or another front end was faster
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
		open = nil // another front end has answered, or the call was cancelled
	}
	return agent.Answer(call, r), r, open, nil
}

// sameQuestion reports whether two questions are about the same call, show the
// same content, and offer the same answers with the same meaning.
func sameQuestion(a, b bus.ToolConfirmationRequest) bool {
	shown := func(q bus.ToolConfirmationRequest) (decoded any) {
		raw, err := json.Marshal([]any{q.ServerName, q.ToolAnnotations, q.ToolCall, q.Details, q.Modified, q.Outcomes, q.Remembers})
		if err != nil {
			return nil
		}
		d := json.NewDecoder(bytes.NewReader(raw)) // so that the order of keys does not matter
		d.UseNumber()                              // keeps all digits
		if err := d.Decode(&decoded); err != nil {
			return nil
		}
		return decoded
	}
	x, y := shown(a), shown(b)
	return x != nil && reflect.DeepEqual(x, y)
}
