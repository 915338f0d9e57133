package scheduler_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/shell"
	"github.com/fettle-dev/fettle/core/tools"
)

// AR-19: each type of details reaches the front end completely, with the fields of the tool's details.
func TestDetails(t *testing.T) {
	original := "old"
	for _, want := range []*tools.Confirmation{
		{Type: tools.ConfirmEdit, Title: "E", EditDetails: &tools.EditDetails{FileName: "a", FilePath: "/a", FileDiff: "d",
			OriginalContent: &original, NewContent: "n", DiffStat: &tools.DiffStat{ModelAddedLines: 1, UserRemovedChars: 2}},
			Paths: []string{"/a"}, Bases: []tools.FileVersion{{Path: "/a", SHA256: "ab"}}},
		{Type: tools.ConfirmEdit, Title: "New", EditDetails: &tools.EditDetails{FileName: "a"}},
		{Type: tools.ConfirmExec, Title: "X", ExecDetails: &tools.ExecDetails{Command: "ls", RootCommand: "ls", RootCommands: []string{"ls"}}},
		{Type: tools.ConfirmMCP, Title: "M", MCPDetails: &tools.MCPDetails{ServerName: "s", ToolName: "t", ToolDisplayName: "T"}},
		{Type: tools.ConfirmMCP, Title: "M", MCPDetails: &tools.MCPDetails{ServerName: "s", ToolName: "t", ToolDisplayName: "T",
			ToolArgs: json.RawMessage(`{"a":1}`), ToolDescription: "D.", ToolParameterSchema: json.RawMessage(`{"type":"object"}`)}},
		{Type: tools.ConfirmInfo, Title: "I", InfoDetails: &tools.InfoDetails{Prompt: "p", URLs: []string{"u"}}},
	} {
		s := newSetup(tools.KindOther, policy.AskUser, bus.ProceedOnce)
		s.confirm = func(context.Context) (*tools.Confirmation, error) { return want, nil }
		s.call(t.Context())
		shown, err := json.Marshal(s.questions[0].Details)
		require.NoError(t, err)
		own, err := json.Marshal(want)
		require.NoError(t, err)
		require.JSONEq(t, string(own), string(shown))
	}
}

// AR-15, AR-19: a server's tool without a confirmation of its own is shown completely; invalid JSON is omitted. In plan
// mode the preview does not repeat the arguments to the model.
func TestDetailsOfAServersTool(t *testing.T) {
	s := newSetup(tools.KindOther, policy.AskUser, bus.ProceedOnce)
	schema := json.RawMessage(`{"type":"object"}`)
	s.spec = func(spec *tools.Spec) {
		spec.Name, spec.Schema = "mcp_my_server_do_it", schema
		spec.Origin = tools.Origin{Group: tools.GroupMCP, Server: "my server", Tool: "do it"}
	}
	s.call(t.Context())
	require.Equal(t, &confirmation.MCPDetails{
		ServerName: "my server", ToolName: "do it", ToolDisplayName: "mcp_my_server_do_it",
		ToolArgs: json.RawMessage(`{"final":1}`), ToolDescription: "A fake.", ToolParameterSchema: json.RawMessage(`{"type":"object"}`),
	}, s.questions[0].Details.MCPDetails)

	s.kind, s.options.Mode = tools.KindExecute, func() policy.ApprovalMode { return policy.ModePlan }
	preview := s.call(t.Context()).Result.LLMContent.String()
	require.Contains(t, preview, `"toolArgs":{"final":1}`)
	require.NotContains(t, preview, "A fake.")
	require.NotContains(t, preview, "toolParameterSchema")

	s.options.Mode, schema = nil, json.RawMessage(`{`)
	s.call(t.Context())
	require.Nil(t, s.questions[len(s.questions)-1].Details.ToolParameterSchema)
}

// A command line is shown with its programs and parts, even if the tool does not set them, and with the rule that
// decided each part (19799).
func TestDetailsOfACommandLine(t *testing.T) {
	word := func(s string) []shell.Word { return []shell.Word{{Text: s, Static: true}} }
	line := &shell.Line{Source: "cd x && go test; cd y > f", Parts: []shell.Part{
		{Kind: shell.Builtin, Words: word("cd")}, {Kind: shell.Command, Words: word("go")}, {Kind: shell.Command, Words: word("ls")},
		{Kind: shell.Command, Words: word("go")}, {Kind: shell.Write}, {Kind: shell.Command},
	}}
	s := newSetup(tools.KindExecute, "", bus.ProceedOnce)
	s.policy.prepare = func(c *policy.Call) { c.Line = line }
	s.policy.decide = func(policy.Call) policy.Decision {
		return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.AskUser, Reason: "Because.", Remedy: "Add a rule.", Parts: []confirmation.Part{
			{Text: "go test", Decision: policy.AskUser, Rule: "r", Tier: "user", Source: "p.toml", Line: 4, Reason: "No rule."},
		}}}
	}
	s.call(t.Context())
	parts := []confirmation.Part{{Text: "go test", Decision: "ask_user", Rule: "r", Tier: "user", Source: "p.toml", Line: 4, Reason: "No rule."}}
	require.Equal(t, bus.Confirmation{Type: confirmation.Exec, Title: "Confirm: fake", ExecDetails: &confirmation.ExecDetails{
		Command: line.Source, RootCommand: "go, ls", RootCommands: []string{"go", "ls"}, Parts: parts,
	}}, s.questions[0].Details)
	require.Equal(t, confirmation.Explanation{Decision: "ask_user", Reason: "Because.", Remedy: "Add a rule.", Parts: parts}, s.questions[0].Decision)

	// Programs set by the tool take precedence.
	s.confirm = func(context.Context) (*tools.Confirmation, error) {
		return &tools.Confirmation{Type: tools.ConfirmExec, ExecDetails: &tools.ExecDetails{Command: "c", RootCommand: "r", RootCommands: []string{"r1"}}}, nil
	}
	s.call(t.Context())
	require.Equal(t, &confirmation.ExecDetails{Command: "c", RootCommand: "r", RootCommands: []string{"r1"}, Parts: parts}, s.questions[1].Details.ExecDetails)
}
