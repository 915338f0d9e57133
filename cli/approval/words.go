package approval

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
)

// builtIn is the source of the rules that are there without any.
const builtIn = "built-in"

// Tools that a question speaks of in words of their own.
const (
	webFetch     = "web_fetch"      // whose approval holds for a host
	exitPlanMode = "exit_plan_mode" // whose refusal says little without words
)

// Parts lists everything that a command line runs or writes.
func Parts(q bus.ToolConfirmationRequest) []bus.Part {
	if c := q.Details.ExecDetails; c != nil && len(c.Parts) > 0 {
		return c.Parts
	}
	return q.Decision.Parts
}

// WhyPart explains the verdict on a part, in few words where it is always so: a
// line that is safe to show.
func WhyPart(part bus.Part) string {
	if part.Source == builtIn {
		return display.Line(strings.ReplaceAll(part.Reason, escape.Quote(part.Text), "it"))
	}
	return explain(part.Reason, part.Rule, part.Tier, part.Source, part.Line)
}

// Verdict is the word for a decision on a part.
func Verdict(decision string) string {
	switch decision {
	case "allow":
		return "allowed"
	case "deny":
		return "denied"
	}
	return "asks"
}

// Why says in a line that is safe to show why the call is asked about.
func Why(q bus.ToolConfirmationRequest) string {
	d := q.Decision
	why := explain(d.Reason, d.Rule, d.Tier, d.Source, d.Line)
	if why == "" {
		why = "no rule speaks of it"
	}
	var same []bus.Part // the parts that have been explained above
	for _, part := range Parts(q) {
		if part.Source == d.Source && part.Decision == d.Decision {
			same = append(same, part)
		}
	}
	switch {
	case d.Source != builtIn:
	case len(same) == 1 && same[0].Reason != "":
		why = WhyPart(same[0])
	case len(same) > 1:
		why = fmt.Sprintf("%d of its %d parts ask.", len(same), len(Parts(q)))
	}
	return why
}

// explain joins a reason and where it comes from.
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
	return display.Line(text)
}

// Remembers says, in a line that is safe to show, what an answer would allow from
// now on, "" for one that holds for this call alone: for a command line of which no
// command is known, the rules.
func Remembers(q bus.ToolConfirmationRequest, o bus.Outcome) string {
	if o == bus.Cancel && q.ToolCall.Name == exitPlanMode {
		return "with what to change, if you like"
	}
	what := inWords(q, o)
	if what == "" {
		return ""
	}
	if rules := rulesOf(q, o); rules != "" && q.Details.ExecDetails != nil && len(remembered(q, o).Commands) == 0 {
		what = rules
	}
	if o == bus.ProceedAlwaysAndSave {
		return "from now on, kept in your policy file: " + display.Line(what)
	}
	return "until this session ends: " + display.Line(what)
}

// Lasting is what one or more answers let run from then on.
type Lasting struct {
	Replies []Reply
	Text    string // safe to show
	Rules   string // the rules behind it, as files of rules would have them; "": none
}

// Lasts lists what the answers that last let run, those that differ in how long alone
// together.
func Lasts(q bus.ToolConfirmationRequest, replies []Reply) []Lasting {
	var all []Lasting
	for _, r := range replies {
		text := inWords(q, r.Outcome)
		always := r.Outcome == bus.ProceedAlways || r.Outcome == bus.ProceedAlwaysAndSave
		switch {
		case r.Outcome == bus.Cancel:
			text = Remembers(q, r.Outcome)
		case always && q.Details.EditDetails != nil:
			text = "holds for " + q.ToolCall.Name + " on this file"
		case text != "":
			text = "holds for " + text
		}
		if text == "" {
			continue
		}
		one := Lasting{Replies: []Reply{r}, Text: display.Line(text), Rules: rulesOf(q, r.Outcome)}
		if n := len(all) - 1; n >= 0 && all[n].Text == one.Text && all[n].Rules == one.Rules {
			all[n].Replies = append(all[n].Replies, r)
			continue
		}
		all = append(all, one)
	}
	return all
}

// rulesOf lists the rules that an outcome stands for.
func rulesOf(q bus.ToolConfirmationRequest, o bus.Outcome) string {
	rules := strings.Join(remembered(q, o).Rules, "; ")
	return display.Line(strings.ReplaceAll(rules, "autoEdit", "auto_edit"))
}

func remembered(q bus.ToolConfirmationRequest, o bus.Outcome) bus.Remembered {
	for _, r := range q.Remembers {
		if r.Outcome == o {
			return r
		}
	}
	return bus.Remembered{}
}

// inWords names the calls that an outcome that lasts is about.
func inWords(q bus.ToolConfirmationRequest, o bus.Outcome) string {
	server := q.ServerName
	if m := q.Details.MCPDetails; m != nil && server == "" {
		server = m.ServerName
	}
	switch o {
	case bus.ProceedAlways, bus.ProceedAlwaysAndSave:
		return narrowed(q, o)
	case bus.ProceedAlwaysTool:
		return "any call of " + q.ToolCall.Name
	case bus.ProceedAlwaysServer:
		return "any tool of the server " + server
	}
	return ""
}

// narrowed names the calls that are like this one.
func narrowed(q bus.ToolConfirmationRequest, o bus.Outcome) string {
	c := q.Details
	switch {
	case c.EditDetails != nil:
		return q.ToolCall.Name + " on " + c.FilePath
	case c.ExecDetails != nil:
		if r := remembered(q, o); len(r.Commands) > 0 {
			words := "commands that begin with " + strings.Join(r.Commands, ", or with ")
			if len(r.Rules) > len(r.Commands) {
				words += ", and the files that this line writes"
			}
			return words
		}
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

// fileOf is the file that a pattern for arguments names, "" for one that names none.
func fileOf(pattern string) string {
	_, rest, found := strings.Cut(pattern, `"file_path":"`)
	if !found {
		return ""
	}
	path, _, found := strings.Cut(rest, `"`)
	if !found {
		return ""
	}
	var plain strings.Builder
	for quoted := false; path != ""; path = path[1:] {
		sign := path[0]
		switch {
		case !quoted && sign == '\\':
			quoted = true
			continue
		case quoted && (sign == '\\' || sign >= 'a' && sign <= 'z' || sign >= 'A' && sign <= 'Z' || sign >= '0' && sign <= '9'):
			return "" // more than a sign that stands for itself
		}
		plain.WriteByte(sign)
		quoted = false
	}
	return plain.String()
}

// Remembered says in a line that is safe to show what has been remembered.
func Remembered(u bus.UpdatePolicy) string {
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
	case fileOf(u.ArgsPattern) != "":
		what = u.ToolName + " on " + fileOf(u.ArgsPattern)
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
		return display.Line(what) + "; kept for later sessions."
	}
	return display.Line(what) + "; until this session ends."
}
