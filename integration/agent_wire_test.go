package integration_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/standard"
)

// wireRequest is a request as decoded by a provider's server, in a neutral form.
type wireRequest struct {
	path    string
	header  http.Header
	system  string
	turns   []wireTurn
	tools   []heardTool
	signed  []string // signatures of thoughts that were returned
	thought []string // thoughts that were returned as text
}

type wireTurn struct {
	model   bool
	text    string
	calls   []wireCall
	answers []wireAnswer
}

type heardTool struct {
	name, description string
	schema            json.RawMessage
	native            string // type of a tool that the API defines, "" for others
}

type wireCall struct{ id, name, args string }

// wireAnswer is a tool response: its output and, if it failed, its error as JSON.
type wireAnswer struct{ id, output, failure string }

// last returns the user's newest turn.
func (h wireRequest) last() wireTurn { return h.turns[len(h.turns)-1] }

// wireReply is a model response.
type wireReply struct {
	thought, text string
	calls         []wireCall
}

// wireFormat is the encoding of one provider.
type wireFormat struct {
	name  string                                     // of the provider
	env   func(url string) map[string]string         // variables with the address of the server
	hear  func(t *testing.T, raw []byte) wireRequest // decodes a request
	speak func(s wireReply) string                   // encodes a response as a stream
	fail  func(status int, kind, text string) string // encodes a failure
}

// signature is a thought signature of the provider.
const signature = "c2lnbmF0dXJl"

// speaker is a server that chooses the model's response by the request.
type speaker struct {
	t      *testing.T
	format wireFormat
	// answer returns the response to request n, 0-based, or writes it and returns
	// nil.
	answer func(n int, h wireRequest, w http.ResponseWriter) *wireReply

	mu          sync.Mutex
	wireRequest []wireRequest
	url         string
}

func serveModel(t *testing.T, f wireFormat, answer func(n int, h wireRequest, w http.ResponseWriter) *wireReply) *speaker {
	t.Helper()
	s := &speaker{t: t, format: f, answer: answer}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h := s.format.hear(s.t, raw)
	h.path, h.header = r.URL.Path, r.Header.Clone()
	s.mu.Lock()
	n := len(s.wireRequest)
	s.wireRequest = append(s.wireRequest, h)
	s.mu.Unlock()
	if reply := s.answer(n, h, w); reply != nil {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, s.format.speak(*reply))
	}
}

// requests returns the requests so far.
func (s *speaker) requests() []wireRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]wireRequest(nil), s.wireRequest...)
}

// soon retries without long waits.
var soon = agent.Retry{First: time.Millisecond, StreamFirst: time.Millisecond}

// talkingTo connects a session to the server as the program does.
func (s *speaker) talkingTo(p *config.Parameters) {
	p.Conversation.Retry = soon
	vars := s.format.env(s.url)
	p.Environment.Getenv = func(name string) string { return vars[name] }
	p.Conversation.Model = s.format.name + ":test-model"
	*p = standard.Parameters(*p)
}

var wireFormats = []wireFormat{geminiFormat, openaiFormat, anthropicFormat}

func mustJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// outputOf decodes a tool response in the form that all providers but Anthropic
// receive.
func outputOf(t *testing.T, id, response string) wireAnswer {
	var keys struct{ Output, Error json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(response), &keys), response)
	a := wireAnswer{id: id, output: string(keys.Output), failure: string(keys.Error)}
	var text string
	if json.Unmarshal(keys.Output, &text) == nil {
		a.output = text
	}
	return a
}

// events encodes server-sent events with data only.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		fmt.Fprintf(&b, "data: %s\n\n", d)
	}
	return b.String()
}

// halves splits a text in two, to send it in pieces.
func halves(text string) [2]string { return [2]string{text[:len(text)/2], text[len(text)/2:]} }

var geminiFormat = wireFormat{
	name: "gemini",
	env: func(url string) map[string]string {
		return map[string]string{"GEMINI_API_KEY": "gemini-key-0123456789", "GOOGLE_GEMINI_BASE_URL": url}
	},
	hear: func(t *testing.T, raw []byte) wireRequest {
		type part struct {
			Text             string
			Thought          bool
			ThoughtSignature string
			FunctionCall     *struct {
				ID, Name string
				Args     json.RawMessage
			}
			FunctionResponse *struct {
				ID, Name string
				Response json.RawMessage
			}
		}
		var body struct {
			SystemInstruction struct{ Parts []part }
			Contents          []struct {
				Role  string
				Parts []part
			}
			Tools []struct {
				FunctionDeclarations []struct {
					Name, Description    string
					ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
				}
			}
		}
		require.NoError(t, json.Unmarshal(raw, &body))
		h := wireRequest{}
		for _, p := range body.SystemInstruction.Parts {
			h.system += p.Text
		}
		for _, c := range body.Contents {
			require.Contains(t, []string{"user", "model"}, c.Role)
			turn := wireTurn{model: c.Role == "model"}
			for _, p := range c.Parts {
				if p.ThoughtSignature != "" {
					h.signed = append(h.signed, p.ThoughtSignature)
				}
				switch {
				case p.Thought:
					h.thought = append(h.thought, p.Text)
				case p.FunctionCall != nil:
					turn.calls = append(turn.calls, wireCall{p.FunctionCall.ID, p.FunctionCall.Name, string(p.FunctionCall.Args)})
				case p.FunctionResponse != nil:
					turn.answers = append(turn.answers, outputOf(t, p.FunctionResponse.ID, string(p.FunctionResponse.Response)))
				default:
					turn.text += p.Text
				}
			}
			h.turns = append(h.turns, turn)
		}
		for _, set := range body.Tools {
			for _, d := range set.FunctionDeclarations {
				h.tools = append(h.tools, heardTool{d.Name, d.Description, d.ParametersJSONSchema, ""})
			}
		}
		return h
	},
	speak: func(s wireReply) string {
		chunk := func(finish string, parts ...any) string {
			c := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
			if finish != "" {
				c["finishReason"] = finish
			}
			return mustJSON(map[string]any{"candidates": []any{c}, "modelVersion": "test-model"})
		}
		var data []string
		if s.thought != "" {
			data = append(data, chunk("", map[string]any{"text": s.thought, "thought": true}))
		}
		if s.text != "" {
			for _, half := range halves(s.text) {
				data = append(data, chunk("", map[string]any{"text": half}))
			}
		}
		var calls []any
		for i, c := range s.calls {
			part := map[string]any{"functionCall": map[string]any{"id": c.id, "name": c.name, "args": json.RawMessage(c.args)}}
			if i == 0 {
				part["thoughtSignature"] = signature
			}
			calls = append(calls, part)
		}
		if calls == nil {
			calls = []any{}
		}
		return events(append(data, chunk("STOP", calls...))...)
	},
	fail: func(status int, kind, text string) string {
		return mustJSON(map[string]any{"error": map[string]any{"code": status, "message": text, "status": kind}})
	},
}

var openaiFormat = wireFormat{
	name: "openai",
	env: func(url string) map[string]string {
		return map[string]string{"OPENAI_API_KEY": "openai-key-0123456789", "OPENAI_BASE_URL": url + "/v1"}
	},
	hear: func(t *testing.T, raw []byte) wireRequest {
		var body struct {
			Messages []struct {
				Role, Content    string
				ToolCallID       string `json:"tool_call_id"`
				ReasoningContent string `json:"reasoning_content"`
				ToolCalls        []struct {
					ID, Type string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			Tools []struct {
				Type     string
				Function struct {
					Name, Description string
					Parameters        json.RawMessage
				}
			}
		}
		require.NoError(t, json.Unmarshal(raw, &body))
		h := wireRequest{}
		for _, m := range body.Messages {
			if m.ReasoningContent != "" {
				h.thought = append(h.thought, m.ReasoningContent)
			}
			switch m.Role {
			case "system":
				h.system += m.Content
			case "assistant":
				turn := wireTurn{model: true, text: m.Content}
				for _, c := range m.ToolCalls {
					require.Equal(t, "function", c.Type)
					turn.calls = append(turn.calls, wireCall{c.ID, c.Function.Name, c.Function.Arguments})
				}
				h.turns = append(h.turns, turn)
			case "tool":
				if n := len(h.turns); n == 0 || h.turns[n-1].model {
					h.turns = append(h.turns, wireTurn{})
				}
				turn := &h.turns[len(h.turns)-1]
				turn.answers = append(turn.answers, outputOf(t, m.ToolCallID, m.Content))
			case "user":
				h.turns = append(h.turns, wireTurn{text: m.Content})
			default:
				t.Errorf("a message of role %q", m.Role)
			}
		}
		for _, d := range body.Tools {
			require.Equal(t, "function", d.Type)
			h.tools = append(h.tools, heardTool{d.Function.Name, d.Function.Description, d.Function.Parameters, ""})
		}
		return h
	},
	speak: func(s wireReply) string {
		chunk := func(delta any, finish any) string {
			return mustJSON(map[string]any{"id": "c", "object": "chat.completion.chunk", "model": "test-model",
				"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
		}
		data := []string{chunk(map[string]any{"role": "assistant", "content": ""}, nil)}
		if s.thought != "" {
			data = append(data, chunk(map[string]any{"reasoning_content": s.thought}, nil))
		}
		if s.text != "" {
			for _, half := range halves(s.text) {
				data = append(data, chunk(map[string]any{"content": half}, nil))
			}
		}
		finish := "stop"
		for i, c := range s.calls {
			finish = "tool_calls"
			data = append(data, chunk(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": c.id, "type": "function",
				"function": map[string]any{"name": c.name, "arguments": ""}}}}, nil))
			for _, half := range halves(c.args) {
				data = append(data, chunk(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": half}}}}, nil))
			}
		}
		return events(append(data, chunk(map[string]any{}, finish), "[DONE]")...)
	},
	fail: func(_ int, kind, text string) string {
		return mustJSON(map[string]any{"error": map[string]any{"message": text, "type": "error", "code": kind}})
	},
}

var anthropicFormat = wireFormat{
	name: "anthropic",
	env: func(url string) map[string]string {
		return map[string]string{"ANTHROPIC_API_KEY": "anthropic-key-0123456789", "ANTHROPIC_BASE_URL": url}
	},
	hear: hearAnthropic,
	speak: func(s wireReply) string {
		data := []string{`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"test-model","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`}
		index := 0
		block := func(start any, deltas ...any) {
			data = append(data, mustJSON(map[string]any{"type": "content_block_start", "index": index, "content_block": start}))
			for _, d := range deltas {
				data = append(data, mustJSON(map[string]any{"type": "content_block_delta", "index": index, "delta": d}))
			}
			data = append(data, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
			index++
		}
		if s.thought != "" {
			block(map[string]any{"type": "thinking", "thinking": "", "signature": ""},
				map[string]any{"type": "thinking_delta", "thinking": s.thought}, map[string]any{"type": "signature_delta", "signature": signature})
		}
		if s.text != "" {
			both := halves(s.text)
			block(map[string]any{"type": "text", "text": ""},
				map[string]any{"type": "text_delta", "text": both[0]}, map[string]any{"type": "text_delta", "text": both[1]})
		}
		stop := "end_turn"
		for _, c := range s.calls {
			stop = "tool_use"
			both := halves(c.args)
			block(map[string]any{"type": "tool_use", "id": c.id, "name": c.name, "input": map[string]any{}},
				map[string]any{"type": "input_json_delta", "partial_json": both[0]}, map[string]any{"type": "input_json_delta", "partial_json": both[1]})
		}
		data = append(data, fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":9}}`, stop), `{"type":"message_stop"}`)
		var b strings.Builder
		for _, d := range data {
			kind := topType.FindStringSubmatch(d)[1]
			fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", kind, d)
		}
		return b.String()
	},
	fail: func(_ int, kind, text string) string {
		return mustJSON(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": text}})
	},
}

// topType finds the type of an event; other keys may precede it.
var topType = regexp.MustCompile(`"type":"((?:message|content_block)_[a-z]+)"`)

func hearAnthropic(t *testing.T, raw []byte) wireRequest {
	type block struct {
		Type, Text, ID, Name, Thinking, Signature string
		Input                                     json.RawMessage
		ToolUseID                                 string `json:"tool_use_id"`
		IsError                                   bool   `json:"is_error"`
		Content                                   []struct{ Type, Text string }
	}
	var body struct {
		MaxTokens int `json:"max_tokens"`
		System    []block
		Messages  []struct {
			Role    string
			Content []block
		}
		Tools []struct {
			Type, Name, Description string
			InputSchema             json.RawMessage `json:"input_schema"`
		}
	}
	require.NoError(t, json.Unmarshal(raw, &body))
	require.Positive(t, body.MaxTokens, "the API demands it")
	h := wireRequest{}
	for _, b := range body.System {
		h.system += b.Text
	}
	for _, m := range body.Messages {
		require.Contains(t, []string{"user", "assistant"}, m.Role)
		turn := wireTurn{model: m.Role == "assistant"}
		for _, b := range m.Content {
			switch b.Type {
			case "text":
				turn.text += b.Text
			case "thinking":
				h.thought, h.signed = append(h.thought, b.Thinking), append(h.signed, b.Signature)
			case "tool_use":
				turn.calls = append(turn.calls, wireCall{b.ID, b.Name, string(b.Input)})
			case "tool_result":
				require.Empty(t, turn.text, "results come first")
				a := wireAnswer{id: b.ToolUseID}
				for _, c := range b.Content {
					a.output += c.Text
				}
				if b.IsError {
					a = outputOf(t, b.ToolUseID, a.output)
				}
				turn.answers = append(turn.answers, a)
			default:
				t.Errorf("a block of type %q", b.Type)
			}
		}
		h.turns = append(h.turns, turn)
	}
	for _, d := range body.Tools {
		h.tools = append(h.tools, heardTool{d.Name, d.Description, d.InputSchema, d.Type})
	}
	return h
}
