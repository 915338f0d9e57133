package model_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/model"
)

func TestEstimateTokens(t *testing.T) {
	part := func(p model.Part) *model.Request {
		return &model.Request{Contents: []model.Content{{Role: model.RoleUser, Parts: []model.Part{p}}}}
	}
	image, pdf := model.Data{MIMEType: "image/png", Bytes: []byte("x")}, model.Data{MIMEType: "application/pdf"}
	tests := map[string]struct {
		r    *model.Request
		want int
	}{
		"nothing":            {&model.Request{}, 0},
		"ASCII":              {part(text("12345678")), 2},
		"the floor":          {part(text("1234567")), 1},
		"others":             {part(text("世界")), 3},
		"both":               {part(text("ab世")), 2},
		"added up":           {&model.Request{System: "12", Contents: []model.Content{model.UserText("12"), model.UserText("1234")}}, 2},
		"a thought":          {part(thought("1234")), 1},
		"100,000 characters": {part(text(strings.Repeat("世", 100_000))), 150_000},
		"more":               {part(text(strings.Repeat("世", 100_004))), 25_001},
		"an image":           {part(model.Part{Data: &image}), 3_000},
		"a PDF":              {part(model.Part{Data: &pdf}), 25_800},
		"other data":         {part(model.Part{Data: &model.Data{MIMEType: "audio/wav", Bytes: make([]byte, 300)}}), 100},
		"a call":             {part(model.Part{Call: &model.FunctionCall{ID: "1", Name: "t", Args: json.RawMessage(`{"a":1}`)}}), len(`{"id":"1","name":"t","args":{"a":1}}`) / 4},
		"an answer":          {part(model.Part{Response: &model.FunctionResponse{Response: json.RawMessage(`{"output":"` + strings.Repeat("世", 10) + `"}`), Data: []model.Data{image}}}), 3_000 + (len(`{"output":""}`)+30)/4},
		"a tool":             {&model.Request{Tools: []model.Tool{{Name: "abcd", Description: "1234", Parameters: json.RawMessage(`{"a":1}`)}}}, 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, model.EstimateTokens(tt.r)) })
	}
}

func TestTokenLimit(t *testing.T) {
	for name, want := range map[string]int{
		"": 1_048_576, "something": 1_048_576, "gemini-2.5-pro": 1_048_576, "models/gemini-1.5-pro-002": 2_097_152, "gemma-4-27b": 256_000, "gemma-3-27b-it": 131_072,
		"claude-sonnet-4-5": 200_000, "claude-opus-4-1-20250805": 200_000, "claude-opus-4-20250514": 200_000, "claude-3-opus-20240229": 200_000,
		"claude-opus-4-6": 1_000_000, "anthropic/claude-opus-4.7": 1_000_000, "claude-opus-5-20260801": 1_000_000, "claude-fable-1": 1_000_000,
		"gpt-4.5-preview": 128_000, "gpt-5.2-chat-latest": 128_000, "gpt-5.2": 272_000, "gpt-4o-mini": 128_000, "gpt-4": 8_192, "gpt-4.1": 1_047_576, "gpt-5-mini": 272_000, "o3": 200_000, "openai/GPT-4o": 128_000,
	} {
		require.Equal(t, want, model.TokenLimit(name), name)
	}
}
