package openai_test

import (
	"context"
	"encoding/json"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/adapters/openai"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
)

type declaration struct {
	Type, Name, Description string
	Parameters              json.RawMessage
	Strict                  bool
}

// FD-05: every tool of a session is declared on the wire of both APIs with its schema.
func TestTools(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Exclude = []string{"run_shell_command"} })
	want, err := s.Declarations(model.DialectOpenAI)
	require.NoError(t, err)
	compare := func(got []declaration) {
		require.Len(t, got, len(want))
		for i, d := range got {
			require.Equal(t, want[i].Name, d.Name)
			require.Equal(t, want[i].Description, d.Description)
			require.JSONEq(t, string(want[i].Parameters), string(d.Parameters))
			require.NotEqual(t, "run_shell_command", d.Name)
			require.False(t, d.Strict)
		}
	}

	chat, err := openai.Chat{Config: s.Config}.Tools()
	require.NoError(t, err)
	encoded, err := json.Marshal(chat)
	require.NoError(t, err)
	var ofChat []struct {
		Type     string
		Function declaration
	}
	require.NoError(t, json.Unmarshal(encoded, &ofChat))
	var got []declaration
	for _, d := range ofChat {
		require.Equal(t, "function", d.Type)
		got = append(got, d.Function)
	}
	compare(got)

	flat, err := openai.Responses{Config: s.Config}.Tools()
	require.NoError(t, err)
	encoded, err = json.Marshal(flat)
	require.NoError(t, err)
	got = nil
	require.NoError(t, json.Unmarshal(encoded, &got))
	require.Equal(t, "function", got[0].Type)
	compare(got)
}

// A number in a schema keeps all its digits.
func TestToolsKeepDigits(t *testing.T) {
	big, err := tools.DefineJSON(tools.Spec{
		Name: "big", Description: "Takes a large number.", Kind: tools.KindThink,
		Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},"additionalProperties":false}`),
	}, func(context.Context, json.RawMessage, tools.Output) (tools.Result, error) { return tools.Result{}, nil })
	require.NoError(t, err)
	s := configtest.New(t, func(p *config.Parameters) {
		p.Tools.Core, p.Tools.Own = []string{}, []tools.DeclarativeTool{big}
	})
	chat, err := openai.Chat{Config: s.Config}.Tools()
	require.NoError(t, err)
	encoded, err := json.Marshal(chat)
	require.NoError(t, err)
	require.Contains(t, string(encoded), "9007199254740993")
}

// calls decodes the calls of a message.
func calls(t *testing.T, wire string) []sdk.ChatCompletionMessageToolCallUnion {
	t.Helper()
	var m sdk.ChatCompletionMessage
	require.NoError(t, json.Unmarshal([]byte(`{"role":"assistant","tool_calls":`+wire+`}`), &m))
	return m.ToolCalls
}

// message is a result message in the wire format.
type message struct {
	Role       string
	Content    json.RawMessage
	ToolCallID string `json:"tool_call_id"`
}

// code returns the error code in a result, "" for a success.
func code(t *testing.T, text string) fault.Code {
	t.Helper()
	var response struct {
		Error  struct{ Type fault.Code }
		Output *string
	}
	require.NoError(t, json.Unmarshal([]byte(text), &response))
	require.NotNil(t, response.Output)
	return response.Error.Type
}

func sent(t *testing.T, answers []sdk.ChatCompletionMessageParamUnion) []message {
	t.Helper()
	encoded, err := json.Marshal(answers)
	require.NoError(t, err)
	var messages []message
	require.NoError(t, json.Unmarshal(encoded, &messages))
	return messages
}

// The calls of one message are answered in order, whatever their results are.
func TestChatAnswer(t *testing.T) {
	s := configtest.New(t)
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.Cancel }
	s.Write("a.txt", "one\n")
	answers, err := openai.Chat{Config: s.Config}.Answer(t.Context(), calls(t, `[
		{"id": "1", "type": "function", "function": {"name": "read_file", "arguments": "{\"file_path\": \"a.txt\"}"}},
		{"id": "2", "type": "function", "function": {"name": "no_such_tool", "arguments": ""}},
		{"id": "3", "type": "function", "function": {"name": "read_file", "arguments": "{\"file_"}},
		{"id": "4", "type": "custom", "custom": {"name": "read_file", "input": "a.txt"}},
		{"id": "5", "type": "function", "function": {"name": "write_file", "arguments": "{\"file_path\": \"b.txt\", \"content\": \"x\"}"}},
		{"id": "6", "type": "function", "function": {"name": "read_file", "arguments": "{\"file_path\": \"a.txt\"}"}}
	]`))
	require.NoError(t, err)
	messages := sent(t, answers)
	want := []fault.Code{"", fault.ToolNotRegistered, fault.InvalidToolParams, fault.InvalidToolParams, fault.DeniedByUser, fault.Cancelled}
	require.Len(t, messages, len(want))
	for i, m := range messages {
		require.Equal(t, "tool", m.Role)
		require.Equal(t, string(rune('1'+i)), m.ToolCallID)
		var text string
		require.NoError(t, json.Unmarshal(m.Content, &text))
		require.Equal(t, want[i], code(t, text))
	}
	require.Equal(t, "5", s.Confirmations()[0].CallID)
	require.Len(t, s.Confirmations(), 1)

	answers, err = openai.Chat{Config: s.Config}.Answer(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, answers)
}

// show returns a session with a tool that returns an image, and data of another type.
func show(t *testing.T) *configtest.Session {
	t.Helper()
	tool, err := tools.Define("show", "Shows a picture.", tools.KindThink, func(context.Context, struct{}) (tools.Result, error) {
		r := tools.Result{LLMContent: tools.Data("a picture", "image/png", []byte{1, 2})}
		r.LLMContent.Parts = append(r.LLMContent.Parts, tools.Part{InlineData: &tools.InlineData{MIMEType: "audio/wav", Data: []byte{3}}})
		return r, nil
	})
	require.NoError(t, err)
	return configtest.New(t, func(p *config.Parameters) { p.Tools.Own = []tools.DeclarativeTool{tool} })
}

// Images follow all results, in a message that may contain them.
func TestChatData(t *testing.T) {
	s := show(t)
	answers, err := openai.Chat{Config: s.Config}.Answer(t.Context(), calls(t, `[
		{"id": "1", "type": "function", "function": {"name": "show", "arguments": "{}"}},
		{"id": "2", "type": "function", "function": {"name": "list_directory", "arguments": "{\"dir_path\": \".\"}"}}
	]`))
	require.NoError(t, err)
	messages := sent(t, answers)
	require.Len(t, messages, 3)
	require.Equal(t, "user", messages[2].Role)
	require.JSONEq(t, `[
		{"type": "text", "text": "What show returned in addition to its text:"},
		{"type": "image_url", "image_url": {"url": "data:image/png;base64,AQI="}},
		{"type": "text", "text": "[data of type audio/wav, 1 bytes, which cannot be shown to this model]"}
	]`, string(messages[2].Content))
}

// Only the function calls among a response's items are run and answered.
func TestResponsesAnswer(t *testing.T) {
	s := show(t)
	var response responses.Response
	require.NoError(t, json.Unmarshal([]byte(`{"output": [
		{"type": "reasoning", "id": "r", "summary": []},
		{"type": "function_call", "call_id": "1", "name": "no_such_tool", "arguments": "{}"},
		{"type": "function_call", "call_id": "2", "name": "show", "arguments": "{}"}
	]}`), &response))
	items, err := openai.Responses{Config: s.Config}.Answer(t.Context(), response.Output)
	require.NoError(t, err)
	encoded, err := json.Marshal(items)
	require.NoError(t, err)
	var got []struct {
		Type   string
		CallID string `json:"call_id"`
		Output any
	}
	require.NoError(t, json.Unmarshal(encoded, &got))
	require.Len(t, got, 2)
	require.Equal(t, "function_call_output", got[0].Type)
	require.Equal(t, []string{"1", "2"}, []string{got[0].CallID, got[1].CallID})
	require.Equal(t, fault.ToolNotRegistered, code(t, got[0].Output.(string)))
	require.Equal(t, []any{
		map[string]any{"type": "input_text", "text": `{"output":"a picture"}`},
		map[string]any{"type": "input_image", "image_url": "data:image/png;base64,AQI="},
		map[string]any{"type": "input_text", "text": "[data of type audio/wav, 1 bytes, which cannot be shown to this model]"},
	}, got[1].Output)

	items, err = openai.Responses{Config: s.Config}.Answer(t.Context(), response.Output[:1])
	require.NoError(t, err)
	require.Empty(t, items)
}

// Without an approver, a call that needs approval is denied; before Initialize and
// after the end of ctx nothing runs.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	c, err := config.New(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: dir}})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	write := calls(t, `[{"id": "1", "type": "function", "function": {"name": "write_file", "arguments": "{\"file_path\": \"a.txt\", \"content\": \"x\"}"}}]`)
	_, err = openai.Chat{Config: c}.Answer(t.Context(), write)
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
	_, err = openai.Responses{Config: c}.Tools()
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
	require.NoError(t, c.Initialize(t.Context()))

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for want, ctx := range map[fault.Code]context.Context{fault.NoApprover: t.Context(), fault.Cancelled: ended} {
		answers, err := openai.Chat{Config: c}.Answer(ctx, write)
		require.NoError(t, err)
		require.Equal(t, want, code(t, answers[0].OfTool.Content.OfString.Value))
	}
	require.NoFileExists(t, dir+"/a.txt")
}
