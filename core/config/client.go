package config

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/agent/compact"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/redact"
	"github.com/fettle-dev/fettle/core/services/tracker"
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
	s.catalog.Load(loadedIn(opening.History)...)
	c.reopenSkills(c.shared, s, opening.History)
	s.client, c.agentRecords = client, opening.Agents
	return client, nil
}

// record gives a conversation its recorder, which may be nil, and a Compactor
// of its own.
func (c *Config) record(s *session, o *agent.Options, recorder agent.Recorder) {
	o.Recorder = recorder
	s.hooks.recordedIn("")
	if r, ok := recorder.(*Recording); ok && r != nil {
		s.hooks.recordedIn(r.Path())
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
	o.Compactor = &compactor{own, s, func(ctx context.Context, asked bool) { c.preCompress(ctx, s.hooks.of, asked) }}
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
		Restate: func(ctx context.Context, old []model.Content) ([]model.Part, error) {
			return c.restateAfter(ctx, s, old)
		},
		Withdrawn: s.withdrawn, Cleared: s.cleared,
		Observer: talk.Observer, Steps: c.checkpointSteps(s.hooks.of, c.hookSteps(s.hooks.of, s, talk.Steps)),
		Limits: talk.Limits, Retry: talk.Retry, NoLoopDetection: talk.NoLoopDetection, Temperature: talk.Temperature,
		Bus: c.bus, Now: p.Now, Logger: p.Logger,
	}
	if c.parent != nil {
		o.Purpose = model.PurposeSubagent
	}
	if p.Instructions.AsMessages {
		o.Reminders = s.dueInstructions
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

// dueInstructions are those that accesses have brought up since the last
// request, for the user's message (FT-15).
func (s *session) dueInstructions(context.Context) ([]model.Part, error) {
	given := s.tracker.Given()
	if len(given) <= s.told {
		s.told = min(s.told, len(given)) // less than before: the session was cleared
		return nil, nil
	}
	due := given[s.told:]
	s.told = len(given)
	return []model.Part{model.TextPart(tracker.Label(due))}, nil
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
	m.Add(c.extensionSecrets()...)
	m.Add(c.params().Secrets...)
	return m.Text
}
