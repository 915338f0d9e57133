package sessionhooks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
	"github.com/fettle-dev/fettle/core/internal/hookrun"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/toollist"
)

// subjectOf returns the names that matchers are compared with: those of the tool,
// those that govern it, for a server's tool those in the server's own spelling,
// and those of other programs for such a tool.
func subjectOf(s tools.Spec) hookrun.Subject {
	names := slices.Concat([]string{s.Name}, s.Aliases, s.GovernedBy)
	if known, ok := policy.WellKnown(s.Name); ok {
		names = slices.Concat(names, []string{known.Tool}, known.Aliases)
		if s.Kind == "" || s.Mutates() || !known.Mutates { // names about changes do not govern a call that makes none
			names = append(names, known.GovernedBy...)
		}
	}
	if s.Origin.Server != "" {
		names = append(names, "mcp_"+s.Origin.Server+"_"+s.ServerTool(), "mcp__"+s.Origin.Server+"__"+s.ServerTool())
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var elsewhere []string
	if s.Origin == (tools.Origin{}) {
		for _, name := range names {
			elsewhere = append(elsewhere, toollist.NamesElsewhere(name)...)
		}
	}
	return hookrun.Subject{Names: names, Elsewhere: elsewhere}
}

// anyAgent is the name of every agent in matchers.
const anyAgent = "invoke_agent"

// subject returns the names of a session's tool for matchers: an agent also has
// the name of all agents.
func (c *Conversation) subject(spec tools.Spec) hookrun.Subject {
	subject := subjectOf(spec)
	if t, err := c.of.Tools.Lookup(spec.Name); err == nil {
		if _, is := t.(subagent.AgentTool); is {
			all := subjectOf(tools.Spec{Name: anyAgent})
			subject.Names, subject.Elsewhere = append(subject.Names, all.Names...), append(subject.Elsewhere, all.Elsewhere...)
		}
	}
	return subject
}

// toolInput returns the input of a hook about a call.
func (c *Conversation) toolInput(ctx context.Context, e hooks.Event, p scheduler.Proposal) hooks.Input {
	in := hooks.Input{Event: e, ToolName: p.Spec.Name, ToolInput: p.Args, OriginalRequestName: tailOf(ctx).original}
	if len(in.ToolInput) == 0 {
		in.ToolInput = json.RawMessage("{}")
	}
	if server := p.Spec.Origin.Server; server != "" {
		in.MCPContext = c.set.mcpContext(server, p.Spec.ServerTool())
	}
	return in
}

// mcpContext describes the server of a tool, without environment, headers or the
// query of an address.
func (s *Set) mcpContext(server, tool string) *hooks.MCPContext {
	m := &hooks.MCPContext{ServerName: server, ToolName: tool}
	for _, from := range s.o.Servers() {
		if from.Name != server {
			continue
		}
		mask := s.o.Mask()
		m.Command, m.URL, m.TCP = mask(from.Command), mask(plainAddress(from.URL)), mask(plainAddress(from.TCP))
		for _, arg := range from.Args {
			m.Args = append(m.Args, mask(arg))
		}
		if from.Command != "" {
			m.CWD = from.Dir
		}
	}
	return m
}

// plainAddress returns an address without a password and without the part after
// its path.
func plainAddress(url string) string {
	url, _, _ = strings.Cut(url, "?")
	scheme, rest, found := strings.Cut(url, "://")
	if !found {
		return url
	}
	host, path, slash := strings.Cut(rest, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	if slash {
		path = "/" + path
	}
	return scheme + "://" + host + path
}

// BeforeTool runs the hooks before a call. An allowance by hooks changes nothing,
// so that they can only tighten.
func (c *Conversation) BeforeTool(ctx context.Context, p scheduler.Proposal) (scheduler.Advice, error) {
	if !c.Any(hooks.BeforeTool) {
		return scheduler.Advice{}, nil
	}
	effect := c.fireQuietly(ctx, c.toolInput(ctx, hooks.BeforeTool, p), c.subject(p.Spec))
	if effect.Stop || effect.Decision != hooks.Ask { // otherwise they are in the question
		c.tellMessages(hooks.BeforeTool, effect)
	}
	advice := scheduler.Advice{Reason: effect.Reason, Source: sourceOf(effect)}
	switch {
	case effect.Stop:
		advice.Stop, advice.Reason = true, effect.StopReason
		return advice, nil
	case effect.Decision == hooks.Block:
		advice.Verdict = policy.Deny
		return advice, nil
	case effect.Decision == hooks.Ask:
		advice.Verdict = policy.AskUser
		advice.Reason = askReason(effect)
	}
	if effect.ToolInput != nil {
		advice.Args, advice.ArgsBy = hookrun.Overlay(p.Args, effect.ToolInput), "hook "+effect.Rewriters
	}
	return advice, nil
}

// askReason returns the text of a question: the reason, and further messages of
// the hooks.
func askReason(e hookresult.Effect) string {
	reason := e.Reason
	for _, m := range e.Messages {
		if !m.Quiet {
			reason += "\n" + m.Text
		}
	}
	return reason
}

// sourceOf returns the names of the hooks behind an effect.
func sourceOf(e hookresult.Effect) string {
	if e.By != "" {
		return "hook " + e.By
	}
	return "a hook"
}

// AfterTool runs the hooks after a call.
func (c *Conversation) AfterTool(ctx context.Context, d scheduler.Done, r tools.Result) (tools.Result, error) {
	if !c.Any(hooks.AfterTool) {
		return r, nil
	}
	in := c.toolInput(ctx, hooks.AfterTool, d.Proposal)
	in.ToolResponse = toolResponse(r)
	effect := c.fire(ctx, in, c.subject(d.Spec))
	switch {
	case effect.Stop:
		return r.WithError(fault.New(fault.StopExecution, "config.hooks",
			fmt.Sprintf("After the call of %s the turn was stopped by %s. %s", d.Spec.Name, sourceOf(effect), effect.StopReason),
			"Stop, and tell the user what happened.")), nil
	case effect.Decision == hooks.Block:
		r = tools.Fail(fault.New(fault.ExecutionFailed, "config.hooks",
			fmt.Sprintf("The call of %s has run, and its result is withheld by %s. %s", d.Spec.Name, sourceOf(effect), effect.Reason),
			"The effects of the call remain. Follow the reason."))
	case effect.TailToolCall != nil:
		r = c.tailCall(ctx, d, *effect.TailToolCall, r)
	}
	if effect.AdditionalContext != "" {
		r = r.WithContext(c.set.context(effect.AdditionalContext))
	}
	return r, nil
}

// toolResponse converts a result for hooks.
func toolResponse(r tools.Result) *hooks.ToolResponse {
	encoded := func(v any, present bool) json.RawMessage {
		if text, err := json.Marshal(v); err == nil && present {
			return text
		}
		return json.RawMessage("null")
	}
	response := &hooks.ToolResponse{LLMContent: encoded(r.LLMContent, true), ReturnDisplay: encoded(r.ReturnDisplay, r.ReturnDisplay != (tools.Display{}))}
	if r.Error != nil {
		response.Error = encoded(r.Error, true)
	}
	return response
}

// context returns the context of hooks for the model, with secrets masked. Its
// text cannot close the enclosing tags.
func (s *Set) context(text string) string {
	text = strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(s.o.Mask()(text))
	return "<" + hookContextTag + ">" + tools.EscapeTag(text, hookContextTag) + "</" + hookContextTag + ">"
}

const hookContextTag = "hook_context"

// tail is the position of a call in a chain of tail calls.
type tail struct {
	original string // the tool that the model called; "": it is that call
	depth    int
}

type tailKey struct{}

func tailOf(ctx context.Context) tail {
	t, _ := ctx.Value(tailKey{}).(tail)
	return t
}

// maxTails is the maximum number of tail calls of one call.
const maxTails = 5

// tailCall runs the call that a hook requests, through the whole pipeline, and
// returns its result in place of r, with the context of r first. The result of
// another tool is text: as JSON it would be mistaken for the output that the
// called tool has declared.
func (c *Conversation) tailCall(ctx context.Context, d scheduler.Done, call hooks.ToolCall, r tools.Result) tools.Result {
	t := tailOf(ctx)
	if t.depth++; t.depth > maxTails {
		c.tell(hooks.AfterTool, nil, bus.HookWarning, fmt.Sprintf("Hooks requested %d calls after a call of %s; no further calls are made.", maxTails, t.original))
		return r
	}
	t.original = cmp.Or(t.original, d.Spec.Name)
	resp := c.of.Run(context.WithValue(ctx, tailKey{}, t), scheduler.Request{
		CallID: fmt.Sprintf("%s-hook%d", d.CallID, t.depth), Tool: call.Name, Args: call.Args,
	})
	if resp.Tool != d.Spec.Name {
		resp.Result.Structured = nil
		resp.Result.LLMContent = tools.Content{Parts: resp.Result.LLMContent.Parts}
	}
	resp.Result.Context = r.WithContext(resp.Result.Context).Context
	return resp.Result
}

// Asked runs the notification hooks of questions. The question does not wait for
// them.
func (c *Conversation) Asked(ctx context.Context, q bus.ToolConfirmationRequest) {
	set := c.set
	if !c.Any(hooks.Notification) {
		return
	}
	in := hooks.Input{Event: hooks.Notification, NotificationType: "ToolPermission", Details: askedDetails(q),
		Message: "A call of " + q.ToolCall.Name + " waits for your approval: " + q.Details.Title}
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.closed {
		return
	}
	ctx = context.WithoutCancel(ctx) // an answer does not end it; the session does
	set.telling.Go(func() { c.fire(ctx, in, hookrun.Subject{}) })
}

// askedDetails returns the subject of a question.
func askedDetails(q bus.ToolConfirmationRequest) json.RawMessage {
	d := q.Details
	details := map[string]any{"type": string(d.Type), "title": d.Title}
	if e := d.EditDetails; e != nil {
		details["fileName"], details["filePath"], details["fileDiff"] = e.FileName, e.FilePath, e.FileDiff
		details["originalContent"], details["newContent"], details["isModifying"] = e.OriginalContent, e.NewContent, q.Modified
	}
	if e := d.ExecDetails; e != nil {
		details["command"], details["rootCommand"] = e.Command, e.RootCommand
	}
	if m := d.MCPDetails; m != nil {
		details["serverName"], details["toolName"], details["toolDisplayName"] = m.ServerName, m.ToolName, m.ToolDisplayName
	}
	if i := d.InfoDetails; i != nil {
		details["prompt"], details["urls"] = i.Prompt, i.URLs
	}
	text, err := json.Marshal(details)
	if err != nil {
		return nil // plain values can be encoded
	}
	return text
}
