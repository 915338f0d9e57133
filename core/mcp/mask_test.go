package mcp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/mcp"
)

func TestMask(t *testing.T) {
	const secret = "sk-verysecret0123456789"
	for name, tt := range map[string]struct {
		spec        mcp.ServerSpec
		text, shown string
	}{
		"argument":            {mcp.ServerSpec{Args: []string{"--token=short1"}}, "unknown option --token=short1", "unknown option --token=[masked]"},
		"next argument":       {mcp.ServerSpec{Args: []string{"--api-key", "short1", "-v"}}, "no short1 -v", "no [masked] -v"},
		"random argument":     {mcp.ServerSpec{Args: []string{"run", secret}}, "run " + secret, "run [masked]"},
		"behind equals":       {mcp.ServerSpec{Args: []string{"--x=" + secret}}, secret, "[masked]"},
		"variable argument":   {mcp.ServerSpec{Args: []string{"-e", "API_KEY=short1"}}, "API_KEY=short1", "API_KEY=[masked]"},
		"header argument":     {mcp.ServerSpec{Args: []string{"--header", "Authorization: Bearer short1"}}, "short1 of Bearer", "[masked] of Bearer"},
		"database":            {mcp.ServerSpec{Args: []string{"postgres://me:short1@host/db"}}, "password short1 of me", "password [masked] of me"},
		"database variable":   {mcp.ServerSpec{Env: map[string]string{"URL": "postgres://me:short1@host/db"}}, "short1", "[masked]"},
		"ordinary arguments":  {mcp.ServerSpec{Args: []string{"-y", "server-filesystem@2025.12.18", "--verbose", "work", "/srv/key/dir", "--key-file", "notes"}}, "server-filesystem@2025.12.18 work /srv/key/dir notes", "server-filesystem@2025.12.18 work /srv/key/dir notes"},
		"a header of words":   {mcp.ServerSpec{Headers: map[string]string{"User-Agent": "the fettle server"}}, "The MCP server refused the fettle server", "The MCP server refused [masked]"},
		"scheme":              {mcp.ServerSpec{Headers: map[string]string{"X-Api": "Bearer short1"}}, "Bearer and short1", "Bearer and [masked]"},
		"any scheme":          {mcp.ServerSpec{Headers: map[string]string{"Authorization": "Mine short1"}}, "Mine and short1", "Mine and [masked]"},
		"variables":           {mcp.ServerSpec{Env: map[string]string{"GITHUB_PAT": "short1", "DB_DSN": "short2", "X": secret}}, "short1 short2 " + secret, "[masked] [masked] [masked]"},
		"ordinary variables":  {mcp.ServerSpec{Env: map[string]string{"PATTERN": "words", "GIT_AUTHOR_NAME": "Lovelace", "KEY_PATH": "there", "MODE": "production"}}, "words Lovelace there production", "words Lovelace there production"},
		"query":               {mcp.ServerSpec{URL: "https://host/mcp?key=short1&mode=read"}, "key short1, read https://host/mcp?key=short1&mode=read", "key [masked], read https://host/mcp?[masked]"},
		"path":                {mcp.ServerSpec{URL: "https://host/s/0f9a8b7c6d5e4f3a2b1c/mcp"}, "https://host/s/0f9a8b7c6d5e4f3a2b1c/mcp", "https://host/s/[masked]/mcp"},
		"user":                {mcp.ServerSpec{URL: "https://tok-1@host"}, "tok-1", "[masked]"},
		"identifier":          {mcp.ServerSpec{Env: map[string]string{"X": "550e8400-e29b-41d4-a716-446655440000"}}, "550e8400-e29b-41d4-a716-446655440000", "[masked]"},
		"too short":           {mcp.ServerSpec{Env: map[string]string{"TOKEN": "abc"}}, "abc", "abc"},
		"one that holds some": {mcp.ServerSpec{Env: map[string]string{"TOKEN": "abcd", "SECRET": "abcdefgh"}}, "abcdefgh abcd", "[masked] [masked]"},
		"nothing":             {mcp.ServerSpec{}, "as it is", "as it is"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.shown, mcp.NewMask(tt.spec).Hide(tt.text))
		})
	}
}
