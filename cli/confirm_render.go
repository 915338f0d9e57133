package cli

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
)

// renderQuestion is what a person needs to know to decide, as text: what would
// be done, why it is asked, and what an always would stand for. Prose is broken
// at so many columns; commands, diffs and arguments are as they are.
func renderQuestion(q bus.ToolConfirmationRequest, columns int, colour bool) string {
	var b strings.Builder
	b.WriteString("\n" + paint(styleBold, fold(printable(q.Details.Title), "", columns), colour) + "\n")
	if q.Subagent != "" {
		b.WriteString(fold("asked for by the subagent "+oneLine(q.Subagent)+"\n", "", columns))
	}
	if q.Details.SystemMessage != "" {
		b.WriteString(fold(paint(styleBold, "note: ", colour)+printable(q.Details.SystemMessage)+"\n", "", columns))
	}
	renderDetails(&b, q, columns, colour)
	b.WriteString(paint(styleDim, fold(renderWhy(q), "", columns), colour) + "\n")
	for _, c := range repliesOf(q.Outcomes) {
		words := remembers(q, c.outcome)
		if c.outcome == bus.Cancel && q.ToolCall.Name == exitPlanMode {
			words = "with what to change, if you like: n write tests first"
		}
		if words != "" {
			b.WriteString(paint(styleDim, fold(fmt.Sprintf("  [%s] %s", c.key, words), "    ", columns), colour) + "\n")
		}
	}
	return b.String()
}

func renderDetails(b *strings.Builder, q bus.ToolConfirmationRequest, columns int, colour bool) {
	c := q.Details
	switch {
	case c.EditDetails != nil:
		renderEdit(b, c.EditDetails, q.Modified, colour)
	case c.ExecDetails != nil:
		b.WriteString(printable(c.Command) + "\n")
		renderOthers(b, q.ToolCall.Args, colour)
		renderParts(b, partsOf(q), colour)
	case c.MCPDetails != nil:
		renderServerTool(b, q, columns)
	case c.InfoDetails != nil:
		b.WriteString(fold(printable(c.Prompt)+"\n", "", columns))
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

// builtIn is the source of the rules that are there without any.
const builtIn = "built-in"

// partsOf lists everything that a command line runs or writes.
func partsOf(q bus.ToolConfirmationRequest) []bus.Part {
	if c := q.Details.ExecDetails; c != nil && len(c.Parts) > 0 {
		return c.Parts
	}
	return q.Decision.Parts
}

func renderParts(b *strings.Builder, parts []bus.Part, colour bool) {
	for _, part := range parts {
		word, st := verdictWord(part.Decision)
		fmt.Fprintf(b, "  %s  %s", paint(st, fmt.Sprintf("%-7s", word), colour), oneLine(part.Text))
		if why := whyPart(part); why != "" {
			b.WriteString("  " + paint(styleDim, why, colour))
		}
		b.WriteByte('\n')
	}
}

// whyPart explains the verdict on a part, in few words where it is always so.
func whyPart(part bus.Part) string {
	if part.Source == builtIn {
		return oneLine(strings.ReplaceAll(part.Reason, strconv.Quote(part.Text), "it"))
	}
	return explain(part.Reason, part.Rule, part.Tier, part.Source, part.Line)
}

// renderOthers lists the arguments of a command beside the command: where it
// runs, how, and what the model says of it.
func renderOthers(b *strings.Builder, args json.RawMessage, colour bool) {
	names, values, err := members(args)
	if err != nil {
		return
	}
	for i, name := range names {
		if name == "command" {
			continue
		}
		var value any
		if err := json.Unmarshal(values[i], &value); err != nil {
			continue
		}
		text, isText := value.(string)
		if !isText {
			text = string(values[i])
		}
		b.WriteString("  " + paint(styleDim, oneLine(name)+":", colour) + " " + oneLine(text) + "\n")
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

// renderWhy says in one line why the call is asked about.
func renderWhy(q bus.ToolConfirmationRequest) string {
	d := q.Decision
	why := explain(d.Reason, d.Rule, d.Tier, d.Source, d.Line)
	if why == "" {
		why = "no rule speaks of it"
	}
	var same []bus.Part // the parts that have been explained above
	for _, part := range partsOf(q) {
		if part.Source == d.Source && part.Decision == d.Decision {
			same = append(same, part)
		}
	}
	switch {
	case d.Source != builtIn:
	case len(same) == 1 && same[0].Reason != "":
		why = whyPart(same[0])
	case len(same) > 1:
		why = fmt.Sprintf("%d of its %d parts ask.", len(same), len(partsOf(q)))
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
	place := source
	if line > 0 {
		place = fmt.Sprintf("%s:%d", source, line)
	}
	if source != "" {
		origin = append(origin, place)
	}
	text := reason
	if named := source != "" && strings.Contains(reason, place); len(origin) > 0 && !named {
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

// Tools that a question speaks of in words of their own.
const (
	webFetch     = "web_fetch"      // whose approval holds for a host
	exitPlanMode = "exit_plan_mode" // whose refusal says little without words
)

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
	if q.ToolCall.Name == webFetch && c.InfoDetails != nil && len(c.URLs) == 1 {
		if u, err := url.Parse(c.URLs[0]); err == nil {
			return "web_fetch of any page of " + u.Scheme + "://" + u.Host
		}
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
	case u.ArgsPattern != "" && u.ToolName == webFetch:
		what = "web_fetch of any page of that host"
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
