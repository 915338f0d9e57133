package file_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/tools/file"
)

// ED-04: the family of a model by its name, with the prefixes and suffixes of providers, clouds and gateways.
func TestDialectOf(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{
		file.TextEditor: {
			"claude-sonnet-4-5", "Claude-Opus-4", "anthropic:claude-3-7-sonnet-latest", "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
			"openrouter/anthropic/claude-opus-4.1", "vertex/claude-opus-4@20250514", "databricks-claude-sonnet-4",
		},
		file.ApplyPatch: {
			"gpt-5", "openai:gpt-5-codex", "openrouter/openai/gpt-5", "chatgpt-4o-latest", "codex-mini-latest", "o1", "o3-mini", "openai:o4-mini", "openai/o3",
			"gpt-oss-120b", "ft:gpt-4.1-mini:org::id", "GPT-6-Sol",
		},
		file.SafePatch: {
			"", "auto", "gemini-2.5-pro", "openai:llama-4", "deepseek-r1", "marco-o1", "gpt-neo-2.7B", "gpt-j", "omega", "o", "openai:o2d2", "claudette", "qwen3-coder", "codextral",
		},
	} {
		for _, name := range names {
			require.Equal(t, want, file.DialectOf(name), name)
		}
	}
}
