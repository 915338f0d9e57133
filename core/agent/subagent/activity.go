package subagent

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// publisher publishes the activities of an agent; *bus.MessageBus implements it.
type publisher interface {
	Publish(m bus.Message) error
}

// activity publishes the activities of a run on the bus, and as live output of its call.
type activity struct {
	name     string
	run      string // distinguishes its steps from those of other runs
	to       publisher
	out      tools.Output
	thoughts int
}

func (a *activity) publish(id string, t bus.ActivityType, content string, status bus.ActivityStatus) {
	if a.to == nil {
		return
	}
	_ = a.to.Publish(bus.SubagentActivity{SubagentName: a.name, Activity: bus.Activity{
		ID: a.run + "/" + id, Type: t, Content: content, Status: status,
	}}) // a closed bus has no subscribers
}

// event publishes an event of the conversation.
func (a *activity) event(e agent.Event) {
	switch {
	case e.Type == agent.EventThought && e.Thought != nil:
		a.thoughts++
		content := cmp.Or(e.Thought.Subject, e.Thought.Description)
		if content = escape.Plain(content, 200); content != "" {
			a.publish(fmt.Sprintf("thought-%d", a.thoughts), bus.ActivityThought, content, bus.ActivityCompleted)
		}
	case e.Type == agent.EventToolCall && e.Call != nil && e.Call.Name != completeTask:
		content := callText(e.Call.Name, string(e.Call.Args))
		a.publish(e.Call.ID, bus.ActivityToolCall, content, bus.ActivityRunning)
		a.out.Write(content + "\n")
	case e.Type == agent.EventToolResponse && e.Call != nil && e.Response != nil && e.Call.Name != completeTask:
		content := callText(e.Call.Name, string(e.Call.Args))
		if err := e.Response.Result.Error; err != nil {
			content += ": " + escape.Clip(escape.Line(err.Display()), 200)
		}
		a.publish(e.Call.ID, bus.ActivityToolCall, content, statusOf(e.Response.Status))
	}
}

func callText(name, args string) string {
	return strings.TrimSpace(escape.Clip(escape.Line(name), 60) + " " + escape.Clip(escape.Line(args), 160))
}

func statusOf(s scheduler.Status) bus.ActivityStatus {
	switch s {
	case scheduler.StatusSuccess:
		return bus.ActivityCompleted
	case scheduler.StatusCancelled:
		return bus.ActivityCancelled
	}
	return bus.ActivityError
}
