package gemini_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/internal/wiretest"
)

// sent returns the body of the request that r becomes.
func sent(t *testing.T, r *model.Request) string {
	s := wiretest.Serve(t, wiretest.Answer{Body: stream})
	_, err := model.Collect(newGenerator(t, s).Stream(t.Context(), r))
	require.NoError(t, err)
	return string(s.Last().Body)
}

func TestRequest(t *testing.T) {
	zero := 0.0
	body := sent(t, &model.Request{
		Model: "gemini-2.5-pro", System: "Be <brief>.",
		Contents: []model.Content{
			model.UserText("hi"),
			{Role: model.RoleModel, Parts: []model.Part{
				{Text: "hm", Thought: true},
				{Text: "I look."},
				{Call: &model.FunctionCall{ID: "c1", Name: "read_file", Args: json.RawMessage(`{"n":9007199254740993}`)}, Signature: []byte{0xff, 0xfe}, Provider: "gemini"},
				{Call: &model.FunctionCall{ID: "c2", Name: "read_file"}},
			}},
			{Role: model.RoleUser, Parts: []model.Part{
				{Response: &model.FunctionResponse{
					ID: "c1", Name: "read_file", Response: json.RawMessage(`{"output":{"big":9007199254740993}}`),
					Data: []model.Data{{MIMEType: "image/png", Bytes: []byte("png")}},
				}},
				{Response: &model.FunctionResponse{ID: "c2", Name: "read_file", Response: json.RawMessage(`{"error":{"type":"x"}}`)}},
				{Text: "go on"},
			}},
		},
		Tools: []model.Tool{{
			Name: "read_file", Description: "Reads.",
			Parameters: json.RawMessage(`{"$schema":"x","type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},"required":["n"]}`),
		}},
		Choice:          model.ToolChoice{Mode: model.ToolAny, Allowed: []string{"read_file"}},
		Temperature:     &zero,
		MaxOutputTokens: 100,
	})
	require.JSONEq(t, `{
		"contents": [
			{"role":"user","parts":[{"text":"hi"}]},
			{"role":"model","parts":[
				{"text":"I look."},
				{"functionCall":{"id":"c1","name":"read_file","args":{"n":9007199254740993}},"thoughtSignature":"//4="},
				{"functionCall":{"id":"c2","name":"read_file","args":{}}}
			]},
			{"role":"user","parts":[
				{"functionResponse":{"id":"c1","name":"read_file","response":{"output":{"big":9007199254740993}}}},
				{"functionResponse":{"id":"c2","name":"read_file","response":{"error":{"type":"x"}}}},
				{"inlineData":{"mimeType":"image/png","data":"cG5n"}},
				{"text":"go on"}
			]}
		],
		"systemInstruction": {"role":"user","parts":[{"text":"Be <brief>."}]},
		"tools": [{"functionDeclarations":[{"name":"read_file","description":"Reads.",
			"parametersJsonSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},"required":["n"]}}]}],
		"toolConfig": {"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["read_file"]}},
		"generationConfig": {"temperature":0,"maxOutputTokens":100,"thinkingConfig":{"includeThoughts":true}}
	}`, body)
	require.Contains(t, body, `{"n":9007199254740993}`)
	require.Contains(t, body, `{"big":9007199254740993}`)
	require.Contains(t, body, `"maximum":9007199254740993`)
}

// The first call of a turn without a signature of this provider gets the placeholder signature.
func TestForeignCalls(t *testing.T) {
	body := sent(t, &model.Request{Model: "gemini-3-pro", Contents: []model.Content{
		model.UserText("hi"),
		{Role: model.RoleModel, Parts: []model.Part{
			{Text: "hm", Thought: true, Signature: []byte("s"), Provider: "anthropic"},
			{Call: &model.FunctionCall{ID: "a", Name: "no such/tool", Args: json.RawMessage(`{"broken`)}, Signature: []byte("s"), Provider: "anthropic"},
			{Call: &model.FunctionCall{ID: "b", Name: ""}},
		}},
		{Role: model.RoleUser, Parts: []model.Part{
			{Response: &model.FunctionResponse{ID: "a", Name: "no such/tool", Response: json.RawMessage(`"plain"`), Data: []model.Data{{MIMEType: "image/png", Bytes: []byte("png")}}}},
			{Response: &model.FunctionResponse{ID: "b", Name: ""}},
		}},
		{Role: model.RoleModel, Parts: []model.Part{{Signature: []byte{1}, Provider: "gemini"}}},
		{Role: model.RoleModel, Parts: []model.Part{{Text: "only a thought", Thought: true}}},
	}})
	var got struct{ Contents json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.JSONEq(t, `[
		{"role":"user","parts":[{"text":"hi"}]},
		{"role":"model","parts":[
			{"functionCall":{"id":"a","name":"no_such_tool","args":{"invalid_arguments":"{\"broken"}},"thoughtSignature":"skip_thought_signature_validator"},
			{"functionCall":{"id":"b","name":"generic_tool","args":{}}}
		]},
		{"role":"user","parts":[
			{"functionResponse":{"id":"a","name":"no_such_tool","response":{"output":"\"plain\""},"parts":[{"inlineData":{"mimeType":"image/png","data":"cG5n"}}]}},
			{"functionResponse":{"id":"b","name":"generic_tool","response":{"output":""}}}
		]},
		{"role":"model","parts":[{"text":"","thoughtSignature":"AQ=="}]}
	]`, string(got.Contents))
}

func TestResponseSchema(t *testing.T) {
	r := ask("hi")
	r.ResponseSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740993}}}`)
	body := sent(t, r)
	require.Contains(t, body, `"responseMimeType":"application/json"`)
	require.Contains(t, body, `"maximum":9007199254740993`)
	require.Contains(t, body, `"responseJsonSchema":{`)

	r.ResponseSchema = json.RawMessage(`{`)
	_, err := newGenerator(t, wiretest.Serve(t, wiretest.Answer{Body: stream})).Generate(t.Context(), r)
	require.Equal(t, model.InvalidRequest, asError(t, err).Kind)
}

func TestToolModes(t *testing.T) {
	for mode, want := range map[model.ToolMode]string{model.ToolAuto: "AUTO", model.ToolNone: "NONE", model.ToolAny: "ANY"} {
		r := ask("hi")
		r.Tools = []model.Tool{{Name: "t"}}
		r.Choice.Mode = mode
		require.Contains(t, sent(t, r), `"functionCallingConfig":{"mode":"`+want+`"}`)
	}
}

func TestThoughtsOnlyWhereTheModelThinks(t *testing.T) {
	for name, want := range map[string]bool{
		"gemini-2.5-flash": true, "gemini-3-pro-preview": true, "models/gemini-2.5-pro": true, "gemini-flash-latest": true,
		"gemini-2.0-flash": false, "gemini-1.5-pro": false, "gemma-3-27b-it": false, "gemini-2.5-flash-image": false,
	} {
		r := ask("hi")
		r.Model = name
		if want {
			require.Contains(t, sent(t, r), "includeThoughts", name)
		} else {
			require.NotContains(t, sent(t, r), "includeThoughts", name)
		}
	}
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

// A Generator does not change the request.
func TestRequestIsNotChanged(t *testing.T) {
	r := ask("hi")
	r.Tools = []model.Tool{{Name: "t", Parameters: json.RawMessage(`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`)}}
	before, err := json.Marshal(r)
	require.NoError(t, err)
	sent(t, r)
	after, err := json.Marshal(r)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

func TestCountTokens(t *testing.T) {
	asJSON := map[string]string{"Content-Type": "application/json"}
	s := wiretest.Serve(t, wiretest.Answer{Body: `{"totalTokens": 31}`, Header: asJSON})
	r := ask("hi")
	n, err := newGenerator(t, s).CountTokens(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, 31, n)
	require.Equal(t, "/v1beta/models/gemini-2.5-pro:countTokens", s.Last().Path)

	r.System = "12345678"
	n, err = newGenerator(t, s).CountTokens(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, 33, n, "the system prompt is estimated")

	s = wiretest.Serve(t, wiretest.Answer{Status: 404, Body: "no such thing"})
	n, err = newGenerator(t, s).CountTokens(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, model.EstimateTokens(r), n)

	s = wiretest.Serve(t, wiretest.Answer{Status: 500})
	_, err = newGenerator(t, s).CountTokens(t.Context(), r)
	require.Equal(t, model.Unavailable, asError(t, err).Kind)
}
