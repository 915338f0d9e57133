package config_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/settings"
)

// SB-06: commands see no key of a provider, from any source and under any name,
// although no other variable is withheld.
func TestCommandsSeeNoProviderKeys(t *testing.T) {
	t.Setenv("GEMINI_API_KEY", "hidden-gemini-1")
	t.Setenv("COPY_OF_IT", "hidden-gemini-1")
	t.Setenv("SHELF_TOKEN", "shown-token")
	s := configtest.New(t, func(p *config.Parameters) {
		p.Tools.Shell.Environ = func() []string {
			return append(os.Environ(), "MISTRAL_API_KEY=hidden-mistral", "openai_api_key=hidden-openai", "SHELF_NAME=shown-name")
		}
	})
	for _, command := range []string{"env", "printenv", "export -p", "cat /proc/self/environ | tr '\\0' '\\n'"} {
		out := s.Call("run_shell_command", map[string]any{"command": command}).Result.LLMContent.String()
		require.Contains(t, out, "shown-token", command)
		require.Contains(t, out, "shown-name", command)
		require.NotContains(t, out, "hidden", command)
	}
}

func TestProviderKeys(t *testing.T) {
	for _, name := range []string{
		"GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "openai_api_key", "AZURE_OPENAI_API_KEY", "MISTRAL_API_KEY",
		"GROQ_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY", "HF_TOKEN", "HUGGINGFACEHUB_API_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEYS", "OPENAI_API_KEY_2",
		"VITE_OPENAI_API_KEY", "NEXT_PUBLIC_OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "TOGETHER_API_KEY", "FETTLE_GEMINI_API_KEY", "OPENAI_KEY", "OPENAI_API_\u212aEY", "openai_api_to\u212aen", "aws_bearer_token_bedrock",
	} {
		require.True(t, settings.IsProviderKey(name), name)
	}
	for _, name := range []string{"GITHUB_TOKEN", "NPM_TOKEN", "AWS_SECRET_ACCESS_KEY", "OPENAI_BASE_URL", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "OPENAI_MODEL", "KEY", "TOKEN", "PATH", "SSH_AUTH_SOCK"} {
		require.False(t, settings.IsProviderKey(name), name)
	}
}
