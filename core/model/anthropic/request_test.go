package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model"
)

// sent returns the decoded body that a request makes.
func sent(t *testing.T, r *model.Request) (body map[string]any, raw string) {
	t.Helper()
	a := newAPI(t, stream(fullAnswer()))
	_, err := newGenerator(t, a.URL).Generate(t.Context(), r)
	require.NoError(t, err)
	got := a.last(t)
	return got.body, got.raw
}

func compact(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

func TestConversation(t *testing.T) {
	picture := model.Data{MIMEType: "image/png", Bytes: []byte{1, 2, 3}, Name: "a.png"}
	paper := model.Data{MIMEType: "application/pdf", Bytes: []byte("%PDF"), Name: "a.pdf"}
	r := &model.Request{
		Model: "claude-sonnet-5-5", System: "Be brief.",
		Tools: []model.Tool{
			{Name: "a_tool", Description: "Does a.", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}}}`)},
			{Name: "b_tool"},
		},
		Contents: []model.Content{
			model.UserText("Do it."),
			{Role: model.RoleModel, Parts: []model.Part{
				{Text: "hm", Thought: true, Signature: []byte("sig+/="), Provider: Provider},
				{Signature: []byte("hidden=="), Provider: Provider},
				{Text: "another's", Thought: true, Signature: []byte("x"), Provider: "gemini"},
				{Text: "unsigned", Thought: true},
				{Signature: []byte("y"), Provider: "gemini"},
				{Text: "Two calls."}, {Text: " \n"},
				{Call: &model.FunctionCall{ID: "toolu_1", Name: "a_tool", Args: json.RawMessage(exactArgs)}},
				{Call: &model.FunctionCall{ID: "call:2/x", Name: "b_tool"}},
				{Call: &model.FunctionCall{ID: "toolu_3", Name: "b_tool", Args: json.RawMessage(`{"half`)}},
			}},
			{Role: model.RoleUser, Parts: []model.Part{
				{Text: "and a word"},
				{Response: &model.FunctionResponse{ID: "toolu_1", Name: "a_tool", Response: json.RawMessage(`{"output":"plain <text>","context":"<hook_context>c</hook_context>"}`), Data: []model.Data{picture, paper}}},
				{Response: &model.FunctionResponse{ID: "call:2/x", Name: "b_tool", Response: json.RawMessage(`{"error":{"type":"file_not_found","message":"No."},"output":{"a":1}}`)}},
				{Response: &model.FunctionResponse{ID: "toolu_3", Name: "b_tool", Response: json.RawMessage(`{"output":{"n":9007199254740993}}`)}},
				{Data: &picture},
			}},
		},
	}
	body, raw := sent(t, r)
	require.Equal(t, `[{"cache_control":{"type":"ephemeral"},"text":"Be brief.","type":"text"}]`, compact(t, body["system"]))
	messages := body["messages"].([]any)
	require.Len(t, messages, 3, "parallel calls are answered in one turn")
	require.JSONEq(t, `{"role":"user","content":[{"type":"text","text":"Do it."}]}`, compact(t, messages[0]))

	other := callID("call:2/x")
	require.JSONEq(t, `{"role":"assistant","content":[
		{"type":"thinking","thinking":"hm","signature":"sig+/="},
		{"type":"redacted_thinking","data":"hidden=="},
		{"type":"text","text":"Two calls."},
		{"type":"tool_use","id":"toolu_1","name":"a_tool","input":{"path":"größe/日本.txt","n":9007199254740993,"list":[1.10,{"a":null}],"text":"<&> 😀"}},
		{"type":"tool_use","id":"`+other+`","name":"b_tool","input":{}},
		{"type":"tool_use","id":"toolu_3","name":"b_tool","input":{"invalid_arguments":"{\"half"}}]}`, compact(t, messages[1]))
	require.JSONEq(t, `{"role":"user","content":[
		{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"plain <text>"},{"type":"text","text":"<hook_context>c</hook_context>"},
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQID"}},
			{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="}}]},
		{"type":"tool_result","tool_use_id":"`+other+`","is_error":true,"content":[{"type":"text","text":"{\"error\":{\"type\":\"file_not_found\",\"message\":\"No.\"},\"output\":{\"a\":1}}"}]},
		{"type":"tool_result","tool_use_id":"toolu_3","content":[{"type":"text","text":"{\"n\":9007199254740993}"}]},
		{"type":"text","text":"and a word"},
		{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQID"},"cache_control":{"type":"ephemeral"}}]}`, compact(t, messages[2]))
	require.Contains(t, raw, `"n":9007199254740993`, "numbers go back with all digits")
	require.Contains(t, raw, `"maximum":9007199254740993`, "schemas too")

	tools := body["tools"].([]any)
	require.Len(t, tools, 2)
	require.Equal(t, "Does a.", tools[0].(map[string]any)["description"])
	require.Nil(t, tools[0].(map[string]any)["cache_control"])
	require.JSONEq(t, `{"name":"b_tool","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}`, compact(t, tools[1]))
	require.LessOrEqual(t, strings.Count(raw, "cache_control"), 4, "the API takes four marks")
	require.NotContains(t, body, "tool_choice")
	require.NotContains(t, body, "temperature")
}

// The content of a response is sent back unchanged.
func TestRoundTrip(t *testing.T) {
	r := hello()
	r.Contents = append(r.Contents, fullResponse().Content, model.Content{Role: model.RoleUser, Parts: []model.Part{
		{Response: &model.FunctionResponse{ID: "toolu_01A", Name: "read_file", Response: json.RawMessage(`{"output":""}`)}},
		{Response: &model.FunctionResponse{ID: "toolu_01B", Name: "list_directory", Response: json.RawMessage(`null`)}},
	}})
	body, raw := sent(t, r)
	content := body["messages"].([]any)[1].(map[string]any)["content"].([]any)
	require.JSONEq(t, `{"type":"thinking","thinking":"Let me think: ä日😀","signature":"EqQBCgIYAhIM+/="}`, compact(t, content[0]))
	require.JSONEq(t, `{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix"}`, compact(t, content[1]))
	require.Contains(t, raw, "9007199254740993")
	require.JSONEq(t, `{"type":"tool_result","tool_use_id":"toolu_01A"}`, compact(t, body["messages"].([]any)[2].(map[string]any)["content"].([]any)[0]))
	require.Contains(t, body["messages"].([]any)[2].(map[string]any)["content"].([]any)[1], "cache_control", "the last answer is marked")
	require.Len(t, body["tools"], 2, "calls in the conversation need declarations")
	require.Equal(t, `{"type":"none"}`, compact(t, body["tool_choice"]))
}

func TestToolChoice(t *testing.T) {
	tools := []model.Tool{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	tests := map[string]struct {
		choice model.ToolChoice
		want   string
		names  string
	}{
		"auto":        {model.ToolChoice{}, "null", "abc"},
		"any":         {model.ToolChoice{Mode: model.ToolAny}, `{"type":"any"}`, "abc"},
		"one":         {model.ToolChoice{Mode: model.ToolAny, Allowed: []string{"b"}}, `{"name":"b","type":"tool"}`, "b"},
		"one of two":  {model.ToolChoice{Mode: model.ToolAny, Allowed: []string{"c", "a"}}, `{"type":"any"}`, "ac"},
		"none":        {model.ToolChoice{Mode: model.ToolNone}, `{"type":"none"}`, "abc"},
		"not offered": {model.ToolChoice{Mode: model.ToolAny, Allowed: []string{"x"}}, "null", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := hello()
			r.Tools, r.Choice = tools, tt.choice
			body, _ := sent(t, r)
			require.Equal(t, tt.want, compact(t, body["tool_choice"]))
			names := ""
			list, _ := body["tools"].([]any)
			for _, v := range list {
				names += v.(map[string]any)["name"].(string)
			}
			require.Equal(t, tt.names, names)
		})
	}
	require.Equal(t, []model.Tool{{Name: "a"}, {Name: "b"}, {Name: "c"}}, tools, "a request is not changed")
}

func TestFamilies(t *testing.T) {
	tests := map[string]family{
		"claude-sonnet-5-5":                       {maxOutput: 128_000, structured: true, editor: true},
		"claude-opus-5":                           {maxOutput: 128_000, structured: true, editor: true},
		"claude-opus-4-7":                         {maxOutput: 128_000, structured: true, editor: true},
		"us.anthropic.claude-opus-4-6-v1":         {maxOutput: 128_000, sampling: true, oneSampler: true, structured: true, editor: true},
		"claude-sonnet-4-6":                       {maxOutput: 128_000, sampling: true, oneSampler: true, structured: true, editor: true},
		"claude-haiku-4-5-20251001":               {maxOutput: 64_000, sampling: true, oneSampler: true, structured: true, editor: true},
		"claude-opus-4-1-20250805":                {maxOutput: 32_000, sampling: true, oneSampler: true, editor: true},
		"claude-opus-4-20250514":                  {maxOutput: 32_000, sampling: true, editor: true},
		"claude-opus-4@20250514":                  {maxOutput: 32_000, sampling: true, editor: true},
		"claude-sonnet-4-20250514":                {maxOutput: 64_000, sampling: true, editor: true},
		"claude-3-7-sonnet-latest":                {maxOutput: 64_000, sampling: true},
		"claude-3-5-haiku-20241022":               {maxOutput: 8192, sampling: true},
		"claude-3-opus-20240229":                  {maxOutput: 4096, sampling: true},
		"claude-mythos-preview":                   {maxOutput: 8192, sampling: true},
		"local-model":                             {maxOutput: 8192, sampling: true},
		"anthropic.claude-opus-4-20250514-v1:0":   {maxOutput: 32_000, sampling: true, editor: true},
		"anthropic.claude-opus-4-1-20250805-v1:0": {maxOutput: 32_000, sampling: true, oneSampler: true, editor: true},
	}
	for name, want := range tests {
		require.Equal(t, want, familyOf(name), name)
	}
}

func TestNumbersOfARequest(t *testing.T) {
	warm, top := 0.5, 0.9
	r := &model.Request{Model: "local-model", Contents: hello().Contents, Temperature: &warm, TopP: &top, MaxOutputTokens: 77}
	body, _ := sent(t, r)
	require.Equal(t, []any{0.5, 0.9, 77.0}, []any{body["temperature"], body["top_p"], body["max_tokens"]})
	r.Model = "claude-sonnet-4-5"
	body, _ = sent(t, r)
	require.Equal(t, []any{0.5, nil}, []any{body["temperature"], body["top_p"]}, "only one of them")
	r.Temperature = nil
	body, _ = sent(t, r)
	require.Equal(t, []any{nil, 0.9}, []any{body["temperature"], body["top_p"]})
	r.Model, r.Temperature, r.MaxOutputTokens = "", &warm, 0
	body, _ = sent(t, r)
	require.Equal(t, DefaultModel, body["model"])
	require.Equal(t, []any{nil, nil, 128_000.0}, []any{body["temperature"], body["top_p"], body["max_tokens"]}, "newer models refuse both")
}

func TestUnknownModel(t *testing.T) {
	a := newAPI(t, stream(fullAnswer()))
	g, err := New(Options{BaseURL: a.URL, HTTPClient: a.Client()})
	require.NoError(t, err)
	_, err = g.Generate(t.Context(), &model.Request{Model: "local-model", Contents: hello().Contents})
	require.NoError(t, err)
	require.Equal(t, "local-model", a.last(t).body["model"])
	require.EqualValues(t, 8192, a.last(t).body["max_tokens"])
}

const answerSchema = `{"type":"object","properties":{"next":{"$ref":"#/$defs/who"},"n":{"type":"integer","minimum":3}},"required":["next"],"$defs":{"who":{"type":"string","enum":["user","model"]}}}`

func TestSchemaOfTheAnswer(t *testing.T) {
	a := newAPI(t, stream(sse(concat([]string{started}, textBlock(0, `{"next":`, `"user"}`), []string{endTurn, stopped})...)))
	r := hello()
	r.ResponseSchema = json.RawMessage(answerSchema)
	got, err := newGenerator(t, a.URL).Generate(t.Context(), r)
	require.NoError(t, err)
	require.JSONEq(t, `{"next":"user"}`, got.Content.Text())
	format := a.last(t).body["output_config"].(map[string]any)["format"].(map[string]any)
	require.Equal(t, "json_schema", format["type"])
	schema := format["schema"].(map[string]any)
	require.Equal(t, false, schema["additionalProperties"])
	require.Contains(t, schema["$defs"], "who")
	require.NotContains(t, a.last(t).body, "tools")
}

// A model without structured output, or a schema that the API does not support, leads to a forced
// tool call; the response is still a text.
func TestAnswerByATool(t *testing.T) {
	for name, r := range map[string]*model.Request{
		"model":  {Model: "local-model", ResponseSchema: json.RawMessage(answerSchema)},
		"schema": {Model: "claude-sonnet-5-5", ResponseSchema: json.RawMessage(`{"type":["string","null"]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			r.Contents = hello().Contents
			a := newAPI(t, stream(sse(concat([]string{started}, textBlock(0, "Here it is:"),
				callBlock(1, "toolu_1", answerTool, `{"answer":{"next":`, `"user","n":9007199254740993}}`), []string{endTools, stopped})...)))
			got, err := newGenerator(t, a.URL).Generate(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, `{"next":"user","n":9007199254740993}`, got.Content.Text())
			require.Empty(t, got.Content.Calls())
			body := a.last(t).body
			require.Equal(t, `{"name":"give_answer","type":"tool"}`, compact(t, body["tool_choice"]))
			require.NotContains(t, body, "output_config")
			if name == "model" {
				properties := body["tools"].([]any)[0].(map[string]any)["input_schema"].(map[string]any)["properties"].(map[string]any)
				require.JSONEq(t, `["user","model"]`, compact(t, properties["answer"].(map[string]any)["properties"].(map[string]any)["next"].(map[string]any)["enum"]))
			}
		})
	}
	bad := newAPI(t, stream(sse(concat([]string{started}, callBlock(0, "x", answerTool, `{"answ`), []string{endTools, stopped})...)))
	_, err := newGenerator(t, bad.URL).Generate(t.Context(), &model.Request{Model: "local-model", Contents: hello().Contents, ResponseSchema: json.RawMessage(answerSchema)})
	var e *model.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, model.BadAnswer, e.Kind)
}

func TestRequestsThatCannotBeMade(t *testing.T) {
	for name, r := range map[string]*model.Request{
		"schema of the answer": {Contents: hello().Contents, ResponseSchema: json.RawMessage(`[]`)},
		"no JSON":              {Contents: hello().Contents, ResponseSchema: json.RawMessage(`{`)},
		"tool":                 {Contents: hello().Contents, Tools: []model.Tool{{Name: "t", Parameters: json.RawMessage(`{"type":"string"}`)}}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, stream(fullAnswer()))
			g := newGenerator(t, a.URL)
			_, err := g.Generate(t.Context(), r)
			var e *model.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, model.InvalidRequest, e.Kind, "%v", e)
			_, err = g.CountTokens(t.Context(), r)
			require.ErrorAs(t, err, &e)
			require.Equal(t, model.InvalidRequest, e.Kind)
			require.Empty(t, a.requests)
		})
	}
}

func TestData(t *testing.T) {
	tests := map[string]struct {
		data model.Data
		want string
	}{
		"jpg":         {model.Data{MIMEType: "image/jpg", Bytes: []byte{1}}, `{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"AQ=="}}`},
		"parameters":  {model.Data{MIMEType: "IMAGE/WEBP; q=1", Bytes: []byte{1}}, `{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"AQ=="}}`},
		"text":        {model.Data{MIMEType: "text/markdown", Bytes: []byte("# a"), Name: "a.md"}, `{"type":"document","title":"a.md","source":{"type":"text","media_type":"text/plain","data":"# a"}}`},
		"sound":       {model.Data{MIMEType: "audio/wav", Bytes: []byte{1, 2}, Name: "a.wav"}, `{"type":"text","text":"[a.wav: 2 bytes of type audio/wav, which cannot be shown to this model]"}`},
		"nothing":     {model.Data{}, `{"type":"text","text":"[attachment: 0 bytes of type unknown, which cannot be shown to this model]"}`},
		"binary text": {model.Data{MIMEType: "text/plain", Bytes: []byte{0xff}}, `{"type":"text","text":"[attachment: 1 bytes of type text/plain, which cannot be shown to this model]"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { require.JSONEq(t, tt.want, compact(t, dataBlock(&tt.data))) })
	}
}

func TestCallIDs(t *testing.T) {
	require.Equal(t, "toolu_01-A", callID("toolu_01-A"))
	require.Regexp(t, `^[a-zA-Z0-9_-]+$`, callID("functions.read:0"))
	require.NotEqual(t, callID("a:0"), callID("a.0"), "different IDs stay different")
	require.NotEmpty(t, callID(""))
}

func TestCountTokens(t *testing.T) {
	a := newAPI(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"input_tokens":2095}`)) })
	a.Config.Handler = jsonType(a.Config.Handler)
	r := hello()
	r.System, r.Tools = "s", []model.Tool{{Name: "t"}}
	n, err := newGenerator(t, a.URL).CountTokens(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, 2095, n)
	got := a.last(t)
	require.Equal(t, "/v1/messages/count_tokens", got.path)
	require.NotContains(t, got.body, "max_tokens")
	require.NotContains(t, got.body, "stream")
	require.Len(t, got.body["tools"], 1)
	require.Contains(t, got.body, "system")
}

func jsonType(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		next.ServeHTTP(w, r)
	})
}

// A server without the endpoint leads to an estimate; other failures are returned.
func TestCountTokensElsewhere(t *testing.T) {
	g := newGenerator(t, newAPI(t, fail(404, nil, `<html>not found</html>`)).URL)
	n, err := g.CountTokens(t.Context(), hello())
	require.NoError(t, err)
	require.Equal(t, model.EstimateTokens(hello()), n)

	g = newGenerator(t, newAPI(t, fail(401, nil, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)).URL)
	_, err = g.CountTokens(t.Context(), hello())
	var e *model.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, model.Unauthenticated, e.Kind)
}
