package scheduler

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/shell"
	"github.com/fettle-dev/fettle/core/tools"
)

// missing extends the error of a failed lookup: if policy denies every tool of that name, it names the rule or list.
func (c *call) missing(err error) error {
	f := fault.As(err)
	if f == nil || f.Code != fault.ToolNotRegistered {
		return err
	}
	subject := c.unregistered(json.RawMessage("{}"))
	if c.o.Subject != nil {
		c.o.Subject(&subject)
	}
	c.o.Policy.Prepare(&subject)
	d := c.o.Policy.Decide(subject)
	if d.Decision != policy.Deny || d.Source == policy.BuiltIn {
		return err
	}
	message := f.Message + " Policy denies it: " + d.Reason
	if d.Message != "" {
		message += " " + d.Message
	}
	return fault.Wrap(f.Code, "scheduler.lookup", message, strings.TrimSpace(d.Remedy+" "+f.Remedy), err)
}

// noApprover returns the error of a call that needs an approver, with the flags or rules that would allow it.
func (c *call) noApprover(cause error) *fault.Error {
	return fault.Wrap(fault.NoApprover, "scheduler.confirm",
		"A call of "+c.name+" needs approval, and no approver is available; nothing was done.",
		c.withoutApprover(), cause)
}

// withoutApprover names the flags that would allow the call, if any. A rule that asks takes precedence over flags.
func (c *call) withoutApprover() string {
	flags := c.flags()
	switch {
	case c.tightened:
		return "No flag allows it. Reason: " + c.decision.Reason
	case c.decision.Decision == policy.Allow:
		return "The user has edited the call, and must approve the result before it runs."
	case !c.generated(), c.decision.Leaves:
		return strings.TrimSpace("Reason: " + c.decision.Reason + " " + c.decision.Remedy)
	case len(flags) == 0:
		return c.decision.Remedy
	case c.subject.Line == nil: // the remedy has the same advice without the flags
		return "To allow it, run with " + strings.Join(flags, " or with ") + ", or add a rule that allows " + c.name + " to policies.toml: " + c.ruleText() + "."
	case len(flags) == 1 && strings.Contains(c.decision.Remedy, "yolo"):
		return strings.TrimSuffix(c.decision.Remedy, ".") + ": run with " + flags[0] + "."
	}
	return strings.TrimSpace("To allow it, run with " + strings.Join(flags, " or with ") + ". " + c.decision.Remedy)
}

// ruleText returns a rule that allows the tool, as TOML.
func (c *call) ruleText() string {
	verdict := `decision = "allow" and priority = 100`
	if c.subject.Mode == policy.ModePlan { // where only a rule that names the mode allows
		verdict = `decision = "allow", priority = 100 and modes = ["plan"]`
	}
	if c.subject.Server != "" {
		return fmt.Sprintf("a [[rule]] with mcpName = %q, toolName = %q, %s", c.subject.Server, c.subject.ServerTool, verdict)
	}
	return fmt.Sprintf("a [[rule]] with toolName = %q, %s", c.name, verdict)
}

// generated reports whether the call needs approval only because no rule covers it, or its parts that need approval.
func (c *call) generated() bool {
	for _, p := range c.decision.Parts {
		if p.Decision != policy.Allow && p.Source != policy.BuiltIn {
			return false
		}
	}
	return c.decision.Source == policy.BuiltIn
}

// flags returns the command-line flags that allow calls that no rule covers, the least permissive first.
func (c *call) flags() []string {
	var flags []string
	if c.decision.Leaves {
		return nil
	}
	confined := c.autoAllows()
	edits := c.spec.Kind == tools.KindEdit && !c.decision.Protected
	switch {
	case edits:
		flags = append(flags, "--approval-mode auto_edit")
	case confined:
		flags = append(flags, "--approval-mode auto")
	}
	switch {
	case c.decision.Unnamed: // only a rule that names the server applies
	case c.subject.Mode == policy.ModePlan: // only a rule that names the mode applies
	case c.subject.Line == nil:
		flags = append(flags, "--allowed-tools "+c.name)
	case c.asksAboutCommands():
		flags = append(flags, "--allowed-tools "+c.name+"(PREFIX), where PREFIX is the start of the command")
	}
	if !edits && !confined && !c.subject.Untrusted { // yolo is refused otherwise
		flags = append(flags, "--approval-mode yolo")
	}
	return flags
}

// autoAllows reports whether the approval mode auto would run the command confined.
func (c *call) autoAllows() bool {
	subject := c.subject
	subject.Mode = policy.ModeAuto
	return subject.Confinable == policy.Namespaces && c.o.Policy.Decide(subject).Decision == policy.Allow
}

// asksAboutCommands reports whether all parts of the line that need approval are commands, which a prefix can name.
func (c *call) asksAboutCommands() bool {
	parts := c.subject.Line.Parts
	for i, p := range c.decision.Parts {
		if p.Decision != policy.Allow && (i >= len(parts) || parts[i].Kind != shell.Command) {
			return false
		}
	}
	return true
}
