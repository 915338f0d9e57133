package subagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
)

// depthKey is the context key of a run's nesting depth.
type depthKey struct{}

// run is one run of an agent.
type run struct {
	*Runner
	agent    *prepared
	session  *Session
	gate     *gate
	client   *agent.Client
	activity *activity
	changes  *changes

	turns int
	text  strings.Builder // of the last answer
	open  map[string]bool // unanswered calls of this turn
}

// run runs an agent and closes its session.
func (r *Runner) run(ctx context.Context, p *prepared, params json.RawMessage, out tools.Output) Outcome {
	depth, _ := ctx.Value(depthKey{}).(int)
	if depth++; depth > r.o.Depth {
		return ended(p, Failed, fault.New(fault.PolicyViolation, "subagent.run", "Agents may not call agents here.", "Do the work yourself."))
	}
	s, err := r.o.Host.Begin(ctx, &p.Definition)
	if err != nil {
		return r.notBegun(ctx, p, err)
	}
	ctx, changed := collectChanges(context.WithValue(ctx, depthKey{}, depth))
	all := changed.parent
	if s.Settle != nil {
		changed.parent = nil // those of a fork are no changes of the caller's files
	}
	e := &run{Runner: r, agent: p, session: s, changes: changed, open: make(map[string]bool),
		activity: &activity{name: p.Name, run: bus.NewID()[:8], out: out}}
	if r.o.Bus != nil {
		e.activity.to = r.o.Bus
	}
	o := e.work(ctx, params, depth < r.o.Depth)
	if s.Settle != nil {
		o.Merge, o.Changed = s.Settle(ctx, o.Reason == Goal)
		all.add(o.Changed, false)
	}
	return e.close(o)
}

// notBegun returns the outcome of a run whose session could not be created.
func (r *Runner) notBegun(ctx context.Context, p *prepared, err error) Outcome {
	if ctx.Err() != nil {
		return ended(p, Aborted, nil)
	}
	f := fault.As(err)
	if f == nil {
		r.o.Logger.Error("the session of an agent could not be created", "agent", p.Name, "error", err)
		f = fault.Wrap(fault.AgentFailed, "subagent.run", "Its session could not be created.", "", err)
	}
	return ended(p, Failed, f)
}

// ended returns the outcome of a run that did nothing.
func ended(p *prepared, reason Reason, cause *fault.Error) Outcome {
	return Outcome{Agent: p.Name, Reason: reason, Err: failure(p, reason, "", cause)}
}

// close ends the session and adds its changes.
func (e *run) close(o Outcome) Outcome {
	if e.session.Settle == nil {
		if e.session.Changed != nil {
			e.changes.add(e.session.Changed(), false)
		}
		o.Changed, o.Other = e.changes.list()
	}
	o.Text = Cut(o.Text, e.o.MaxReport, 0)
	if e.session.Close != nil {
		if err := e.session.Close(); err != nil {
			e.o.Logger.Warn("the session of an agent did not close without an error", "agent", e.agent.Name, "error", err)
		}
	}
	return o
}

// work creates the conversation and runs it.
func (e *run) work(ctx context.Context, params json.RawMessage, mayCall bool) Outcome {
	prompt, err := e.prepare(params, mayCall)
	if err != nil {
		f := fault.As(err)
		if f == nil {
			f = fault.Wrap(fault.AgentFailed, "subagent.run", "Its conversation could not be started.", "", err)
		}
		return ended(e.agent, Failed, f)
	}
	limit := e.agent.MaxTime
	if limit <= 0 {
		limit = DefaultMaxTime
	}
	inTime, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	inTime, clock := startClock(inTime, limit, func() { cancel(errTimeout) })
	defer clock.stop()
	watched, endWatch := watchWaiting(ctx, e.o.Bus, e.session.SchedulerID, e.session.Registry.All(), clock)
	defer endWatch()
	e.gate.waiting = watched

	reason, cause := e.converse(ctx, inTime, prompt)
	clock.stop()
	if reason == Timeout || reason == MaxTurns || reason == NoCompleteTask {
		e.grace(ctx, reason)
	}
	o := Outcome{Agent: e.agent.Name, Reason: reason, Turns: e.turns, Usage: e.client.Usage()}
	switch {
	case e.gate.done:
		o.Reason, o.Report, o.Text = Goal, e.gate.report, e.gate.text
		return o
	case ctx.Err() != nil:
		o.Reason = Aborted
	}
	o.Text = strings.TrimSpace(e.text.String())
	bound := amount(limit)
	if reason == MaxTurns {
		bound = fmt.Sprintf("%d turns", e.maxTurns())
	}
	o.Err = failure(e.agent, o.Reason, bound, cause)
	return o
}

func (e *run) maxTurns() int {
	if e.agent.MaxTurns > 0 {
		return e.agent.MaxTurns
	}
	return DefaultMaxTurns
}

// prepare creates the gate and the client, and returns the first turn.
func (e *run) prepare(params json.RawMessage, mayCall bool) (prompt string, err error) {
	s := e.session
	if s.Agent.Source == nil || s.Agent.Model == nil || s.Agent.Scheduler == nil || s.Registry == nil {
		return "", errors.New("subagent: the host's session lacks a source, a model, a scheduler or a registry")
	}
	all := values(params, e.o.Now(), s.Agent.Model())
	system, err := Expand(e.agent.Prompt, all)
	if err != nil {
		return "", err
	}
	if prompt = queryOf(params); e.agent.Query != "" {
		if prompt, err = Expand(e.agent.Query, all); err != nil {
			return "", err
		}
	}
	history, err := expandTurns(e.agent.InitialMessages, all)
	if err != nil {
		return "", err
	}
	if e.gate, err = newGate(e.agent, s, mayCall); err != nil {
		return "", err
	}
	e.gate.changes = e.changes
	o := s.Agent
	o.Scheduler, o.Tools, o.History = e.gate, e.gate.declarations, history
	o.System = systemPrompt(strings.TrimSpace(system)+"\n\n"+fmt.Sprintf(rules, e.agent.field), s.Agent.System)
	o.Limits.PromptTurns, o.Limits.SessionTurns, o.Limits.Time = e.maxTurns(), 0, 0
	o.Purpose = model.PurposeSubagent
	if e.agent.Temperature != nil {
		o.Temperature = e.agent.Temperature
	}
	e.client, err = agent.New(o)
	return prompt, err
}

// systemPrompt returns the agent's prompt followed by that of the session.
func systemPrompt(own string, more func(context.Context) (string, error)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if more == nil {
			return own, nil
		}
		text, err := more(ctx)
		if err != nil || strings.TrimSpace(text) == "" {
			return own, err
		}
		return own + "\n\n" + text, nil
	}
}

// expandTurns returns turns with values expanded in their texts; it copies them.
func expandTurns(turns []model.Content, values map[string]string) ([]model.Content, error) {
	var out []model.Content
	for _, c := range turns {
		c.Parts = slices.Clone(c.Parts)
		for i := range c.Parts {
			text, err := Expand(c.Parts[i].Text, values)
			if err != nil {
				return nil, err
			}
			c.Parts[i].Text = text
		}
		out = append(out, c)
	}
	return out, nil
}

// rules explains to every agent how its run works; %s is the argument of complete_task for the
// report.
const rules = `# How this run works

You work on your own, as a subagent: the text that you write between calls is not read, and questions are not answered. The agent that called you receives only the argument of complete_task.

- Work by calling tools, until the task is done. A turn without a call ends the run as failed.
- When the task is done, call complete_task with the argument %s. When it cannot be done, call complete_task as well and say why, and how far you came.
- Do not call complete_task together with calls whose outcome you have to see first.
- A call that the user declines does not end the run: find another way, or continue without it.
- Turns and time are limited. Leave yourself enough of both to report.`

// converse runs the conversation until it ends. all is the context of the call, inTime the one with
// the run's time limit.
func (e *run) converse(all, inTime context.Context, prompt string) (Reason, *fault.Error) {
	for event := range e.client.Run(inTime, model.TextPart(prompt)) {
		e.note(event)
		if e.gate.done && len(e.open) == 0 {
			return Goal, nil
		}
		if event.Type.Ends() {
			return e.endedBy(all, inTime, event)
		}
	}
	return Failed, nil
}

// note records an event of the conversation.
func (e *run) note(event agent.Event) {
	e.activity.event(event)
	switch event.Type {
	case agent.EventText:
		e.text.WriteString(event.Text)
	case agent.EventRetry:
		e.text.Reset()
	case agent.EventFinished:
		e.turns++
	case agent.EventToolCall:
		if event.Call != nil {
			e.open[event.Call.ID] = true
		}
	case agent.EventToolResponse:
		if event.Call != nil {
			delete(e.open, event.Call.ID)
		}
		if len(e.open) == 0 {
			e.text.Reset() // the next answer begins
		}
	}
}

// endedBy converts the last event to the reason of the end.
func (e *run) endedBy(all, inTime context.Context, event agent.Event) (Reason, *fault.Error) {
	switch {
	case all.Err() != nil:
		return Aborted, nil
	case errors.Is(context.Cause(inTime), errTimeout):
		return Timeout, nil
	}
	switch event.Type {
	case agent.EventDone:
		return NoCompleteTask, nil
	case agent.EventLimit:
		return MaxTurns, nil
	case agent.EventCancelled, agent.EventStopped, agent.EventBlocked:
		if event.Text != "" {
			return Aborted, fault.New(fault.StopExecution, "subagent.run", event.Text, "")
		}
		return Aborted, event.Err
	}
	return Failed, event.Err
}

// grace gives an agent without a report one more turn, in which it can only report.
func (e *run) grace(ctx context.Context, reason Reason) {
	ctx, cancel := context.WithTimeout(ctx, e.o.Grace)
	defer cancel()
	e.client.SetTools(func() []model.Tool { return []model.Tool{e.agent.tool} })
	clear(e.open)
	text := e.text.String()
	e.text.Reset()
	for event := range e.client.SendStream(ctx, model.TextPart(graceMessage(reason, e.agent.field))) {
		e.note(event)
		if call := event.Call; event.Type == agent.EventToolCall && call != nil && call.Name == completeTask && !e.gate.done {
			if report, text, err := e.agent.accept(call.Args); err == nil {
				e.gate.done, e.gate.report, e.gate.text = true, report, text
			}
		}
	}
	if strings.TrimSpace(e.text.String()) == "" {
		e.text.WriteString(text)
	}
}

func graceMessage(reason Reason, field string) string {
	because := "You stopped without calling complete_task."
	switch reason {
	case Timeout:
		because = "The time limit of this task is reached."
	case MaxTurns:
		because = "You have used all turns of this task."
	}
	return because + fmt.Sprintf(" This is your last turn, and complete_task is the only tool left. Call it now, with your findings or results so far "+
		"as its argument %s; state the missing parts.", field)
}
