package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wiretest"
	"github.com/fettle-dev/fettle/core/model/openai"
)

// sent returns the body of the request that r becomes.
func sent(t *testing.T, r *model.Request) string {
	s := wiretest.Serve(t, wiretest.Answer{Body: stream})
	_, err := model.Collect(newGenerator(t, s).Stream(t.Context(), r))
	require.NoError(t, err)
	return string(s.Last().Body)
}

func sentMessages(t *testing.T, r *model.Request) string {
	var got struct{ Messages json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(sent(t, r)), &got))
	return string(got.Messages)
}

func TestRequest(t *testing.T) {
	zero, most := 0.0, 0.95
	body := sent(t, &model.Request{
		Model: "a-model", System: "Be <brief>.",
		Contents: []model.Content{
			model.UserText("hi"),
			{Role: model.RoleModel, Parts: []model.Part{
				{Text: "hm", Thought: true, Signature: []byte("s"), Provider: "anthropic"},
				{Text: "I look."},
				{Call: &model.FunctionCall{ID: "c1", Name: "read_file", Args: json.RawMessage(`{"n":9007199254740993}`)}},
				{Call: &model.FunctionCall{ID: "c2", Name: "no such/tool", Args: json.RawMessage(`{"broken`)}},
			}},
			{Role: model.RoleUser, Parts: []model.Part{
				{Response: &model.FunctionResponse{
					ID: "c1", Name: "read_file", Response: json.RawMessage(`{"output":{"big":9007199254740993}}`),
					Data: []model.Data{{MIMEType: "image/png", Bytes: []byte("png")}, {MIMEType: "application/pdf", Bytes: []byte("pdf"), Name: "a.pdf"}},
				}},
				{Response: &model.FunctionResponse{ID: "c2", Name: "no such/tool", Response: json.RawMessage(`{"error":{"type":"x"}}`)}},
				{Text: "go on"},
			}},
		},
		Tools: []model.Tool{{
			Name: "read_file", Description: "Reads.",
			Parameters: json.RawMessage(`{"$schema":"x","type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},"required":["n"]}`),
		}},
		Choice:          model.ToolChoice{Mode: model.ToolAny},
		Temperature:     &zero,
		TopP:            &most,
		MaxOutputTokens: 100,
	})
	require.JSONEq(t, `{
		"model": "a-model", "stream": true, "stream_options": {"include_usage":true},
		"messages": [
			{"role":"system","content":"Be <brief>."},
			{"role":"user","content":"hi"},
			{"role":"assistant","content":"I look.","tool_calls":[
				{"id":"c1","type":"function","function":{"name":"read_file","arguments":"{\"n\":9007199254740993}"}},
				{"id":"c2","type":"function","function":{"name":"no_such_tool","arguments":"{\"invalid_arguments\":\"{\\\"broken\"}"}}
			]},
			{"role":"tool","tool_call_id":"c1","content":"{\"output\":{\"big\":9007199254740993}}"},
			{"role":"tool","tool_call_id":"c2","content":"{\"error\":{\"type\":\"x\"}}"},
			{"role":"user","content":[
				{"type":"text","text":"What read_file returned in addition to its text:"},
				{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},
				{"type":"text","text":"[a.pdf, application/pdf of 3 bytes, cannot be shown to this model]"},
				{"type":"text","text":"go on"}
			]}
		],
		"tools": [{"type":"function","function":{"name":"read_file","description":"Reads.",
			"parameters":{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},"required":["n"]}}}],
		"tool_choice": "required", "temperature": 0, "top_p": 0.95, "max_tokens": 100
	}`, body)
	require.Contains(t, body, `"maximum":9007199254740993`)
}

func TestTextsOfOneTurnAreOneText(t *testing.T) {
	require.JSONEq(t, `[{"role":"user","content":"a\nb"}]`, sentMessages(t, &model.Request{Contents: []model.Content{
		{Role: model.RoleUser, Parts: []model.Part{{Text: "a"}, {Text: ""}, {Text: "b"}}},
		{Role: model.RoleModel, Parts: []model.Part{{Text: "hm", Thought: true}}},
		{Role: model.RoleUser},
	}}))
}

// The ID of another provider may be too long here. Call and result still match, and different IDs
// stay different.
func TestLongCallIDs(t *testing.T) {
	long := strings.Repeat("x", 60)
	var got []struct {
		ToolCallID string `json:"tool_call_id"`
		ToolCalls  []struct {
			ID string `json:"id"`
		} `json:"tool_calls"`
	}
	require.NoError(t, json.Unmarshal([]byte(sentMessages(t, &model.Request{Contents: []model.Content{
		{Role: model.RoleModel, Parts: []model.Part{{Call: &model.FunctionCall{ID: long + "1", Name: "t"}}, {Call: &model.FunctionCall{ID: long + "2", Name: "t"}}}},
		{Role: model.RoleUser, Parts: []model.Part{{Response: &model.FunctionResponse{ID: long + "1", Name: "t"}}, {Response: &model.FunctionResponse{ID: long + "2", Name: "t"}}}},
	}})), &got))
	require.Equal(t, got[0].ToolCalls[0].ID, got[1].ToolCallID)
	require.Equal(t, got[0].ToolCalls[1].ID, got[2].ToolCallID)
	require.NotEqual(t, got[1].ToolCallID, got[2].ToolCallID)
	require.LessOrEqual(t, len(got[1].ToolCallID), 40)
}

func TestThoughtsOfModelsThatWantThemBack(t *testing.T) {
	r := &model.Request{Model: "deepseek-reasoner", Contents: []model.Content{
		{Role: model.RoleModel, Parts: []model.Part{{Text: "hm", Thought: true}, {Call: &model.FunctionCall{ID: "a", Name: "t"}}}},
	}}
	require.Contains(t, sent(t, r), `"reasoning_content":"hm"`)
	r.Model = "gpt-4o"
	require.NotContains(t, sent(t, r), `hm`)
}

func TestToolChoice(t *testing.T) {
	tools := []model.Tool{{Name: "a"}, {Name: "b"}}
	r := ask("hi")
	r.Tools = tools
	require.NotContains(t, sent(t, r), "tool_choice")
	r.Choice = model.ToolChoice{Mode: model.ToolNone}
	require.Contains(t, sent(t, r), `"tool_choice":"none"`)
	r.Choice = model.ToolChoice{Mode: model.ToolAny, Allowed: []string{"b"}}
	body := sent(t, r)
	require.Contains(t, body, `"tool_choice":"required"`)
	require.Contains(t, body, `"name":"b"`)
	require.NotContains(t, body, `"name":"a"`)
	require.Len(t, tools, 2)
	require.Equal(t, "a", tools[0].Name, "the request is not changed")
}

func TestResponseSchema(t *testing.T) {
	r := ask("hi")
	r.ResponseSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740993}}}`)
	require.Contains(t, sent(t, r), `"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740993}}},"strict":false}}`)

	r.ResponseSchema = json.RawMessage(`{`)
	_, err := newGenerator(t, wiretest.Serve(t, wiretest.Answer{Body: stream})).Generate(t.Context(), r)
	require.Equal(t, model.InvalidRequest, asError(t, err).Kind)
}

// Reasoning models of OpenAI accept no temperature and only the newer limit.
func TestModelsThatReason(t *testing.T) {
	half := 0.5
	for name, reasons := range map[string]bool{"gpt-5": true, "o3-mini": true, "openai/gpt-5-mini": true, "gpt-4o": false, "qwen3": false} {
		r := ask("hi")
		r.Model, r.Temperature, r.MaxOutputTokens = name, &half, 100
		body := sent(t, r)
		if reasons {
			require.NotContains(t, body, "temperature", name)
			require.Contains(t, body, `"max_completion_tokens":100`, name)
		} else {
			require.Contains(t, body, `"temperature":0.5`, name)
			require.Contains(t, body, `"max_tokens":100`, name)
		}
	}
}

func TestModelsThatCallToolsOnlyWithoutReasoning(t *testing.T) {
	r := ask("hi")
	r.Model = sdk.GPT6Sol
	require.NotContains(t, sent(t, r), "reasoning_effort")
	r.Tools = []model.Tool{{Name: "t"}}
	require.Contains(t, sent(t, r), `"reasoning_effort":"none"`)
}

func TestDefaultModel(t *testing.T) {
	r := ask("hi")
	r.Model = ""
	require.Contains(t, sent(t, r), `"model":"`+openai.DefaultModel+`"`)
}

// A description longer than the API accepts, e.g. of an MCP server's tool, is cut, so that the
// request is not rejected.
func TestLongDescriptionIsCut(t *testing.T) {
	r := ask("hi")
	r.Tools = []model.Tool{{Name: "fits", Description: strings.Repeat("é", 1024)}, {Name: "long", Description: strings.Repeat("é", 1025)}}
	body := sent(t, r)
	require.Contains(t, body, `"`+strings.Repeat("é", 1024)+`"`)
	require.Contains(t, body, `"`+strings.Repeat("é", 1017)+`… (cut)"`)
}

func TestBadToolIsNamed(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Answer{Body: stream})
	r := ask("hi")
	r.Tools = []model.Tool{{Name: "good"}, {Name: "bad_one", Parameters: json.RawMessage(`{"type":"string"}`)}}
	_, err := model.Collect(newGenerator(t, s).Stream(t.Context(), r))
	e := asError(t, err)
	require.Equal(t, model.InvalidRequest, e.Kind)
	require.Contains(t, e.Message, "bad_one")
	require.Empty(t, s.Requests())
}

func TestCountTokens(t *testing.T) {
	r := ask("hello")
	n, err := newGenerator(t, wiretest.Serve(t)).CountTokens(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, model.EstimateTokens(r), n)
}

// A request that the SDK rejects is an invalid request.
func TestTheSDKRefuses(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Answer{Body: stream})
	r := ask("hi")
	r.Model, r.Tools = sdk.GPT6Astra, []model.Tool{{Name: "t"}} // calls tools only at another endpoint
	_, err := model.Collect(newGenerator(t, s).Stream(t.Context(), r))
	require.Equal(t, model.InvalidRequest, asError(t, err).Kind)
	require.Empty(t, s.Requests())
}
