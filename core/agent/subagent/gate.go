package subagent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// gate precedes the scheduler of a run. It answers complete_task itself, and passes on only calls
// of the agent's own tools.
type gate struct {
	agent   *prepared
	inner   agent.Scheduler
	reg     Registry
	names   map[string]tools.Spec // the agent's tools, by name and alias
	waiting *waiting
	changes *changes

	done   bool // complete_task has succeeded
	report json.RawMessage
	text   string
}

// newGate finds the agent's tools. It registers the definition's Values first.
func newGate(p *prepared, s *Session, mayCall bool) (*gate, error) {
	for _, v := range p.Values {
		if err := s.Registry.Register(v); err != nil {
			return nil, err
		}
	}
	g := &gate{agent: p, inner: s.Agent.Scheduler, reg: s.Registry, names: make(map[string]tools.Spec)}
	var available []tools.DeclarativeTool
	for _, t := range s.Registry.All() {
		if _, is := t.(AgentTool); !is || mayCall {
			available = append(available, t)
		}
	}
	chosen, _ := p.Select(Within(s.Outer, available))
	for _, t := range available {
		if slices.Contains(s.Granted, t.Spec().Name) {
			chosen = append(chosen, t)
		}
	}
	for _, t := range append(chosen, p.Values...) {
		spec := t.Spec()
		for _, name := range append(slices.Clone(spec.Aliases), spec.Name) {
			g.names[name] = spec
		}
	}
	delete(g.names, completeTask) // reserved for the run
	return g, nil
}

// declarations returns the tool declarations for the model.
func (g *gate) declarations() []model.Tool {
	all := g.reg.Declarations()
	declared := make([]model.Tool, 0, len(g.names)+1)
	for _, d := range all {
		if _, ok := g.names[d.Name]; ok {
			declared = append(declared, model.Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters})
		}
	}
	return append(declared, g.agent.tool)
}

// RunAll runs the calls of the agent's tools in order. It ends with the first complete_task that is
// accepted; later calls do not run.
func (g *gate) RunAll(ctx context.Context, requests []scheduler.Request) []scheduler.Response {
	g.waiting.begin()
	defer g.waiting.end()
	responses := make([]scheduler.Response, len(requests))
	for i := 0; i < len(requests); {
		end := i
		for end < len(requests) && g.passes(requests[end]) {
			end++
		}
		if end > i {
			for n, resp := range g.inner.RunAll(ctx, requests[i:end]) {
				responses[i+n] = resp
				g.changes.note(resp, g.names[resp.Tool])
			}
			i = end
			continue
		}
		responses[i] = g.answer(ctx, requests[i])
		i++
	}
	return responses
}

// passes reports whether the scheduler runs the call.
func (g *gate) passes(r scheduler.Request) bool {
	_, ok := g.names[r.Tool]
	return ok && r.Tool != completeTask && !g.done
}

// answer answers a call that the scheduler does not receive.
func (g *gate) answer(ctx context.Context, r scheduler.Request) scheduler.Response {
	switch {
	case g.done:
		return refused(r, scheduler.StatusCancelled, fault.New(fault.Cancelled, "subagent.run", fmt.Sprintf("The call of %s was not started, because the task is complete.", escape.Clip(escape.Line(r.Tool), 60)), ""))
	case ctx.Err() != nil:
		return refused(r, scheduler.StatusCancelled, fault.New(fault.Cancelled, "subagent.run", fmt.Sprintf("The call of %s was cancelled.", escape.Clip(escape.Line(r.Tool), 60)), ""))
	case r.Tool == completeTask:
		return g.complete(r)
	}
	return refused(r, scheduler.StatusDenied, g.unauthorized(r.Tool))
}

func (g *gate) complete(r scheduler.Request) scheduler.Response {
	report, text, err := g.agent.accept(r.Args)
	if err == nil {
		g.done, g.report, g.text = true, report, text
	}
	return completed(r, err)
}

// unauthorized returns the error for a call of a tool that the agent does not have.
func (g *gate) unauthorized(name string) *fault.Error {
	var names []string
	for _, d := range g.declarations() {
		names = append(names, d.Name)
	}
	return fault.New(fault.ToolNotRegistered, "subagent.run", fmt.Sprintf("Unauthorized: the agent %s has no tool named %s.", g.agent.Name, quoted(name)),
		"Continue with the tools that you have: "+strings.Join(names, ", ")+".").Because(Unauthorized)
}

// Unauthorized is the reason of a call to a tool that the agent does not have.
const Unauthorized fault.Reason = "unauthorized"

func refused(r scheduler.Request, status scheduler.Status, err *fault.Error) scheduler.Response {
	return scheduler.Response{CallID: r.CallID, Tool: r.Tool, Status: status, Result: tools.Fail(err)}
}
