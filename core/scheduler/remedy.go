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

// missing adds to a failed look-up, if policy denies whatever has that name,
// which rule or list does: such a tool is not unknown, it is shut out.
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
	if d.Decision != policy.Deny || d.Generated() {
		return err
	}
	message := f.Message + " Policy denies it: " + d.Reason
	if d.Message != "" {
		message += " " + d.Message
	}
	return fault.Wrap(f.Code, "scheduler.lookup", message, strings.TrimSpace(d.Remedy+" "+f.Remedy), err)
}

// nobodyToAsk says what would allow the call without a person.
func (c *call) nobodyToAsk(cause error) *fault.Error {
	return fault.Wrap(fault.NoApprover, "scheduler.confirm",
		"A call of "+c.name+" needs a person's approval, and there is nobody to ask; nothing was done.",
		c.withoutPerson(), cause)
}

// withoutPerson names the flags that would allow the call, if there are any.
// Where somebody's rule asks there are none: it stands above them.
func (c *call) withoutPerson() string {
	flags := c.flags()
	switch {
	case c.tightened:
		return "No flag allows it. Reason: " + c.decision.Reason
	case c.decision.Decision == policy.Allow:
		return "A person has changed the call, and has to see what became of it before it runs."
	case !c.generated():
		return strings.TrimSpace("Reason: " + c.decision.Reason + " " + c.decision.Remedy)
	case len(flags) == 0:
		return c.decision.Remedy
	case c.subject.Line == nil: // the remedy says the same without the flags
		return "To allow it, run with " + strings.Join(flags, " or with ") + ", or add a rule that allows " + c.name + " to policies.toml: " + c.ruleText() + "."
	case len(flags) == 1 && strings.Contains(c.decision.Remedy, "yolo"):
		return strings.TrimSuffix(c.decision.Remedy, ".") + ": run with " + flags[0] + "."
	}
	return strings.TrimSpace("To allow it, run with " + strings.Join(flags, " or with ") + ". " + c.decision.Remedy)
}

// ruleText is a rule that allows the tool, as it is written.
func (c *call) ruleText() string {
	verdict := `decision = "allow" and priority = 100`
	if c.subject.Mode == policy.ModePlan { // where a rule allows only if it names the mode
		verdict = `decision = "allow", priority = 100 and modes = ["plan"]`
	}
	if c.subject.Server != "" {
		return fmt.Sprintf("a [[rule]] with mcpName = %q, toolName = %q, %s", c.subject.Server, c.subject.ServerTool, verdict)
	}
	return fmt.Sprintf("a [[rule]] with toolName = %q, %s", c.name, verdict)
}

// generated reports whether the call is asked about because no rule speaks of
// it, or of any of its parts that are asked about.
func (c *call) generated() bool {
	for _, p := range c.decision.Parts {
		if p.Decision != policy.Allow && !p.Generated() {
			return false
		}
	}
	return c.decision.Generated()
}

// flags are those of the command line that allow what no rule speaks of.
func (c *call) flags() []string {
	var flags []string
	switch {
	case c.spec.Kind == tools.KindEdit && !c.decision.Protected:
		flags = append(flags, "--approval-mode auto_edit")
	case !c.subject.Untrusted: // where yolo is refused
		flags = append(flags, "--approval-mode yolo")
	}
	switch {
	case c.decision.Unnamed: // only a rule that names the server does
	case c.subject.Mode == policy.ModePlan: // only a rule that names the mode does
	case c.subject.Line == nil:
		flags = append(flags, "--allowed-tools "+c.name)
	case c.asksAboutCommands():
		flags = append(flags, "--allowed-tools "+c.name+"(PREFIX), where the command begins with PREFIX")
	}
	return flags
}

// asksAboutCommands reports whether all parts of the line that are asked about
// are commands, which a prefix can name.
func (c *call) asksAboutCommands() bool {
	parts := c.subject.Line.Parts
	for i, p := range c.decision.Parts {
		if p.Decision != policy.Allow && (i >= len(parts) || parts[i].Kind != shell.Command) {
			return false
		}
	}
	return true
}
