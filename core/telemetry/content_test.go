package telemetry_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/telemetry"
	"github.com/fettle-dev/fettle/core/tools"
)

func withContent(o *telemetry.Options) { o.Content, o.Mask = true, mask }

// secrets returns all forms in which a key could be recorded.
func secrets(t *testing.T) []string {
	t.Helper()
	forms := []string{secretKey}
	for range 4 {
		quoted, err := json.Marshal(forms[len(forms)-1])
		require.NoError(t, err)
		forms = append(forms, strings.Trim(string(quoted), `"`))
	}
	return append(forms, "0123456789", "sk-")
}

// Without Content neither content nor a key is recorded.
func TestNoContent(t *testing.T) {
	w := watch(t)
	conversation(t, w)
	text := w.exported(t)
	require.Contains(t, text, "execute_tool read_file")
	require.Contains(t, text, "gen_ai.client.token.usage")
	for _, content := range append(secrets(t), secretPrompt, secretSystem, secretArg, secretFile, secretAnswer, secretError, "First.", "file_path") {
		require.NotContains(t, text, content)
	}
}

// With Content all of it is recorded in the attributes of the semantic conventions. The key is
// masked in every nesting of JSON.
func TestContent(t *testing.T) {
	w := watch(t, withContent)
	conversation(t, w)
	text := w.exported(t)
	for _, content := range []string{secretPrompt, secretSystem, secretArg, secretFile, secretAnswer, secretError, "First."} {
		require.Contains(t, text, content)
	}
	for _, form := range secrets(t) {
		require.NotContains(t, text, form)
	}

	prompt := w.named(t, "invoke_agent fettle")
	require.JSONEq(t, `[{"role": "user", "parts": [{"type": "text", "content": "`+secretPrompt+` ***"}]}]`, attr(prompt, "gen_ai.input.messages"))
	require.JSONEq(t, `[{"role": "assistant", "parts": [{"type": "text", "content": "`+secretAnswer+`"}]}]`, attr(prompt, "gen_ai.output.messages"))

	call := w.named(t, "execute_tool write_file")
	require.JSONEq(t, `{"file_path": "`+secretArg+` ***"}`, attr(call, "gen_ai.tool.call.arguments"))
	require.NotEmpty(t, attr(call, "fettle.decision.reason"))
	require.NotEmpty(t, attr(call, "fettle.decision.rule"))
	failed := w.named(t, "execute_tool break")
	require.Contains(t, failed.Status().Description, secretError+" ***")
	require.Contains(t, attr(failed, "gen_ai.tool.call.result"), secretError+" ***")

	var systems, inputs, outputs []string
	for _, s := range w.spans.Ended() {
		if s.Name() == "chat demo" && attr(s, "fettle.purpose") == "main" {
			systems = append(systems, attr(s, "gen_ai.system_instructions"))
			inputs = append(inputs, attr(s, "gen_ai.input.messages"))
			outputs = append(outputs, attr(s, "gen_ai.output.messages"))
		}
	}
	require.Equal(t, []string{`[{"type":"text","content":"` + secretSystem + `"}]`, "", "", "", ""}, systems) // once in a prompt
	var turn []struct {
		Role   string
		Parts  []map[string]any
		Finish string `json:"finish_reason"`
	}
	require.NoError(t, json.Unmarshal([]byte(inputs[1]), &turn)) // the new part: the results of calls
	require.Equal(t, "tool", turn[0].Role)
	require.Len(t, turn[0].Parts, 2)
	require.Equal(t, "tool_call_response", turn[0].Parts[0]["type"])
	require.Equal(t, "c1", turn[0].Parts[0]["id"])
	require.Contains(t, turn[0].Parts[0]["response"], secretFile)
	turn = nil
	require.NoError(t, json.Unmarshal([]byte(outputs[0]), &turn))
	require.Equal(t, "assistant", turn[0].Role)
	require.Equal(t, "stop", turn[0].Finish)
	require.Equal(t, map[string]any{"type": "text", "content": "First."}, turn[0].Parts[0])
	require.Equal(t, "tool_call", turn[0].Parts[1]["type"])
	require.Equal(t, "read_file", turn[0].Parts[1]["name"])
	require.JSONEq(t, `{"file_path": "`+secretArg+` ***"}`, turn[0].Parts[1]["arguments"].(string))
}

// An attribute stays within its limit and remains valid JSON. A secret at the cut is masked before
// it is cut.
func TestContentIsBounded(t *testing.T) {
	const bound = 200
	w := watch(t, withContent, func(o *telemetry.Options) { o.MaxContent = bound })
	long := strings.Repeat("ä", 95) + secretKey + strings.Repeat("b", 1000)
	many := []model.Part{{Thought: true, Text: "Hm."}, {Data: &model.Data{MIMEType: "image/png", Bytes: []byte("PNG")}}, {Signature: []byte("x")}}
	for range 1000 {
		many = append(many, model.TextPart(long), model.Part{Call: &model.FunctionCall{ID: "i", Name: "n", Args: json.RawMessage("{broken " + long)}})
	}
	_, end := w.Prompt(t.Context(), agent.PromptInfo{Parts: many})
	end(agent.PromptEnd{Text: strings.Repeat("c", 2<<20)})
	_, called := w.Call(t.Context(), scheduler.Request{Tool: "look"})
	called(scheduler.Response{
		Tool: "look", Status: scheduler.StatusSuccess, Params: json.RawMessage(`{"a": "` + long + `"}`),
		Result: tools.Result{LLMContent: tools.Text(strings.Repeat("d", 2<<20))},
	})
	for _, s := range w.spans.Ended() {
		for _, a := range s.Attributes() {
			text := a.Value.String()
			require.LessOrEqual(t, len(text), bound+200, a.Key)
			require.NotContains(t, text, "sk-")
		}
	}
	prompt := w.named(t, "invoke_agent fettle")
	var messages []struct{ Parts []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(attr(prompt, "gen_ai.input.messages")), &messages))
	require.Equal(t, map[string]any{"type": "reasoning", "content": "Hm."}, messages[0].Parts[0])
	require.Equal(t, map[string]any{"type": "blob", "mime_type": "image/png", "size": float64(3)}, messages[0].Parts[1])
	require.Len(t, messages[0].Parts, 3)
	require.True(t, strings.HasSuffix(messages[0].Parts[2]["content"].(string), "…"))
	require.Contains(t, attr(prompt, "gen_ai.output.messages"), "[2097152 bytes, left out]")
	require.Equal(t, "[2097152 bytes, left out]", attr(w.named(t, "execute_tool look"), "gen_ai.tool.call.result"))
}

// A mask that panics lets no content through, and no span ends early.
func TestMaskThatPanics(t *testing.T) {
	w := watch(t, func(o *telemetry.Options) { o.Content, o.Mask = true, func(string) string { panic("mask") } })
	require.Equal(t, agent.EventDone, conversation(t, w).Type)
	require.Len(t, w.spans.Started(), len(w.spans.Ended()))
	text := w.exported(t)
	require.Contains(t, text, "[left out]")
	for _, content := range append(secrets(t), secretPrompt, secretSystem, secretArg, secretFile, secretAnswer, secretError) {
		require.NotContains(t, text, content)
	}
}

// A key in JSON escapes is found in text that is not JSON, too.
func TestEscapedSecrets(t *testing.T) {
	for _, text := range []string{
		`{"a": "sk-\"quoted\"-0123456789`,                             // cut off
		`I called it with {"a": "sk-\"quoted\"-0123456789"}, and so.`, // within a text
		`"{\"a\": \"sk-\\\"quoted\\\"-0123456789\"`,
		`\u0073k-\u0022quoted\u0022-0123456789 \u00`,
	} {
		w := watch(t, withContent)
		_, end := w.Prompt(t.Context(), agent.PromptInfo{Parts: []model.Part{model.TextPart(text), {Call: &model.FunctionCall{Args: json.RawMessage(text)}}}})
		end(agent.PromptEnd{Text: text})
		exported := w.exported(t)
		require.Contains(t, exported, "***", text)
		require.NotContains(t, exported, "0123456789", text)
	}
	w := watch(t, withContent)
	_, end := w.Prompt(t.Context(), agent.PromptInfo{})
	end(agent.PromptEnd{Text: `a\nb C:\temp \`}) // has no secret and stays unchanged
	require.Contains(t, attr(w.spans.Ended()[0], "gen_ai.output.messages"), `a\\nb C:\\temp \\`)
}

// The recorded form of any arguments is valid text of limited length without the key.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a": "sk-\"quoted\"-0123456789"}`, `[1e999, "{\"b\": \"[\\\"c\\\"]\"}"]`, `{"a"`, "\xff\x00", secretKey, `{"sk-\"quoted\"-0123456789": 1}`,
		`"` + strings.Repeat(`{\"a\":\"`, 9), strings.Repeat("[", 5000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		w := watch(t, withContent, func(o *telemetry.Options) { o.MaxContent = 1000 })
		_, end := w.Call(t.Context(), scheduler.Request{Tool: "look", Args: args})
		end(scheduler.Response{Tool: "look", Status: scheduler.StatusSuccess, Params: args})
		exported := attr(w.named(t, "execute_tool look"), "gen_ai.tool.call.arguments")
		require.LessOrEqual(t, len(exported), 1003)
		require.NotContains(t, exported, secretKey)
		require.NotContains(t, exported, `sk-\"quoted\"-0123456789`)
	})
}

// Text with the shape of a secret is masked even if the embedder's mask does not know it.
func TestShapesInContent(t *testing.T) {
	w := watch(t, func(o *telemetry.Options) {
		o.Content, o.Mask = true, func(text string) string {
			return strings.ReplaceAll(text, secretKey, "xoxb-"+"1234567890-abcdefABCDEF password=hunter2")
		}
	})
	conversation(t, w)
	text := w.exported(t)
	require.Contains(t, text, secretPrompt)
	require.Contains(t, text, "[masked]")
	require.NotContains(t, text, "abcdefABCDEF")
	require.NotContains(t, text, "hunter2")
}
