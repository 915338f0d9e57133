package chat

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
)

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
		})
		require.Equal(t, interactive.Item{Role: "user", Text: "Read @f.txt now."}, items[0])
		require.Equal(t, "read_file", items[1].Name)
		require.Contains(t, items[1].Text, "f.txt")
		require.NotContains(t, items[1].Text, "{")
		require.Equal(t, interactive.Item{Role: "tool", Name: "no_such_tool", Status: "error"}, items[2])
		for i, status := range []string{"success", "error", "cancelled", "denied", "cancelled"} {
			require.Equal(t, status, items[1+i].Status)
			require.Equal(t, status == "success", items[1+i].OK)
		}
		require.Empty(t, items[5].Text, "arguments that its tool does not take")
		require.Equal(t, interactive.Item{Role: "notice", Text: "This answer was interrupted."}, items[6])
	})
}
