package scheduler_test

import (
	"context"
	"encoding/json"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// fake is a tool and its own invocation; nil functions behave correctly. It records its steps.
type fake struct {
	kind    tools.Kind
	effects []tools.Effect
	build   func(args json.RawMessage) error
	confirm func(ctx context.Context) (*tools.Confirmation, error)
	run     func(ctx context.Context, out tools.Output) (tools.Result, error)
	spec    func(s *tools.Spec)

	files  []string
	params json.RawMessage
	steps  []string
}

func (f *fake) Spec() tools.Spec {
	spec := tools.Spec{
		Name: "fake", Aliases: []string{"phony"}, GovernedBy: []string{"elder"}, Description: "A fake.",
		Kind: f.kind, Effects: f.effects, Schema: json.RawMessage(`{}`),
	}
	if f.spec != nil {
		f.spec(&spec)
	}
	return spec
}

func (f *fake) Build(args json.RawMessage) (tools.ToolInvocation, error) {
	f.steps = append(f.steps, "build")
	if f.build != nil {
		if err := f.build(args); err != nil {
			return nil, err
		}
	}
	f.params = json.RawMessage(`{"final":` + string(args) + `}`)
	return f, nil
}

func (f *fake) Params() json.RawMessage     { return f.params }
func (f *fake) Description() string         { return "fakes something" }
func (f *fake) Files() []string             { return f.files }
func (f *fake) Locations() []tools.Location { return nil }

func (f *fake) Confirmation(ctx context.Context) (*tools.Confirmation, error) {
	f.steps = append(f.steps, "confirm")
	if f.confirm != nil {
		return f.confirm(ctx)
	}
	return nil, nil
}

func (f *fake) Execute(ctx context.Context, out tools.Output) (tools.Result, error) {
	f.steps = append(f.steps, "execute")
	if f.run != nil {
		return f.run(ctx, out)
	}
	return tools.Result{LLMContent: tools.Text("done")}, nil
}

// Lookup makes the fake a set of tools.
func (f *fake) Lookup(name string) (tools.DeclarativeTool, error) {
	if name == "fake" || name == "phony" {
		return f, nil
	}
	return nil, fault.New(fault.ToolNotRegistered, "lookup", "There is no such tool.", "Try another.")
}

// stub is a policy made of functions.
type stub struct {
	decide      func(c policy.Call) policy.Decision
	paths       []string
	prepare     func(c *policy.Call)
	remember    func(c policy.Call, s policy.Scope) ([]policy.Rule, error)
	canRemember func(s policy.Scope) bool
}

func (p *stub) Decide(c policy.Call) policy.Decision { return p.decide(c) }
func (p *stub) Paths(policy.Call) []string           { return p.paths }

func (p *stub) Prepare(c *policy.Call) {
	if p.prepare != nil {
		p.prepare(c)
	}
}

func (p *stub) Remember(_ context.Context, c policy.Call, s policy.Scope, _ []string) ([]policy.Rule, error) {
	return p.remember(c, s)
}

func (p *stub) CanRemember(c policy.Call, s policy.Scope) []policy.Rule {
	if p.canRemember == nil || !p.canRemember(s) {
		return nil
	}
	return []policy.Rule{{Tools: []string{c.Tool}, Decision: policy.Allow, Subagent: string(s)}}
}

// setup is a scheduler over a fake, with a user who answers, and records of the calls.
type setup struct {
	*fake
	policy    *stub
	options   scheduler.Options
	answer    func(q bus.ToolConfirmationRequest) bus.ToolConfirmationResponse // nil: no front end
	decided   []policy.Call
	questions []bus.ToolConfirmationRequest
	defects   []error
}

func newSetup(kind tools.Kind, verdict policy.Verdict, outcome bus.Outcome) *setup {
	s := &setup{fake: &fake{kind: kind}}
	s.policy = &stub{decide: func(c policy.Call) policy.Decision {
		s.steps = append(s.steps, "decide")
		s.decided = append(s.decided, c)
		return policy.Decision{Explanation: confirmation.Explanation{Decision: verdict, Reason: "Because."}}
	}}
	s.answer = func(bus.ToolConfirmationRequest) bus.ToolConfirmationResponse { return answerWith(outcome) }
	s.options = scheduler.Options{
		Tools:    s.fake,
		Policy:   s.policy,
		OnDefect: func(err error) { s.defects = append(s.defects, err) },
	}
	return s
}

// answerWith returns a valid answer.
func answerWith(o bus.Outcome) bus.ToolConfirmationResponse {
	return bus.ToolConfirmationResponse{Outcome: o, Confirmed: o != bus.Cancel}
}

func (s *setup) call(ctx context.Context) scheduler.Response {
	return s.calls(ctx, scheduler.Request{CallID: "c1", Tool: "phony", Args: json.RawMessage("1")})[0]
}

// calls runs calls with a new bus, and closes it.
func (s *setup) calls(ctx context.Context, requests ...scheduler.Request) []scheduler.Response {
	b := bus.New(bus.Options{})
	defer func() { _ = b.Close() }()
	if s.answer != nil {
		bus.Subscribe(context.Background(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
			s.steps = append(s.steps, "ask")
			s.questions = append(s.questions, q)
			a := s.answer(q)
			a.CorrelationID = q.CorrelationID
			_ = b.Publish(a)
		})
	}
	s.options.Bus = b
	run := scheduler.New(s.options)
	if len(requests) == 1 {
		return []scheduler.Response{run.Run(ctx, requests[0])}
	}
	return run.RunAll(ctx, requests)
}
