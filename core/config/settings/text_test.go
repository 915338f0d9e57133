package settings_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
)

func TestParseValue(t *testing.T) {
	for _, tt := range []struct {
		key, text string
		want      any
	}{
		{"model.name", "5", "5"}, {"model.name", `"5"`, "5"}, {"model.name", `"5`, `"5`}, {"model", "m", "m"},
		{"tools.core", `["a"]`, []any{"a"}}, {"tools.core", "a", "a"}, {"useWriteTodos", "true", true}, {"useWriteTodos", "yes", "yes"},
		{"sandbox", "false", false}, {"sandbox", "docker", "docker"}, {"fileFiltering.maxFileCount", "5", 5.0}, {"nothing", "x", "x"},
	} {
		require.Equal(t, tt.want, settings.ParseValue(tt.key, tt.text), tt.key+" "+tt.text)
	}
}

// CF-08: secrets are not shown.
func TestMasked(t *testing.T) {
	for _, tt := range [][3]string{
		{"web.search.headers", `{"X": "secret", "Y": "$KEY", "Z": "${KEY}", "A": "k$KEY", "B": "${KEY:-secret}"}`, `{"X": "***", "Y": "$KEY", "Z": "${KEY}", "A": "***", "B": "***"}`},
		{"mcpServers", `{"headers": {"url": "u", "env": {"A": "secret"}, "oauth": {"clientSecret": "s", "clientId": "i"}}}`, ``},
		{"mcpServers", `{"x": {"url": "u", "args": ["a"], "env": {"A": "secret"}, "oauth": {"clientSecret": "s", "clientId": "i"}}}`,
			`{"x": {"url": "u", "args": ["a"], "env": {"A": "***"}, "oauth": {"clientSecret": "***", "clientId": "i"}}}`},
		{"tools.core", `["a"]`, `["a"]`},
		{"web.search.body", `"{\"key\": \"secret\"}"`, `"***"`},
		{"web.search.url", `"https://me:secret@host/?q={query}&api_key=secret&lang=en#x"`, `"https://***@host/?q={query}&api_key=***&lang=en#x"`},
		{"web.search.url", `"https://host/?key=$KEY"`, `"https://host/?key=$KEY"`},
		{"mcpServers", `{"x": {"httpUrl": "https://h/?accessToken=secret", "args": ["--api-key", "secret", "--name", "n", "--token=secret", "ghp_secret", "-H", "Authorization: Bearer secret"]}}`,
			`{"x": {"httpUrl": "https://h/?accessToken=***", "args": ["--api-key", "***", "--name", "n", "--token=***", "***", "-H", "Authorization: ***"]}}`},
		{"mcp.serverCommand", `"API_KEY=secret serve --password 'secret' --port 80 -- --auth $TOKEN"`, `"API_KEY=*** serve --password *** --port 80 -- --auth $TOKEN"`},
		{"hooks", `{"E": [{"hooks": [{"type": "command", "command": "curl -H 'X-Api-Key: secret' https://h"}]}]}`,
			`{"E": [{"hooks": [{"type": "command", "command": "curl -H 'X-Api-Key: ***' https://h"}]}]}`},
		{"policyPaths", `["~/keys/a.toml", "b"]`, `["~/keys/a.toml", "b"]`},
	} {
		var value any
		require.NoError(t, json.Unmarshal([]byte(tt[1]), &value))
		got, err := json.Marshal(settings.Masked(tt[0], value))
		require.NoError(t, err)
		require.NotContains(t, string(got), "secret\"")
		if tt[2] != "" {
			require.JSONEq(t, tt[2], string(got))
		}
		again, err := json.Marshal(value)
		require.NoError(t, err)
		require.JSONEq(t, tt[1], string(again), "the value itself stays")
	}
}
