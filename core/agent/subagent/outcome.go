package subagent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// Reason is the reason why a run ended.
type Reason string

// The reasons.
const (
	Goal           Reason = "GOAL"                        // the agent has reported
	Timeout        Reason = "TIMEOUT"                     // its time limit was reached
	MaxTurns       Reason = "MAX_TURNS"                   // its limit of requests was reached
	Aborted        Reason = "ABORTED"                     // the caller, the user or a hook ended it
	Failed         Reason = "ERROR"                       // the model or the session failed
	NoCompleteTask Reason = "ERROR_NO_COMPLETE_TASK_CALL" // it stopped without a report
)

// Outcome is the outcome of a run. Report is nil and Err is set unless Reason is Goal.
type Outcome struct {
	Agent   string
	Reason  Reason
	Report  json.RawMessage // as the agent sent it
	Text    string          // text for the caller: the report, or the last words of a run without one
	Changed []string        // absolute paths that the run changed, sorted
	Other   bool            // it also ran tools with unknown changes, such as commands
	Merge   string          // report of the merge of its fork; "": it had none
	Turns   int             // model responses
	Usage   model.Usage
	Err     *fault.Error // of code agent_execution_error, or cancelled
}

// result returns the outcome as a tool result for the caller's model and the user.
func (o *Outcome) result() tools.Result {
	var b strings.Builder
	fmt.Fprintf(&b, "Agent: %s\nTermination reason: %s\n", o.Agent, o.Reason)
	if len(o.Changed) > 0 {
		b.WriteString("Files changed (your knowledge of them is stale: read each again before you change it or rely on it):\n")
		for _, path := range o.Changed {
			fmt.Fprintf(&b, "- %s\n", path)
		}
	}
	if o.Other {
		b.WriteString("It also ran commands or tools that may have changed other files.\n")
	}
	if o.Merge != "" {
		b.WriteString(strings.TrimSuffix(o.Merge, "\n") + "\n")
	}
	switch {
	case o.Reason == Goal:
		fmt.Fprintf(&b, "Result:\n%s", o.Text)
	case o.Text != "":
		fmt.Fprintf(&b, "There is no result. The agent's last words were:\n%s", o.Text)
	default:
		b.WriteString("There is no result.")
	}
	r := tools.Result{LLMContent: tools.Text(b.String()), ReturnDisplay: tools.TextDisplay(o.Text)}
	if o.Text == "" {
		r.ReturnDisplay = tools.TextDisplay(b.String())
	}
	if o.Err != nil {
		return r.WithError(o.Err)
	}
	return r
}

// failure returns the error of a run that ended without a report.
func failure(p *prepared, reason Reason, limit string, cause *fault.Error) *fault.Error {
	message, remedy := "", "Give it a smaller piece of work, or do the work yourself."
	narrower := fault.Reason(strings.ToLower(string(reason)))
	switch reason {
	case Timeout, MaxTurns:
		message = fmt.Sprintf("The agent %s reached its limit of %s, and did not report in its last turn.", p.Name, limit)
	case NoCompleteTask:
		message = fmt.Sprintf("The agent %s stopped without a report, and did not give one when asked for it.", p.Name)
		remedy = "Describe its task and the expected report more precisely, or do the work yourself."
		narrower = "no_complete_task_call"
	case Aborted:
		message = fmt.Sprintf("The agent %s was ended before it was done.", p.Name)
		remedy = "Do not start it again without being asked; tell the user."
	default:
		message = fmt.Sprintf("The agent %s failed.", p.Name)
		remedy = ""
	}
	if cause != nil {
		message += " " + cause.Message
		remedy = cmp.Or(remedy, cause.Remedy)
	}
	err := fault.New(fault.AgentFailed, "subagent.run", message, remedy).Because(narrower)
	if cause != nil {
		err.Err = cause
	}
	return err
}

// changes are the files that a run has changed. It is safe for concurrent use, since runs inside
// this one add to it.
type changes struct {
	parent *changes
	mu     sync.Mutex
	paths  map[string]bool
	other  bool
}

type changesKey struct{}

// collectChanges returns a context in which runs inside this one add their changes.
func collectChanges(ctx context.Context) (context.Context, *changes) {
	c := &changes{paths: make(map[string]bool)}
	c.parent, _ = ctx.Value(changesKey{}).(*changes)
	return context.WithValue(ctx, changesKey{}, c), c
}

// note records the changes of a call.
func (c *changes) note(r scheduler.Response, spec tools.Spec) {
	if d := r.Result.ReturnDisplay.Diff; d != nil && r.Status == scheduler.StatusSuccess {
		c.add([]string{d.FilePath}, false)
		return
	}
	ran := r.Status == scheduler.StatusSuccess || r.Status == scheduler.StatusError && r.Decision.Decision != ""
	if ran && spec.Mutates() && spec.Kind != tools.KindEdit {
		c.add(nil, true)
	}
}

func (c *changes) add(paths []string, other bool) {
	for ; c != nil; c = c.parent {
		c.mu.Lock()
		for _, p := range paths {
			c.paths[p] = true
		}
		c.other = c.other || other
		c.mu.Unlock()
	}
}

func (c *changes) list() (paths []string, other bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.paths {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths, c.other
}

// amount formats a time limit for messages.
func amount(d time.Duration) string {
	if d%time.Minute == 0 {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return d.String()
}
