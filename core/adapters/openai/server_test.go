package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/fettle-dev/fettle/integration/adaptertest"
)

// connect returns a client of a server that speaks OpenAI's protocol and plays a
// story.
func connect(story adaptertest.Story) (*sdk.Client, func()) {
	s := &server{story: story}
	web := httptest.NewServer(s)
	client := sdk.NewClient(option.WithBaseURL(web.URL), option.WithAPIKey("none"), option.WithHTTPClient(web.Client()), option.WithMaxRetries(0))
	return &client, web.Close
}

type server struct {
	story  adaptertest.Story
	stored []string // results, as the Responses API stores them
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var reply any
	var err error
	switch r.URL.Path {
	case "/chat/completions":
		reply, err = s.chat(json.NewDecoder(r.Body))
	case "/responses":
		reply, err = s.responses(json.NewDecoder(r.Body))
	default:
		err = http.ErrNotSupported
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply)
}

func (s *server) chat(body *json.Decoder) (any, error) {
	var request struct {
		Messages []struct {
			Role, Content string
			ToolCallID    string `json:"tool_call_id"`
		}
		Tools []struct {
			Type     string
			Function struct{ Parameters struct{ Type string } }
		}
	}
	if err := body.Decode(&request); err != nil {
		return nil, err
	}
	if len(request.Tools) < 10 || request.Tools[0].Type != "function" || request.Tools[0].Function.Parameters.Type != "object" {
		return nil, fmt.Errorf("the tools are %v", request.Tools)
	}
	var answers []string
	for _, m := range request.Messages {
		if m.Role == "tool" {
			answers = append(answers, m.Content)
		}
	}
	call, text, err := s.story.Next(answers)
	if err != nil {
		return nil, err
	}
	message, finish := map[string]any{"role": "assistant", "content": text}, "stop"
	if call != nil {
		finish = "tool_calls"
		message["tool_calls"] = []any{map[string]any{
			"id": call.ID, "type": "function", "function": map[string]any{"name": call.Name, "arguments": string(call.Args)},
		}}
	}
	return map[string]any{"object": "chat.completion", "choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": message}}}, nil
}

func (s *server) responses(body *json.Decoder) (any, error) {
	var request struct {
		Input    json.RawMessage
		Previous string `json:"previous_response_id"`
		Tools    []struct{ Type string }
	}
	if err := body.Decode(&request); err != nil {
		return nil, err
	}
	if len(request.Tools) < 10 || request.Tools[0].Type != "function" {
		return nil, fmt.Errorf("the tools are %v", request.Tools)
	}
	if request.Previous != "" {
		var items []struct{ Type, Output string }
		if err := json.Unmarshal(request.Input, &items); err != nil {
			return nil, err
		}
		for _, item := range items {
			if item.Type == "function_call_output" {
				s.stored = append(s.stored, item.Output)
			}
		}
	}
	call, text, err := s.story.Next(s.stored)
	if err != nil {
		return nil, err
	}
	item := map[string]any{"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": text}}}
	if call != nil {
		item = map[string]any{"type": "function_call", "call_id": call.ID, "name": call.Name, "arguments": string(call.Args)}
	}
	return map[string]any{"id": "resp_1", "object": "response", "status": "completed", "output": []any{item}}, nil
}
