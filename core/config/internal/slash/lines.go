package slash

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/commands/commandfile"
	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/shell"
)

// Lines runs the command lines of a session's own commands as calls of
// run_shell_command, under the same conditions, except that lines approved by the
// user for the session need no further approval. That approval does not extend to
// calls of the model.
type Lines struct {
	scheduler *scheduler.Scheduler

	mu      sync.Mutex
	allowed map[string]bool
}

var _ commandfile.Shell = (*Lines)(nil)

// NewLines returns Lines that run in a scheduler, under a policy.
func NewLines(s *scheduler.Scheduler, p scheduler.Policy) *Lines {
	l := &Lines{}
	l.scheduler = s.WithPolicy(linePolicy{p, l})
	return l
}

// linePolicy allows the lines that the user has approved, where the policy would
// ask.
type linePolicy struct {
	scheduler.Policy
	lines *Lines
}

func (p linePolicy) Decide(call policy.Call) policy.Decision {
	d := p.Policy.Decide(call)
	if d.Decision != policy.AskUser || d.Previews || call.Tool != shell.RunShellCommand {
		return d
	}
	var params map[string]string
	if json.Unmarshal(call.Params, &params) != nil || len(params) != 1 || !p.lines.isAllowed(params["command"]) {
		return d
	}
	d.Decision, d.Reason, d.Remedy = policy.Allow, "You have approved this exact line for the session.", ""
	d.Rule, d.Tier, d.Source, d.Line = "approved for a command", "session", "", 0
	return d
}

func (l *Lines) isAllowed(line string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.allowed[line]
}

// Allow implements [commandfile.Shell].
func (l *Lines) Allow(lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range lines {
		if l.allowed == nil {
			l.allowed = make(map[string]bool)
		}
		l.allowed[line] = true
	}
}

// request returns the call that runs a line.
func (l *Lines) request(line string) (scheduler.Request, error) {
	args, err := json.Marshal(shell.RunShellCommandParams{Command: line})
	return scheduler.Request{Tool: shell.RunShellCommand, Args: args}, err
}

// Decide implements [commandfile.Shell].
func (l *Lines) Decide(ctx context.Context, line string) (commandfile.Decision, error) {
	r, err := l.request(line)
	if err != nil {
		return commandfile.Decision{}, err
	}
	d, err := l.scheduler.Explain(ctx, r, scheduler.Situation{})
	if err != nil {
		return commandfile.Decision{}, err
	}
	decision := commandfile.Decision{Verdict: commandfile.Deny, Reason: reasonOf(d), Remedy: d.Remedy}
	switch {
	case d.Previews:
		decision.Reason, decision.Remedy = "Plan mode runs no command that changes something.", "Leave plan mode first, with /mode default."
	case d.Decision == policy.Allow:
		decision.Verdict = commandfile.Allow
	case d.Decision == policy.AskUser:
		decision.Verdict = commandfile.Ask
	}
	return decision, nil
}

// reasonOf returns the reason of a policy decision, with the rule.
func reasonOf(d policy.Decision) string {
	reason := strings.TrimSpace(d.Reason + " " + d.Message)
	if d.Rule == "" || strings.Contains(reason, d.Rule) {
		return reason
	}
	at := ""
	if d.Source != "" {
		at = " (" + toolrules.Place{Source: d.Source, Line: d.Line}.String() + ")"
	}
	return fmt.Sprintf("%s The rule is %s%s.", reason, d.Rule, at)
}

// Run implements [commandfile.Shell].
func (l *Lines) Run(ctx context.Context, line string) (commandfile.Output, error) {
	r, err := l.request(line)
	if err != nil {
		return commandfile.Output{}, err
	}
	response := l.scheduler.Run(ctx, r)
	if response.Status != scheduler.StatusSuccess && response.Status != scheduler.StatusError {
		return commandfile.Output{}, response.Result.Error
	}
	out := commandfile.Output{Text: response.Result.LLMContent.String()}
	if !response.Replaced { // text of a hook is not parsed
		out = printedBy(response.Result)
	}
	out.Context = response.Result.Context
	if response.Result.Error != nil {
		out.Ended = response.Result.Error.Message
	}
	return out, nil
}

// The lines that run_shell_command puts before a command's output.
var (
	exitLine   = lazyregexp.New(`(?m)^Exit Code: (\d+)$`)
	signalLine = lazyregexp.New(`(?m)^Signal: (\S+)$`)
)

// printedBy parses a result of run_shell_command. Any other text counts as the
// output of the command.
func printedBy(r tools.Result) commandfile.Output {
	text := r.LLMContent.String()
	head, printed, ok := strings.Cut("\n"+text, "\nOutput:")
	if !ok {
		return commandfile.Output{Text: text}
	}
	out := commandfile.Output{Text: strings.TrimSpace(printed)}
	if rest, marked := strings.CutPrefix(printed, "\n<untrusted_context>\n"); marked {
		out.Text = strings.TrimSuffix(rest, "\n</untrusted_context>")
	} else if out.Text == "(empty)" {
		out.Text = ""
	}
	if m := exitLine().FindStringSubmatch(head); m != nil {
		out.Code, _ = strconv.Atoi(m[1]) // digits
	}
	if m := signalLine().FindStringSubmatch(head); m != nil {
		out.Signal = m[1]
	}
	return out
}
