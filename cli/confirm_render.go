package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
)

// renderQuestion is what a person needs to know to decide, as text: what would
// be done, why it is asked, and what an always would stand for.
func renderQuestion(q bus.ToolConfirmationRequest, colour bool) string {
	var b strings.Builder
	b.WriteString("\n" + paint(styleBold, printable(q.Details.Title), colour) + "\n")
	if q.Subagent != "" {
		fmt.Fprintf(&b, "asked for by the subagent %s\n", oneLine(q.Subagent))
	}
	if q.Details.SystemMessage != "" {
		b.WriteString(paint(styleBold, "note: ", colour) + printable(q.Details.SystemMessage) + "\n")
	}
	renderDetails(&b, q, colour)
	b.WriteString(paint(styleDim, renderWhy(q.Decision), colour) + "\n")
	for _, c := range repliesOf(q.Outcomes) {
		if words := remembers(q, c.outcome); words != "" {
			b.WriteString(paint(styleDim, fmt.Sprintf("  [%s] %s", c.key, words), colour) + "\n")
		}
	}
	return b.String()
}

func renderDetails(b *strings.Builder, q bus.ToolConfirmationRequest, colour bool) {
	c := q.Details
	switch {
	case c.EditDetails != nil:
		renderEdit(b, c.EditDetails, q.Modified, colour)
	case c.ExecDetails != nil:
		b.WriteString(printable(c.Command) + "\n")
		parts := c.ExecDetails.Parts
		if len(parts) == 0 {
			parts = q.Decision.Parts
		}
		renderParts(b, parts, colour)
	case c.MCPDetails != nil:
		name := oneLine(c.ToolName)
		if display := oneLine(c.ToolDisplayName); display != "" && display != name {
			name += " (" + display + ")"
		}
		fmt.Fprintf(b, "tool %s of server %s\n", name, oneLine(c.ServerName))
		renderArguments(b, q.ToolCall.Args)
	case c.InfoDetails != nil:
		b.WriteString(printable(c.Prompt) + "\n")
		for _, u := range c.URLs {
			b.WriteString("  " + oneLine(u) + "\n")
		}
	}
	for _, path := range c.Paths {
		if c.EditDetails == nil || path != c.FilePath {
			b.WriteString("changes " + oneLine(path) + "\n")
		}
	}
}

// renderEdit shows a change of one file.
func renderEdit(b *strings.Builder, e *bus.EditDetails, modified, colour bool) {
	if e.OriginalContent == nil {
		b.WriteString("new file: ")
	}
	diff, added, removed := renderNumberedDiff(e.FileDiff, colour)
	fmt.Fprintf(b, "%s  %s\n", oneLine(e.FilePath), renderStat(added, removed, colour))
	if s := e.DiffStat; modified && s != nil {
		fmt.Fprintf(b, "with your changes: %s, to the proposal's %s\n",
			renderStat(s.UserAddedLines, s.UserRemovedLines, colour), renderStat(s.ModelAddedLines, s.ModelRemovedLines, colour))
	}
	b.WriteString(diff)
}

// renderStat counts lines, as +3 −1.
func renderStat(added, removed int, colour bool) string {
	return paint(styleGreen, fmt.Sprintf("+%d", added), colour) + " " + paint(styleRed, fmt.Sprintf("\u2212%d", removed), colour)
}

// renderParts lists everything that a command line runs or writes.
func renderParts(b *strings.Builder, parts []bus.Part, colour bool) {
	for _, part := range parts {
		word, st := verdictWord(part.Decision)
		fmt.Fprintf(b, "  %s  %s", paint(st, fmt.Sprintf("%-7s", word), colour), oneLine(part.Text))
		if why := explain(part.Reason, part.Rule, part.Tier, part.Source, part.Line); why != "" {
			b.WriteString("  " + paint(styleDim, why, colour))
		}
		b.WriteByte('\n')
	}
}

func verdictWord(decision string) (string, style) {
	switch decision {
	case "allow":
		return "allowed", styleGreen
	case "deny":
		return "denied", styleRed
	}
	return "asks", styleCyan
}

// renderArguments shows the arguments of a call as indented JSON.
func renderArguments(b *strings.Builder, args json.RawMessage) {
	var indented bytes.Buffer
	if err := json.Indent(&indented, args, "  ", "  "); err != nil || len(args) == 0 {
		return
	}
	b.WriteString("  " + printable(indented.String()) + "\n")
}

// renderWhy says in one line why the call is asked about.
func renderWhy(d bus.Explanation) string {
	why := explain(d.Reason, d.Rule, d.Tier, d.Source, d.Line)
	if why == "" {
		why = "no rule speaks of it"
	}
	return "why: " + why
}

// explain joins a reason and where it comes from, to a line that is safe to
// show.
func explain(reason, rule, tier, source string, line int) string {
	var origin []string
	if rule != "" {
		origin = append(origin, "rule "+rule)
	}
	if tier != "" {
		origin = append(origin, tier+" tier")
	}
	switch {
	case source != "" && line > 0:
		origin = append(origin, fmt.Sprintf("%s:%d", source, line))
	case source != "":
		origin = append(origin, source)
	}
	text := reason
	if len(origin) > 0 {
		text += " (" + strings.Join(origin, ", ") + ")"
	}
	return oneLine(text)
}

// remembers says what an answer would allow from now on, "" for one that holds
// for this call alone: for a command line the rules, as no words are as exact,
// for others in words with the rules behind them.
func remembers(q bus.ToolConfirmationRequest, o bus.Outcome) string {
	what := inWords(q, o)
	if what == "" {
		return ""
	}
	switch rules := rulesOf(q, o); {
	case rules == "":
	case q.Details.ExecDetails != nil:
		what = rules
	default:
		what += " (rule: " + rules + ")"
	}
	if o == bus.ProceedAlwaysAndSave {
		return "from now on, kept in your policy file: " + oneLine(what)
	}
	return "until this session ends: " + oneLine(what)
}

// rulesOf lists the rules that an outcome stands for.
func rulesOf(q bus.ToolConfirmationRequest, o bus.Outcome) string {
	for _, r := range q.Remembers {
		if r.Outcome == o {
			return strings.Join(r.Rules, "; ")
		}
	}
	return ""
}

// inWords names the calls that an outcome that lasts is about.
func inWords(q bus.ToolConfirmationRequest, o bus.Outcome) string {
	server := q.ServerName
	if m := q.Details.MCPDetails; m != nil && server == "" {
		server = m.ServerName
	}
	switch o {
	case bus.ProceedAlways, bus.ProceedAlwaysAndSave:
		return narrowed(q)
	case bus.ProceedAlwaysTool:
		return "any call of " + q.ToolCall.Name
	case bus.ProceedAlwaysServer:
		return "any tool of the server " + server
	}
	return ""
}

// narrowed names the calls that are like this one.
func narrowed(q bus.ToolConfirmationRequest) string {
	c := q.Details
	switch {
	case c.EditDetails != nil:
		return q.ToolCall.Name + " on " + c.FilePath
	case c.ExecDetails != nil:
		return "commands like those above that ask"
	case c.MCPDetails != nil:
		return fmt.Sprintf("the tool %s of the server %s, with any arguments", c.ToolName, c.ServerName)
	}
	return "calls of " + q.ToolCall.Name + " like this one"
}

// describeRule says in words what has been remembered.
func describeRule(u bus.UpdatePolicy) string {
	what := u.ToolName
	switch {
	case len(u.CommandPrefix) > 0:
		what = "commands that begin with " + strings.Join(u.CommandPrefix, ", or with ")
	case u.MCPName != "" && (u.ToolName == "*" || u.ToolName == ""):
		what = "any tool of the server " + u.MCPName
	case u.MCPName != "":
		what = fmt.Sprintf("the tool %s of the server %s", u.ToolName, u.MCPName)
	case u.ArgsPattern != "":
		what = u.ToolName + " with what was approved of its arguments"
	}
	if u.AllowRedirection {
		what += ", redirections into the workspace included"
	}
	if u.Subagent != "" {
		what += ", of the subagent " + u.Subagent
	}
	if u.Persist {
		return oneLine(what) + "; kept for later sessions."
	}
	return oneLine(what) + "; until this session ends."
}
