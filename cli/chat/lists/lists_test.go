package lists

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// The list of models (UI-04): default and short names first, then those of the server;
// providers without a key and servers that do not answer cannot be chosen.
func TestModelList(t *testing.T) {
	listing := program.ModelListing{
		Auto: "gemini:flash-9",
		Providers: []program.ProviderInfo{
			{Name: "gemini", Default: "flash-9", Keys: []string{"GEMINI_API_KEY"}, Ready: true},
			{Name: "ollama", Address: "OLLAMA_HOST", Ready: true},
			{Name: "groq", Keys: []string{"GROQ_API_KEY", "GROQ_KEY"}},
			{Name: "vertex", Default: "flash-9", Address: "VERTEX_URL", Others: []string{"GOOGLE_CLOUD_PROJECT"}},
		},
		Aliases: map[string]string{"flash": "gemini:flash-9", "pro": "gemini:pro-9"},
	}
	p := Models(listing, map[string]Served{
		"gemini": {Names: []string{"flash-9", "old-1", "pro-9"}},
		"ollama": {Err: errors.New("connection refused")},
		"vertex": {Err: errors.New("The project is not set.")},
	}, "gemini:pro-9")
	var names []string
	for _, item := range p.Items {
		names = append(names, item.Name)
	}
	require.Equal(t, []string{"gemini:flash-9", "gemini:pro-9", "gemini:old-1", "ollama:NAME", "groq:NAME", "vertex:flash-9"}, names)
	require.Equal(t, interactive.PickItem{Name: "gemini:flash-9", Description: "flash, auto", Submit: "/model gemini:flash-9"}, p.Items[0])
	require.Equal(t, interactive.PickItem{Name: "gemini:pro-9", State: "current", Description: "pro", Submit: "/model gemini:pro-9", Selected: true}, p.Items[1])
	require.Equal(t, "not listed", p.Items[3].State)
	require.Contains(t, p.Items[3].Detail, "connection refused")
	require.Equal(t, "set GROQ_API_KEY or GROQ_KEY", p.Items[4].Description)
	require.Equal(t, "set GOOGLE_CLOUD_PROJECT", p.Items[5].Description)
	require.Equal(t, "The project is not set.", p.Items[5].Detail)
	for _, item := range p.Items[3:] {
		require.Empty(t, item.Submit, item.Name)
	}
	require.Equal(t, "current", Models(listing, nil, "script:x").Items[0].State, "a model that no server lists")
}

// The list of sessions (UI-04): the last used one first, broken recordings last.
func TestSessionList(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	session := func(id, title string, turns int, age time.Duration) transcript.Summary {
		return transcript.Summary{Header: transcript.Header{ID: id, StartTime: now.Add(-age), Model: "m"}, Title: title, Turns: turns, Updated: now.Add(-age), Path: "/r/" + id}
	}
	list := []transcript.Summary{session("aaa", "Fix the build", 12, 50*time.Hour), session("bbb", "", 1, 5*time.Minute), session("ccc", "Old", 0, 90*24*time.Hour), session("ddd", "Now", 2, time.Second)}
	list[2].Interrupted = true
	p := Sessions(list, []fault.Problem{{Path: "/r/aaa", Message: "Line 3 is invalid."}, {Path: "/r/session-x.jsonl", Message: "It is no recording."}}, "ddd", now)
	var rows []string
	for _, item := range p.Items {
		rows = append(rows, strings.Join([]string{item.Name, item.State, item.Description, item.Submit}, "|"))
	}
	require.Equal(t, []string{
		"Now|current|2 turns, ddd|", "(no text)|5 min ago|1 turn, bbb|/resume bbb", "Fix the build|2 days ago|12 turns, aaa|/resume aaa",
		"Old|2025-12-01|interrupted, ccc|/resume ccc", "session-x.jsonl|broken|It is no recording.|",
	}, rows)
	require.Contains(t, p.Items[2].Detail, "Line 3 is invalid.")
	require.Contains(t, p.Items[4].Detail, "/r/session-x.jsonl")
}

// The lists of /mcp (UI-04): the servers, then the commands for one and its tools.
func TestServerLists(t *testing.T) {
	servers := []builtin.Server{
		{Name: "store", State: "connected", Description: "Sells things.", Tools: []builtin.Tool{{Name: "buy", Description: "Buys. Then waits."}}, Confinement: "confined", Resources: 2},
		{Name: "far", State: "disconnected", Problem: "connection refused"},
		{Name: "off", State: "disabled", Confinement: "unconfined"},
		{Name: "never", State: "blocked"},
	}
	p := Servers(servers)
	require.Equal(t, interactive.PickItem{Name: "store", State: "connected", Description: "1 tool, 2 resources, confined", Submit: "/mcp show store", Detail: "1 tool, 2 resources, confined\nSells things."}, p.Items[0])
	require.Equal(t, "connection refused", p.Items[1].Description)
	for i, want := range []string{"/mcp enable store,/mcp disable store,", "/mcp enable far,/mcp disable far,/mcp auth far", "/mcp enable off", ""} {
		var commands []string
		for _, item := range Server(servers[i]).Items {
			commands = append(commands, item.Submit)
		}
		require.Equal(t, want, strings.Join(commands, ","), servers[i].Name)
	}
}
