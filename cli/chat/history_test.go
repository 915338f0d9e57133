package chat

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// A resumed conversation shows only typed text as the user's: no output of shell lines,
// notes about restored files, context of hooks or texts of the agent itself.
func TestItemsOfContext(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, _ string) {
		submit(ctx, c, "!echo shell output")
		c.addContext(model.TextPart("<hook_context>by a hook</hook_context>"), model.TextPart((&checkpoint.Report{Selected: "turn 1", Steps: []checkpoint.FileStep{{}}}).Note()))
		submit(ctx, c, "What is in @f.txt?")
		history := c.conversation().History()
		require.Greater(t, len(history[0].Parts), 4)
		history = append(history,
			model.UserText("Continue with the task."), model.Content{Role: model.RoleModel, Parts: []model.Part{model.TextPart("On it.")}},
			model.Content{Role: model.RoleUser, Parts: []model.Part{model.TextPart("The user ran a command:\n<command>ls"), model.TextPart("typed")}},
		)
		require.Equal(t, []interactive.Item{
			{Role: "user", Text: "What is in @f.txt?"}, {Role: "assistant", Text: "First."}, {Role: "assistant", Text: "On it."}, {Role: "user", Text: "typed"},
		}, c.itemsOf(history, nil))
		require.Equal(t, []interactive.Item{{Role: "notice", Text: compacted.notice}, {Role: "assistant", Text: "More."}}, c.itemsOf([]model.Content{
			model.UserText("<conversation_summary>\nIt was long."), {Role: model.RoleModel, Parts: []model.Part{model.TextPart(compacted.follows)}},
			{Role: model.RoleModel, Parts: []model.Part{model.TextPart("More.")}},
		}, nil))
	})
}

// The reads of @ names are calls with their own IDs, so that a front end shows each
// below its prompt.
func TestMentionsHaveIDs(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, _ string) {
		var mu sync.Mutex
		var ids []string
		s := bus.Subscribe(ctx, c.Bus(), func(_ context.Context, m bus.ToolCallsUpdate) {
			mu.Lock()
			defer mu.Unlock()
			for _, call := range m.ToolCalls {
				if !slices.Contains(ids, call.CallID) {
					ids = append(ids, call.CallID)
				}
			}
		})
		submit(ctx, c, "What is in @f.txt?")
		submit(ctx, c, "And in @f.txt now?")
		require.True(t, s.Flush(ctx), "Unsubscribe would drop queued messages")
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, ids, 2)
		require.NotContains(t, ids, "")
	})
}

// An earlier conversation is displayed as it was: calls with their description and
// status, prompts as typed, and no text that was not displayed then.
func TestItemsOfHistory(t *testing.T) {
	chatting(t, threeAnswers, func(_ context.Context, c *chat, _ string) {
		project := c.targetDir()
		call := func(id, name, args string) model.Part {
			return model.Part{Call: &model.FunctionCall{ID: id, Name: name, Args: json.RawMessage(args)}}
		}
		response := func(id, text string) model.Part {
			return model.Part{Response: &model.FunctionResponse{ID: id, Response: json.RawMessage(text)}}
		}
		items := c.itemsOf([]model.Content{
			{Role: model.RoleUser, Parts: []model.Part{model.TextPart("Read @" + filepath.Join(project, "f.txt") + " now.")}},
			{Role: model.RoleModel, Parts: []model.Part{
				call("1", "read_file", `{"file_path":"f.txt"}`), call("2", "no_such_tool", `{}`), call("3", "read_file", `{"file_path":"f.txt"}`),
				call("4", "read_file", `{"file_path":"f.txt"}`), call("5", "read_file", `{"file_path":7}`),
			}},
			{Role: model.RoleUser, Parts: []model.Part{
				response("1", `{"output":"x"}`), response("2", `{"error":{"type":"tool_not_registered","message":"m"}}`),
				response("3", `{"error":{"type":"cancelled","message":"m"}}`), response("4", `{"error":{"type":"denied_by_user","message":"m"}}`),
			}},
			{Role: model.RoleModel, Parts: []model.Part{model.TextPart(agent.InterruptedText)}},
		}, nil)
		require.Equal(t, interactive.Item{Role: "user", Text: "Read @f.txt now."}, items[0])
		require.Equal(t, "read_file", items[1].Name)
		require.Contains(t, items[1].Text, "f.txt")
		require.NotContains(t, items[1].Text, "{")
		require.Equal(t, interactive.Item{Role: "tool", Name: "no_such_tool", ID: "2", Args: "{}", Status: "error"}, items[2])
		for i, status := range []string{"success", "error", "cancelled", "denied", "cancelled"} {
			require.Equal(t, status, items[1+i].Status)
			require.Equal(t, status == "success", items[1+i].OK)
		}
		require.Empty(t, items[5].Text, "arguments that its tool does not take")
		require.Equal(t, interactive.Item{Role: "notice", Text: "This answer was interrupted."}, items[6])
	})
}
