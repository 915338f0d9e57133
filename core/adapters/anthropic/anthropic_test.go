package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/adapters/anthropic"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/integration/adaptertest"
)

// connect returns a client of a server that speaks Anthropic's protocol and plays a
// story.
func connect(story adaptertest.Story) (*sdk.Client, func()) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply, err := serve(r, story)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(reply)
	}))
	client := sdk.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("none"), option.WithHTTPClient(server.Client()), option.WithMaxRetries(0))
	return &client, server.Close
}

// block is a block of a message in the wire format.
type block struct {
	Type      string
	Text      string
	ToolUseID string `json:"tool_use_id"`
	IsError   bool   `json:"is_error"`
	Content   []struct {
		Type, Text string
		Source     struct {
			Data      string
			MediaType string `json:"media_type"`
		}
	}
}

func serve(r *http.Request, story adaptertest.Story) (any, error) {
	var request struct {
		Messages []struct{ Content []block }
		Tools    []struct {
			Name   string
			Schema struct{ Type string } `json:"input_schema"`
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return nil, err
	}
	if r.URL.Path != "/v1/messages" || len(request.Tools) < 10 || request.Tools[0].Schema.Type != "object" {
		return nil, fmt.Errorf("%s with the tools %v", r.URL.Path, request.Tools)
	}
	var answers []string
	for _, m := range request.Messages {
		for _, b := range m.Content {
			if b.Type == "tool_result" {
				answers = append(answers, b.Content[0].Text)
			}
		}
	}
	call, text, err := story.Next(answers)
	if err != nil {
		return nil, err
	}
	content, stop := []any{map[string]any{"type": "text", "text": text}}, "end_turn"
	if call != nil {
		content, stop = []any{map[string]any{"type": "tool_use", "id": call.ID, "name": call.Name, "input": call.Args}}, "tool_use"
	}
	return map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": stop, "content": content}, nil
}

// FD-05: every tool of a session is declared on the wire with its schema.
func TestTools(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Exclude = []string{"run_shell_command"} })
	declared, err := anthropic.Toolset{Config: s.Config}.Tools()
	require.NoError(t, err)
	encoded, err := json.Marshal(declared)
	require.NoError(t, err)
	var got []struct {
		Name, Description string
		Schema            json.RawMessage `json:"input_schema"`
	}
	require.NoError(t, json.Unmarshal(encoded, &got))
	want, err := s.Declarations(model.DialectAnthropic)
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i, d := range got {
		require.Equal(t, want[i].Name, d.Name)
		require.Equal(t, want[i].Description, d.Description)
		require.JSONEq(t, string(want[i].Parameters), string(d.Schema))
		require.NotEqual(t, "run_shell_command", d.Name)
	}
}

// blocks decodes the blocks of a message.
func blocks(t *testing.T, wire string) []sdk.ContentBlockUnion {
	t.Helper()
	var m sdk.Message
	require.NoError(t, json.Unmarshal([]byte(`{"role": "assistant", "content": `+wire+`}`), &m))
	return m.Content
}

// answer returns the blocks that answer a message, in the wire format.
func answer(ctx context.Context, t *testing.T, c *config.Config, wire string) []block {
	t.Helper()
	answers, err := anthropic.Toolset{Config: c}.Answer(ctx, blocks(t, wire))
	require.NoError(t, err)
	encoded, err := json.Marshal(answers)
	require.NoError(t, err)
	var blocks []block
	require.NoError(t, json.Unmarshal(encoded, &blocks))
	return blocks
}

// code returns the error code of a block, "" for a success.
func code(t *testing.T, b block) fault.Code {
	t.Helper()
	if !b.IsError {
		return ""
	}
	var response struct {
		Error  struct{ Type fault.Code }
		Output *string
	}
	require.NoError(t, json.Unmarshal([]byte(b.Content[0].Text), &response))
	require.NotNil(t, response.Output)
	return response.Error.Type
}

// The calls of one message are answered in order, whatever their results are; other
// blocks are ignored.
func TestAnswer(t *testing.T) {
	s := configtest.New(t)
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.Cancel }
	s.Write("a.txt", "one\n")
	blocks := answer(t.Context(), t, s.Config, `[
		{"type": "thinking", "thinking": "…", "signature": "x"},
		{"type": "text", "text": "I look."},
		{"type": "tool_use", "id": "1", "name": "read_file", "input": {"file_path": "a.txt"}},
		{"type": "tool_use", "id": "2", "name": "no_such_tool", "input": {}},
		{"type": "tool_use", "id": "3", "name": "read_file", "input": {}},
		{"type": "tool_use", "id": "4", "name": "write_file", "input": {"file_path": "b.txt", "content": "x"}},
		{"type": "tool_use", "id": "5", "name": "read_file", "input": {"file_path": "a.txt"}}
	]`)
	want := []fault.Code{"", fault.ToolNotRegistered, fault.InvalidToolParams, fault.DeniedByUser, fault.Cancelled}
	require.Len(t, blocks, len(want))
	for i, b := range blocks {
		require.Equal(t, "tool_result", b.Type)
		require.Equal(t, string(rune('1'+i)), b.ToolUseID)
		require.Equal(t, want[i], code(t, b))
	}
	var state struct{ Content string }
	require.NoError(t, json.Unmarshal([]byte(blocks[0].Content[0].Text), &state), "a success is what the tool gave")
	require.Equal(t, "one\n", state.Content)
	require.Len(t, s.Confirmations(), 1)
	require.Equal(t, "4", s.Confirmations()[0].CallID)

	require.Empty(t, answer(t.Context(), t, s.Config, `[{"type": "text", "text": "Done."}]`))
}

// Images and documents are in the result of their call; an empty text is omitted.
func TestData(t *testing.T) {
	results := map[string]tools.Content{
		"picture": tools.Data("a picture", "image/png", []byte{1, 2}),
		"paper":   tools.Data("a paper", "application/pdf", []byte{3}),
		"sound":   tools.Data("a sound", "audio/wav", []byte{4}),
		"nothing": tools.Text(""),
	}
	s := configtest.New(t, func(p *config.Parameters) {
		for name, content := range results {
			tool, err := tools.Define(name, "Gives something.", tools.KindThink, func(context.Context, struct{}) (tools.Result, error) {
				return tools.Result{LLMContent: content}, nil
			})
			require.NoError(t, err)
			p.Tools.Own = append(p.Tools.Own, tool)
		}
	})
	blocks := answer(t.Context(), t, s.Config, `[
		{"type": "tool_use", "id": "1", "name": "picture", "input": {}},
		{"type": "tool_use", "id": "2", "name": "paper", "input": {}},
		{"type": "tool_use", "id": "3", "name": "sound", "input": {}},
		{"type": "tool_use", "id": "4", "name": "nothing", "input": {}}
	]`)
	require.Equal(t, "a picture", blocks[0].Content[0].Text)
	require.Equal(t, "image", blocks[0].Content[1].Type)
	require.Equal(t, "image/png", blocks[0].Content[1].Source.MediaType)
	require.Equal(t, "AQI=", blocks[0].Content[1].Source.Data)
	require.Equal(t, "document", blocks[1].Content[1].Type)
	require.Equal(t, "[data of type audio/wav, 1 bytes, which cannot be shown to this model]", blocks[2].Content[1].Text)
	require.Empty(t, blocks[3].Content)
	for _, b := range blocks {
		require.False(t, b.IsError)
	}
}

// Without an approver, a call that needs approval is denied; before Initialize and
// after the end of ctx nothing runs.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	c, err := config.New(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: dir}})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	const write = `[{"type": "tool_use", "id": "1", "name": "write_file", "input": {"file_path": "a.txt", "content": "x"}}]`
	_, err = anthropic.Toolset{Config: c}.Answer(t.Context(), blocks(t, write))
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
	_, err = anthropic.Toolset{Config: c}.Tools()
	require.Equal(t, fault.NotInitialized, fault.CodeOf(err))
	require.NoError(t, c.Initialize(t.Context()))

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, fault.NoApprover, code(t, answer(t.Context(), t, c, write)[0]))
	require.Equal(t, fault.Cancelled, code(t, answer(ended, t, c, write)[0]))
	require.NoFileExists(t, dir+"/a.txt")
}
