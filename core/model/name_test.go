package model_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

func TestParseName(t *testing.T) {
	providers := []string{"gemini", "openai", "anthropic", "script"}
	for in, want := range map[string]model.Name{
		"gemini:anything":       {Provider: "gemini", Model: "anything"},
		"openai:llama3:8b":      {Provider: "openai", Model: "llama3:8b"},
		"openai:gemini-2.5":     {Provider: "openai", Model: "gemini-2.5"},
		`script:C:\a.json`:      {Provider: "script", Model: `C:\a.json`},
		"gemini-2.5-pro":        {Provider: "gemini", Model: "gemini-2.5-pro"},
		"models/gemini-3-pro":   {Provider: "gemini", Model: "models/gemini-3-pro"},
		"gemma-3-27b-it":        {Provider: "gemini", Model: "gemma-3-27b-it"},
		"claude-opus-4-1":       {Provider: "anthropic", Model: "claude-opus-4-1"},
		"gpt-5":                 {Provider: "openai", Model: "gpt-5"},
		"o3-mini":               {Provider: "openai", Model: "o3-mini"},
		"ft:gpt-4o:org::1":      {},
		"openai:":               {},
		":x":                    {},
		"":                      {},
		"llama3:8b":             {},
		"OPENAI:x":              {},
		strings.Repeat("ü", 99): {},
	} {
		got, err := model.ParseName(in, providers)
		require.Equal(t, want, got, in)
		if want != (model.Name{}) {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), in)
		require.Contains(t, fault.As(err).Remedy, "gemini:NAME, openai:NAME, anthropic:NAME, script:NAME.")
		require.Less(t, len(err.Error()), 300)
	}
	got, err := model.ParseName("claude-opus-4-1", []string{"gemini"})
	require.NoError(t, err)
	require.Equal(t, "anthropic", got.Provider, "a name tells more than the list")
	require.Equal(t, "gemini:x", model.Name{Provider: "gemini", Model: "x"}.String())
}
