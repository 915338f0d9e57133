package acp

import (
	"encoding/json"
	"fmt"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/bus"
)

// sendHistory sends a recorded conversation: prompts, answers, and calls with their
// outcome.
func (s *session) sendHistory(items []interactive.Item) {
	for i, item := range items {
		switch item.Role {
		case "user":
			s.send(sdk.UpdateUserMessageText(display.Printable(item.Text)))
		case "tool":
			start := s.describe(item.Name, json.RawMessage(item.Args), item.Text, "")
			start.ToolCallId, start.Status = sdk.ToolCallId(fmt.Sprintf("history-%d", i)), sdk.ToolCallStatusCompleted
			e := ending{ok: item.OK}
			_ = json.Unmarshal(item.Display, &e.shown) // older recordings have none
			if !item.OK {
				start.Status = sdk.ToolCallStatusFailed
				e.failure = &bus.Failure{Message: "The call ended with the status " + item.Status + "."}
			}
			start.Content = contentOf(e, "")
			s.send(sdk.SessionUpdate{ToolCall: &start})
			if list := e.shown.Todo; list != nil && item.OK {
				s.send(planOf(*list))
			}
		case "notice":
			s.sendThought(item.Text + "\n\n")
		default:
			s.sendText(item.Text)
		}
	}
}

// sendCommands sends the slash commands of the session.
func (s *session) sendCommands() {
	list := []sdk.AvailableCommand{}
	for _, c := range s.host.Commands() {
		one := sdk.AvailableCommand{Name: c.Name, Description: display.Line(c.Description)}
		if !c.NoArgs {
			one.Input = &sdk.AvailableCommandInput{Unstructured: &sdk.UnstructuredCommandInput{Hint: "arguments"}}
		}
		list = append(list, one)
	}
	s.send(sdk.SessionUpdate{AvailableCommandsUpdate: &sdk.SessionAvailableCommandsUpdate{AvailableCommands: list}})
}
