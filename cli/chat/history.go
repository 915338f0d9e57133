package chat

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
)

// shownItems returns the items of the conversation with the results of calls, as far as
// they are recorded.
func (c *chat) shownItems(ctx context.Context) []interactive.Item {
	return c.itemsOf(c.conversation().History(), c.displays(ctx))
}

// displays returns the recorded results of calls as they were displayed, by call ID. The
// contents of changed files are omitted: their diffs are displayed.
func (c *chat) displays(ctx context.Context) map[string]json.RawMessage {
	store, err := c.recordings()
	if err != nil {
		return nil
	}
	session, err := store.Load(ctx, c.config.SessionID())
	if err != nil { // the session is not recorded
		return nil
	}
	displays := map[string]json.RawMessage{}
	for _, turn := range session.Turns {
		for _, call := range turn.Calls {
			var d tools.Display
			if json.Unmarshal(call.Display, &d) != nil {
				continue
			}
			if d.Diff != nil {
				d.Diff.OriginalContent, d.Diff.NewContent = nil, ""
				if short, err := json.Marshal(d); err == nil {
					call.Display = short
				}
			}
			displays[call.ID] = call.Display
		}
	}
	return displays
}

// itemsOf converts a conversation to the items that the user has seen: the text of a
// prompt, which comes first, and the description of a call with its display.
func (c *chat) itemsOf(history []model.Content, displays map[string]json.RawMessage) []interactive.Item {
	became := map[string]bus.CallStatus{}
	for _, turn := range history {
		for _, r := range turn.Responses() {
			became[r.ID] = statusOf(r.Response)
		}
	}
	var items []interactive.Item
	for _, turn := range history {
		if turn.Role == model.RoleUser {
			if len(turn.Responses()) == 0 {
				items = append(items, c.prompt(turn)...)
			}
			continue
		}
		for _, part := range turn.Parts {
			switch {
			case part.Call != nil:
				status, answered := became[part.Call.ID]
				if !answered {
					status = bus.StatusCancelled
				}
				items = append(items, interactive.Item{
					Role: "tool", Name: part.Call.Name, Text: c.describe(part.Call), Status: string(status), OK: status == bus.StatusSuccess,
					Display: displays[part.Call.ID],
					ID:      part.Call.ID, Args: string(part.Call.Object()),
				})
			case part.Text == agent.InterruptedText && len(turn.Parts) == 1:
				items = append(items, interactive.Item{Role: "notice", Text: "This answer was interrupted."})
			case part.Text == compacted.follows && len(items) > 0 && items[len(items)-1].Text == compacted.notice:
			case part.Text != "" && !part.Thought:
				items = append(items, interactive.Item{Role: "assistant", Text: part.Text})
			}
		}
	}
	return items
}

// describe returns the description of a call of an earlier conversation by its tool,
// "" if the tool no longer exists or rejects the arguments.
func (c *chat) describe(call *model.FunctionCall) string {
	description := ""
	_ = tools.Protect(call.Name, "describe", func() error {
		tool, err := c.session.Lookup(call.Name)
		if err != nil {
			return err
		}
		inv, err := tool.Build(call.Args)
		if err == nil && inv != nil {
			description = inv.Description()
		}
		return err
	})
	return description
}

// asTyped shows the files of a prompt relative to the directory, as typed, instead of
// the paths that the model received.
func asTyped(prompt, dir string) string {
	for _, dir := range []string{dir, EscapeMention(dir)} {
		prompt = strings.ReplaceAll(prompt, "@"+strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator), "@")
	}
	return prompt
}

// compacted is a conversation that was replaced by a summary.
var compacted = struct{ begins, follows, notice string }{
	begins:  "<conversation_summary>",
	follows: "I have read the summary and continue from there.",
	notice:  "The earlier conversation was replaced by a summary.",
}

// added lists how texts begin that the program adds to the turns of the user.
var added = [...]string{shellContextBegin, restoreNoteBegin, "<hook_context>", "[The same tool calls were repeated", "[The answer repeated the same text", "Continue with the task.", "<request_in_work>"}

// prompt returns the items of a turn of the user: the first text that the user
// typed. Later texts are the content of files and other context.
func (c *chat) prompt(turn model.Content) []interactive.Item {
	for _, part := range turn.Parts {
		begins := func(with string) bool { return strings.HasPrefix(strings.TrimSpace(part.Text), with) }
		switch {
		case part.Text == "" || slices.ContainsFunc(added[:], begins):
		case begins(compacted.begins):
			return []interactive.Item{{Role: "notice", Text: compacted.notice}}
		default:
			return []interactive.Item{{Role: "user", Text: asTyped(part.Text, c.targetDir())}}
		}
	}
	return nil
}

// statusOf returns the status of a call from the response that the model received.
func statusOf(response json.RawMessage) bus.CallStatus {
	var r struct{ Error *struct{ Type fault.Code } }
	if json.Unmarshal(response, &r) != nil || r.Error == nil {
		return bus.StatusSuccess
	}
	switch r.Error.Type {
	case fault.Cancelled:
		return bus.StatusCancelled
	case fault.PolicyViolation, fault.DeniedByUser, fault.NoApprover:
		return bus.StatusDenied
	}
	return bus.StatusError
}
