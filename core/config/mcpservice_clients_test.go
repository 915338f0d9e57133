package config_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/tools"
)

func TestClientResultBytes(t *testing.T) {
	for name, want := range map[string]int{
		"": 8000, "claude-code": 8000, "gemini": 8000, "my gemini-cli": 8000,
		"gemini-cli-mcp-client-fettle": 36_000, "gemini-cli-mcp-client": 36_000, "Gemini-CLI-mcp-client-x": 36_000,
		"qwen-cli-mcp-client-fettle": 2400, "QWEN-CODE": 2400,
	} {
		require.Equal(t, want, config.ClientResultBytes(name), name)
	}
}

// The table of the page matches that of the program.
func TestClientTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/mcp.md")
	require.NoError(t, err)
	config.EachClientLimit(func(client string, bytes int) {
		require.Contains(t, string(page), fmt.Sprintf("| `%s…` | %d |", client, bytes))
	})
	require.Contains(t, string(page), fmt.Sprintf("| any other | %d |", config.DefaultClientResultBytes))
}

// longestOf reads a long file through a service and returns the length of the
// longest text that the client receives, and whether the last page has the hash.
func longestOf(t *testing.T, s *configtest.Session, o config.MCPServiceOptions) (longest int, hash bool) {
	t.Helper()
	path := s.Write("long.txt", strings.Repeat(`"quoted"`+"\t\n", 12_000))
	svc, err := s.MCP().Serve(o)
	require.NoError(t, err)
	defer func() { require.NoError(t, svc.Close()) }()
	for next := 0; ; {
		args := fmt.Sprintf(`{"file_path":%q,"offset":%d}`, path, next)
		r := svc.Call(t.Context(), "read_file", json.RawMessage(args))
		require.Nil(t, r.Error)
		text := r.LLMContent.String()
		longest = max(longest, len(text))
		var st struct {
			SHA256     *string `json:"sha256"`
			NextOffset *int    `json:"next_offset"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &st))
		if st.NextOffset == nil {
			return longest, st.SHA256 != nil
		}
		require.Nil(t, st.SHA256)
		next = *st.NextOffset
	}
}

// ST-08: results have the length that the client passes on, unless it is
// configured.
func TestResultsFitClient(t *testing.T) {
	limit := func(n int) func(*config.Parameters) {
		return func(p *config.Parameters) { p.Session.Limits.ResultBytes = n }
	}
	set := func(text string) func(*config.Parameters) {
		return func(p *config.Parameters) {
			file := p.TargetDir + "/../given.json"
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			p.Settings = &settings.Options{File: file}
		}
	}
	for name, tt := range map[string]struct {
		client string
		change func(*config.Parameters)
		most   int
	}{
		"unknown":            {"somebody", limit(0), 8000},
		"no name":            {"", limit(0), 8000},
		"gemini":             {"gemini-cli-mcp-client-fettle", limit(0), 36_000},
		"qwen":               {"qwen-cli-mcp-client-fettle", limit(0), 2400},
		"parameters decide":  {"qwen-cli-mcp-client-fettle", limit(20_000), 20_000},
		"settings decide":    {"gemini-cli-mcp-client-fettle", set(`{"tools":{"maxResultBytes":3000}}`), 3000},
		"0 in the settings":  {"gemini-cli-mcp-client-fettle", set(`{"tools":{"maxResultBytes":0}}`), 36_000},
		"less than anything": {"qwen", limit(1), 1000},
	} {
		t.Run(name, func(t *testing.T) {
			s := configtest.New(t, tt.change)
			longest, hash := longestOf(t, s, config.MCPServiceOptions{Owned: true, Client: tt.client})
			require.LessOrEqual(t, longest, tt.most)
			require.True(t, hash)
			if tt.most < 30_000 { // otherwise the limit of 2,000 lines applies first
				require.Greater(t, longest, tt.most*9/10-200, "pages are as long as they may be")
			}
		})
	}
}

// Without a session each request has the limit of its client, and within the
// process a result has 256 KiB.
func TestResultsFitWithoutClient(t *testing.T) {
	s := configtest.New(t)
	longest, hash := longestOf(t, s, config.MCPServiceOptions{Stateless: true, Client: "qwen-code"})
	require.LessOrEqual(t, longest, 2400)
	require.True(t, hash, "the service of this test lasts")
	path := s.Write("wide.txt", strings.Repeat(strings.Repeat("x", 199)+"\n", 1400))
	r := s.Call("read_file", map[string]any{"file_path": path})
	require.LessOrEqual(t, len(r.Result.LLMContent.String()), 256<<10)
	require.Greater(t, len(r.Result.LLMContent.String()), 250<<10)
}

// A long text of a tool that shows no files is shortened, but complete for
// programs.
func TestLongTextsAreCut(t *testing.T) {
	long := `["` + strings.Repeat("é", 20_000) + `"]`
	loud, err := tools.Define("loud", "Says much.", tools.KindThink, func(context.Context, struct{}) (tools.Result, error) {
		return tools.Result{LLMContent: tools.Text(long)}, nil
	})
	require.NoError(t, err)
	s := configtest.New(t, func(p *config.Parameters) { p.Tools.Own = append(p.Tools.Own, loud) })
	svc, err := s.MCP().Serve(config.MCPServiceOptions{Owned: true, Client: "qwen-code"})
	require.NoError(t, err)
	defer func() { require.NoError(t, svc.Close()) }()
	r := svc.Call(t.Context(), "loud", json.RawMessage(`{}`))
	require.Nil(t, r.Error)
	text := r.LLMContent.String()
	require.LessOrEqual(t, len(text), 2400)
	require.Contains(t, text, "bytes omitted")
}
