package config

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// silent is a model without output.
type silent struct{ model.Generator }

func (silent) Generate(context.Context, *model.Request) (*model.Response, error) {
	return &model.Response{Content: model.Content{Role: model.RoleModel}}, nil
}

// beginAgent begins the session of a run.
func beginAgent(t *testing.T, c *Config, d subagent.Definition) *subagent.Session {
	t.Helper()
	s, err := agentHost{c}.Begin(t.Context(), &d)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func newForAgents(t *testing.T) *Config {
	t.Helper()
	c, err := New(Parameters{TargetDir: t.TempDir(), Environment: Environment{HomeDir: t.TempDir()}, Conversation: Conversation{Models: model.Always(silent{})}, Policy: Policy{ApprovalMode: policy.ModeYolo}})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// An agent's prompt names the tools that it has, and no other.
func TestAgentsPromptNamesItsTools(t *testing.T) {
	c := newForAgents(t)
	for _, tt := range []struct {
		tools   []string
		has, no []string
	}{
		{[]string{"read_file"}, []string{"read_file"}, []string{"safe_patch", "write_file", "run_shell_command", "search_file_content", "read_many_files"}},
		{nil, []string{"read_file", "safe_patch", "run_shell_command"}, nil},
		{[]string{"Bash"}, []string{"run_shell_command"}, []string{"read_file"}},
	} {
		s := beginAgent(t, c, subagent.Definition{Name: "x", Description: "X.", Prompt: "You are x.", Tools: tt.tools})
		text, err := s.Agent.System(t.Context())
		require.NoError(t, err)
		for _, name := range tt.has {
			require.Contains(t, text, name)
		}
		for _, name := range tt.no {
			require.NotContains(t, text, name)
		}
	}
	own, err := c.SystemPrompt(t.Context())
	require.NoError(t, err)
	require.Contains(t, own, "run_shell_command")
}

// Files that an agent has written are reported to its caller, even after a
// compaction of its conversation.
func TestAgentsChangesOutliveItsCompaction(t *testing.T) {
	c := newForAgents(t)
	s := beginAgent(t, c, subagent.Definition{Name: "x", Description: "X.", Prompt: "You are x."})
	write := func(name string) {
		done := s.Agent.Scheduler.RunAll(t.Context(), []scheduler.Request{{CallID: name, Tool: "write_file", Args: json.RawMessage(`{"file_path":"` + name + `","content":"x"}`)}})
		require.Equal(t, scheduler.StatusSuccess, done[0].Status, "%v", done[0].Result.Error)
	}
	write("before")
	_, err := s.Agent.Restate(t.Context(), nil)
	require.NoError(t, err)
	write("between")
	s.Agent.Cleared()
	write("after")
	var names []string
	for _, path := range s.Changed() {
		names = append(names, path[strings.LastIndexAny(path, `/\`)+1:])
	}
	require.ElementsMatch(t, []string{"before", "between", "after"}, names)
}

// A recorded agent keeps the parts of answers that compaction removes.
func TestAgentsRecordingKeepsAnswersThatAreCut(t *testing.T) {
	c := newForAgents(t)
	kept, err := NewTranscripts(c, nil)
	require.NoError(t, err)
	_, err = c.Converse(Opening{Agents: kept})
	require.NoError(t, err)
	s := beginAgent(t, c, subagent.Definition{Name: "x", Description: "X.", Prompt: "You are x."})
	long := strings.Repeat("output ", 80_000)
	history := []model.Content{model.UserText("Go.")}
	for _, id := range []string{"1", "2", "3"} {
		raw, err := json.Marshal(map[string]string{"output": long})
		require.NoError(t, err)
		history = append(history,
			model.Content{Role: model.RoleModel, Parts: []model.Part{{Call: &model.FunctionCall{ID: id, Name: "glob", Args: json.RawMessage(`{}`)}}}},
			model.Content{Role: model.RoleUser, Parts: []model.Part{{Response: &model.FunctionResponse{ID: id, Name: "glob", Response: raw}}}})
	}
	result, err := s.Agent.Compactor.Compact(t.Context(), agent.CompactRequest{History: history, Generator: silent{}, Model: "m", Limit: 1 << 20})
	require.NoError(t, err)
	require.Equal(t, agent.CompactionTruncated, result.Status)
	_, path, found := strings.Cut(string(result.History[2].Parts[0].Response.Response), "All of it is in ")
	require.True(t, found)
	path, _, _ = strings.Cut(path, ".]")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, long, string(data))
}
