package scheduler

import (
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// question returns the confirmation request for the call.
func (c *call) question(details *tools.Confirmation, modified bool) bus.ToolConfirmationRequest {
	shown := c.wireDetails(details)
	why := c.decision.Explanation
	var reasons []string
	if len(c.rewriters) > 0 {
		reasons = append(reasons, "The arguments of the model were changed by "+strings.Join(c.rewriters, ", ")+".")
	}
	for _, a := range c.advice {
		if a.Reason != "" {
			reasons = append(reasons, a.Reason)
		}
		if a.Source != "" && why.Source == a.Source && why.Reason == reasonOr(a.Reason) { // already shown
			why.Rule, why.Reason = "", "The "+a.Source+" asks for your approval."
		}
	}
	shown.SystemMessage = strings.Join(reasons, "\n")
	outcomes, remembers := c.outcomes(details)
	return bus.ToolConfirmationRequest{
		CorrelationID:   bus.NewID(),
		CallID:          c.request.CallID,
		ToolCall:        c.toolCall(),
		ServerName:      c.subject.Server,
		ToolAnnotations: c.subject.Annotations,
		Subagent:        c.subject.Subagent,
		Details:         shown,
		Decision:        why,
		Outcomes:        outcomes,
		Remembers:       remembers,
		Modified:        modified,
		Unasked:         c.withoutApprover(),
	}
}

// outcomes returns the outcomes that apply to the call, and the rules that the lasting ones store. An outcome that would
// not avoid the next such question is not offered.
func (c *call) outcomes(details *tools.Confirmation) (offered []bus.Outcome, remembers []bus.Remembered) {
	offered = []bus.Outcome{bus.ProceedOnce}
	if !c.tightened && !c.several && !c.narrowed && c.decision.Decision == policy.AskUser { // one of a narrowed call would include other calls of its tool
		for _, o := range bus.Outcomes() {
			if o.Until == "" || !c.offers(o.Outcome) {
				continue
			}
			if rules := c.o.Policy.CanRemember(c.subject, policy.Scope(o.Name)); len(rules) > 0 {
				offered = append(offered, o.Outcome)
				remembers = append(remembers, remembered(o.Outcome, rules))
			}
		}
	}
	if _, ok := c.inv.(tools.Modifiable); ok && details.EditDetails != nil {
		offered = append(offered, bus.ModifyWithEditor)
	}
	return append(offered, bus.Cancel), remembers
}

// remembered describes the rules that an outcome stores.
func remembered(o bus.Outcome, rules []policy.Rule) bus.Remembered {
	r := bus.Remembered{Outcome: o, Rules: make([]string, len(rules))}
	for i, rule := range rules {
		r.Rules[i] = rule.Words()
	}
	return r
}

// offers reports whether an outcome's scope suits the tool: a whole server if the tool has one, a whole tool if its
// calls do not differ by file or command.
func (c *call) offers(o bus.Outcome) bool {
	switch o {
	case bus.ProceedAlwaysServer:
		return c.subject.Server != ""
	case bus.ProceedAlwaysTool:
		return c.subject.Server != "" || c.subject.Line == nil && !touchesFiles(c.spec)
	}
	return true
}

func touchesFiles(s tools.Spec) bool {
	switch s.Kind {
	case tools.KindRead, tools.KindEdit, tools.KindDelete, tools.KindMove, tools.KindSearch:
		return true
	}
	return false
}

// scopeOf returns the scope of an outcome; "" if it applies to this call only.
func scopeOf(o bus.Outcome) policy.Scope {
	if info, _ := o.Info(); info.Until != "" {
		return policy.Scope(info.Name)
	}
	return ""
}

// defaultDetails returns the confirmation for a tool without one: the command line for a shell, else the default one.
func (c *call) defaultDetails() *tools.Confirmation {
	details := tools.DefaultConfirmation(c.spec, c.inv)
	if c.subject.Line != nil {
		details.Type, details.InfoDetails = tools.ConfirmExec, nil
		details.ExecDetails = &tools.ExecDetails{Command: c.subject.Line.Source}
	}
	return details
}

// named fills in the programs of a command line if the tool has not named them.
func (c *call) named(d *tools.Confirmation) *tools.Confirmation {
	if d.ExecDetails == nil || d.RootCommand != "" && len(d.RootCommands) > 0 {
		return d
	}
	exec, filled := *d.ExecDetails, *d // the tool's own value stays unmodified
	if len(exec.RootCommands) == 0 {
		exec.RootCommands = append([]string{}, c.subject.Programs()...)
	}
	if exec.RootCommand == "" {
		exec.RootCommand = strings.Join(exec.RootCommands, ", ")
	}
	filled.ExecDetails = &exec
	return &filled
}

// wireDetails returns the confirmation for a front end, including the parts of a command line.
func (c *call) wireDetails(d *tools.Confirmation) bus.Confirmation {
	shown := bus.Confirmation{Type: d.Type, Title: d.Title, EditDetails: d.EditDetails, InfoDetails: d.InfoDetails, Paths: d.Paths, Bases: d.Bases}
	if e := d.ExecDetails; e != nil {
		exec := *e
		exec.Parts = c.decision.Parts
		shown.ExecDetails = &exec
	}
	if m := d.MCPDetails; m != nil {
		shown.MCPDetails = wireMCP(*m)
	}
	return shown
}

// wireMCP returns the details of an MCP tool, without arguments that cannot be encoded.
func wireMCP(m tools.MCPDetails) *tools.MCPDetails {
	m.ToolArgs, m.ToolParameterSchema = wireArgs(m.ToolArgs), wireArgs(m.ToolParameterSchema)
	return &m
}
