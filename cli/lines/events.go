package lines

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// show prints events as they arrive, and reports whether one of them ends the
// session.
func (l *lines) show(events iter.Seq[interactive.Event]) (quit bool) {
	for e := range events {
		l.event(e)
		quit = quit || e.Kind == interactive.EventQuit || e.Kind == interactive.EventReopen
	}
	clear(l.awaited)
	return quit
}

func (l *lines) event(e interactive.Event) {
	switch e.Kind {
	case interactive.EventPrompt:
		if strings.TrimSpace(e.Text) != strings.TrimSpace(l.typed) {
			l.paragraph("[prompt] " + escape.Clip(display.Line(e.Text), display.ListingWidth))
		}
	case interactive.EventAgent:
		if e.Agent != nil {
			l.agentEvent(*e.Agent)
		}
	case interactive.EventMessage:
		l.message(e.Level, e.Text)
	case interactive.EventWorking:
		if e.Text != "" {
			l.paragraph("[working] " + e.Text)
		}
	case interactive.EventShell:
		f := display.ANSIFilter{}
		l.paragraph(f.Filter(e.Text))
	case interactive.EventClear:
		l.paragraph("[new conversation]")
	case interactive.EventHistory:
		l.history(e.History)
	case interactive.EventDialog:
		l.paragraph(strings.TrimSpace(e.Title + "\n\n" + display.PlainMarkdown(e.Text)))
	case interactive.EventPick:
		if e.Pick != nil {
			l.list(*e.Pick)
		}
	case interactive.EventTerminal:
		e.Terminal()
	case interactive.EventInput:
		l.paragraph("[the prompt was]\n" + e.Text)
	case interactive.EventCopy:
		l.paragraph("[copy this text]\n" + e.Text)
	case interactive.EventQuit:
		l.paragraph(e.Text)
	}
}

// paragraph prints text on separate lines; "" prints nothing.
func (l *lines) paragraph(text string) {
	if text = strings.Trim(text, "\n"); text != "" {
		l.Screen.Printf("%s\n", display.Printable(text))
	}
}

// list prints a list to choose from: a marker before the selected item, the name, the
// state, the description.
func (l *lines) list(p interactive.Pick) {
	var b strings.Builder
	b.WriteString(display.Line(p.Title) + "\n")
	for _, item := range p.Items {
		mark := " "
		if item.Selected {
			mark = "*"
		}
		line := display.Line(item.Name)
		if item.State != "" {
			line += " (" + display.Line(item.State) + ")"
		}
		if item.Description != "" {
			line += ": " + display.Line(item.Description)
		}
		b.WriteString(mark + " " + line + "\n")
	}
	if len(p.Items) == 0 {
		b.WriteString("  " + display.Line(p.Empty) + "\n")
	} else if p.Usage != "" {
		b.WriteString(display.Line(p.Usage) + "\n")
	}
	l.paragraph(b.String())
}

// message prints a message of the program, which is Markdown.
func (l *lines) message(level interactive.Level, text string) {
	text = display.PlainMarkdown(text)
	switch level {
	case interactive.LevelWarning:
		text = "warning: " + text
	case interactive.LevelError:
		text = "error: " + text
	}
	l.paragraph(text)
}

// history prints an earlier conversation.
func (l *lines) history(items []interactive.Item) {
	for _, item := range items {
		switch item.Role {
		case "tool":
			l.paragraph(historyCall(item))
		case "user":
			l.paragraph(linePrompt + item.Text)
		case "notice":
			l.paragraph("[" + item.Text + "]")
		default:
			l.paragraph(item.Text)
		}
	}
}

// historyCall formats a call of an earlier conversation as one line.
func historyCall(item interactive.Item) string {
	status := scheduler.Status(item.Status)
	became := statusWord(status)
	if item.Text != "" {
		became = item.Text + ": " + became
	}
	text := display.Line("[" + item.Name + "] " + became)
	var shown tools.Display
	if status == scheduler.StatusSuccess && json.Unmarshal(item.Display, &shown) == nil {
		if summary, files := changesOf(shown); summary != "" {
			text += ": " + summary + files
		}
	}
	return text
}

// statusWord returns the word for a call status.
func statusWord(s scheduler.Status) string {
	return map[scheduler.Status]string{
		scheduler.StatusSuccess: "done", scheduler.StatusError: "failed", scheduler.StatusDenied: "denied", scheduler.StatusCancelled: "called off",
	}[s]
}

// subagentCall prints a finished call of a subagent, for which there is no event.
func (l *lines) subagentCall(call bus.ToolCallState) {
	became := statusWord(scheduler.Status(call.Status))
	switch {
	case call.Preview:
		became = "plan: not run"
	case call.Error != nil && call.Status != bus.StatusSuccess:
		became += ": " + call.Error.Message
	}
	if call.Description != "" {
		became = escape.Clip(call.Description, display.ListingWidth) + ": " + became
	}
	l.Screen.Printf("  %s\n", escape.Clip(display.Line(fmt.Sprintf("[%s: %s] %s", call.Subagent, call.Name, became)), 2*display.ListingWidth))
}

func (l *lines) agentEvent(e agent.Event) {
	switch e.Type {
	case agent.EventText:
		if text := display.Printable(strings.ReplaceAll(e.Text, "\r\n", "\n")); text != "" {
			l.Screen.Live(text, !strings.HasSuffix(text, "\n"))
		}
	case agent.EventThought:
		if e.Thought != nil && e.Thought.Subject != "" {
			l.paragraph("[thinking] " + display.Line(e.Thought.Subject))
		}
	case agent.EventToolCall:
		l.call(e.Call)
	case agent.EventToolResponse:
		l.response(e.Call, e.Response)
	case agent.EventCitation:
		l.paragraph("sources:\n" + e.Text)
	case agent.EventWarning:
		l.message(interactive.LevelWarning, e.Text)
	case agent.EventRetry:
		l.message(interactive.LevelWarning, fmt.Sprintf("Retrying the model in %s, the previous output is discarded: %s",
			e.Retry.Wait.Round(100*time.Millisecond), e.Retry.Reason.Message))
	case agent.EventCompaction:
		if e.Compaction.Status.Changed() {
			l.paragraph(fmt.Sprintf("[compressed] The conversation has %d tokens, %d before.", e.Compaction.After, e.Compaction.Before))
		}
	case agent.EventFinished:
		if e.Finish != model.FinishStop && e.Finish != "" {
			l.message(interactive.LevelWarning, fmt.Sprintf("The model stopped early (%s).", e.Finish))
		}
	default:
		if e.Type.Ends() {
			l.end(e)
		}
	}
}

// end prints how a prompt ended, unless it ended with an answer.
func (l *lines) end(e agent.Event) {
	switch e.Type {
	case agent.EventDone:
		l.Screen.Printf("") // the next text starts a new line
	case agent.EventCancelled:
		l.paragraph("[called off]")
	case agent.EventStopped:
		l.message(interactive.LevelWarning, "The run was stopped: "+e.Text)
	case agent.EventBlocked:
		l.message(interactive.LevelError, "The prompt was refused: "+e.Text)
	default:
		text := string(e.Type)
		if e.Err != nil {
			text = e.Err.Line()
		}
		l.message(interactive.LevelError, text)
	}
}

// call prints the start of a call in one line.
func (l *lines) call(c *model.FunctionCall) {
	if c == nil {
		return
	}
	l.awaited[c.ID] = l.live.Expect(c.ID)
	l.paragraph(escape.Clip(display.Line(fmt.Sprintf("[%s] %s", c.Name, c.Object())), 2*display.ListingWidth))
}

// response prints the result of a call, after its live output.
func (l *lines) response(c *model.FunctionCall, r *scheduler.Response) {
	if c == nil || r == nil {
		return
	}
	shown := l.awaited[c.ID]
	delete(l.awaited, c.ID)
	if shown != nil && r.Params != nil { // otherwise it never ran
		shown()
	}
	if r.Preview {
		l.Screen.Printf("%s", display.RenderPreview(r.Tool, r.Result.ReturnDisplay, false))
		l.paragraph(fmt.Sprintf("[%s] plan: not run", display.Line(c.Name)))
		return
	}
	outcome := outcomeOf(*r)
	if r.Status == scheduler.StatusSuccess {
		_, files := changesOf(r.Result.ReturnDisplay)
		outcome += files
	}
	l.paragraph(fmt.Sprintf("[%s] %s", display.Line(c.Name), outcome))
	if todo := r.Result.ReturnDisplay.Todo; todo != nil && r.Status == scheduler.StatusSuccess {
		var b strings.Builder
		display.RenderDisplay(&b, tools.Display{Todo: todo}, false)
		l.Screen.Printf("%s", b.String())
	}
}

// outcomeOf describes the result of a call in one line.
func outcomeOf(r scheduler.Response) string {
	word := statusWord(r.Status)
	more, _ := changesOf(r.Result.ReturnDisplay)
	switch d := r.Result.ReturnDisplay; {
	case r.Status != scheduler.StatusSuccess:
		more = ""
		if r.Result.Error != nil {
			more = r.Result.Error.Message
		}
	case more != "":
	case !strings.Contains(strings.TrimSpace(d.Text), "\n"):
		more = d.Text
	}
	if more = display.Line(more); more != "" {
		word += ": " + escape.Clip(more, 2*display.ListingWidth)
	}
	return word
}

// changesOf summarizes the changes of files in a result: the file, or for a set the
// number of files, with line counts; files has a line for each file of a set.
func changesOf(d tools.Display) (summary, files string) {
	if d.Diff != nil {
		_, added, removed := display.TerminalNumberedDiff(d.Diff.FileDiff, false)
		return display.Line(d.Diff.FilePath) + " " + display.RenderStat(added, removed, false), ""
	}
	set := display.ResultChanges(d.Text)
	allAdded, allRemoved := 0, 0
	for _, f := range set {
		_, added, removed := display.TerminalNumberedDiff(f.Diff, false)
		allAdded, allRemoved = allAdded+added, allRemoved+removed
		files += "\n  " + f.Change + " " + display.RenderStat(added, removed, false)
	}
	if len(set) < 2 {
		return strings.TrimSpace(files), ""
	}
	return fmt.Sprintf("%d files %s", len(set), display.RenderStat(allAdded, allRemoved, false)), files
}
