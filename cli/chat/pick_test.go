package chat

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// picked submits a line and returns the list that it opens.
func picked(t *testing.T, ctx context.Context, c *chat, line string) interactive.Pick {
	t.Helper()
	c.lists = true
	for _, e := range submit(ctx, c, line) {
		require.NotEqual(t, interactive.LevelError, e.Level, e.Text)
		if e.Kind == interactive.EventPick {
			return *e.Pick
		}
	}
	t.Fatalf("%s opens no list", line)
	return interactive.Pick{}
}

// itemNamed returns an item of a list.
func itemNamed(t *testing.T, p interactive.Pick, name string) interactive.PickItem {
	t.Helper()
	for _, item := range p.Items {
		if item.Name == name {
			return item
		}
	}
	t.Fatalf("no %s in %v", name, p.Items)
	return interactive.PickItem{}
}

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
	p := modelList(listing, map[string]served{
		"gemini": {names: []string{"flash-9", "old-1", "pro-9"}},
		"ollama": {err: errors.New("connection refused")},
		"vertex": {err: errors.New("The project is not set.")},
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
	require.Equal(t, "current", modelList(listing, nil, "script:x").Items[0].State, "a model that no server lists")
}

// /model without a name opens the list where there are lists, and prints text elsewhere.
func TestChatPicksModel(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, _ string) {
		require.Contains(t, textsOf(submit(ctx, c, "/model"), interactive.EventMessage), "The model is")
		p := picked(t, ctx, c, "/model")
		require.Equal(t, "current", p.Items[0].State)
		require.Contains(t, textsOf(submit(ctx, c, p.Items[0].Submit), interactive.EventMessage), "for this session")
	})
}

// The list of sessions (UI-04): the last used one first, broken recordings last.
func TestSessionList(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	session := func(id, title string, turns int, age time.Duration) transcript.Summary {
		return transcript.Summary{Header: transcript.Header{ID: id, StartTime: now.Add(-age), Model: "m"}, Title: title, Turns: turns, Updated: now.Add(-age), Path: "/r/" + id}
	}
	list := []transcript.Summary{session("aaa", "Fix the build", 12, 50*time.Hour), session("bbb", "", 1, 5*time.Minute), session("ccc", "Old", 0, 90*24*time.Hour), session("ddd", "Now", 2, time.Second)}
	list[2].Interrupted = true
	p := sessionList(list, []fault.Problem{{Path: "/r/aaa", Message: "Line 3 is invalid."}, {Path: "/r/session-x.jsonl", Message: "It is no recording."}}, "ddd", now)
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

// /resume lists the sessions of the project and continues one, whose recording grows;
// the session before it remains (UI-04).
func TestChatResumes(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, _ string) {
		require.Empty(t, picked(t, ctx, c, "/resume").Items)
		submit(ctx, c, "The first prompt.")
		first := c.config.SessionID()
		submit(ctx, c, "/clear")
		submit(ctx, c, "The second prompt.")
		p := picked(t, ctx, c, "/resume")
		require.Len(t, p.Items, 2)
		require.Equal(t, "current", itemNamed(t, p, "The second prompt.").State)
		chosen := itemNamed(t, p, "The first prompt.")
		require.Equal(t, "/resume "+first, chosen.Submit)

		all := submit(ctx, c, chosen.Submit)
		require.Equal(t, first, c.config.SessionID())
		var history []interactive.Item
		for _, e := range all {
			if e.Kind == interactive.EventHistory {
				history = e.History
			}
		}
		require.Equal(t, "The first prompt.", history[0].Text)
		require.Equal(t, "Third.", answered(submit(ctx, c, "Go on.")))
		p = picked(t, ctx, c, "/resume")
		require.Equal(t, "4 turns, "+first, itemNamed(t, p, "The first prompt.").Description)
		require.Contains(t, itemNamed(t, p, "The second prompt.").Description, "2 turns")

		require.Contains(t, textsOf(submit(ctx, c, "/resume "+first), interactive.EventMessage), "is the current one")
		require.Contains(t, textsOf(submit(ctx, c, "/resume zzz"), interactive.EventMessage), "zzz")
		require.Equal(t, first, c.config.SessionID())
	})
}

// /theme lists the themes; /theme NAME selects one and stores it in the user's settings,
// never in those of the project (UI-04).
func TestChatTheme(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, project string) {
		p := picked(t, ctx, c, "/theme")
		require.Len(t, p.Items, len(theme.Names()))
		require.Equal(t, "current", p.Items[0].State)
		all := submit(ctx, c, itemNamed(t, p, theme.OnLight).Submit)
		require.Equal(t, "light\n", textsOf(all, interactive.EventTheme))
		require.Contains(t, textsOf(all, interactive.EventMessage), "also in later sessions")
		stored, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), ".fettle", "settings.json"))
		require.NoError(t, err)
		require.JSONEq(t, `{"ui": {"theme": "light"}}`, string(stored))
		require.NoDirExists(t, filepath.Join(project, ".fettle"))
		require.Equal(t, "current", itemNamed(t, picked(t, ctx, c, "/theme"), theme.OnLight).State)
		require.Contains(t, textsOf(submit(ctx, c, "/theme pink"), interactive.EventMessage), "Use one of default")
	})
}

// /settings lists each setting with its value, layer and description; choosing one
// inverts a boolean, lists the values of an enumeration, or asks (UI-04). Values go to
// the user's settings, secrets are masked.
func TestChatSettings(t *testing.T) {
	home := func(home string) {
		require.NoError(t, os.Mkdir(filepath.Join(home, ".fettle"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "settings.json"), []byte(`{"web": {"search": {"headers": {"Authorization": "Bearer sk-12345678901234567890"}}}, "ui": {"animations": false}}`), 0o600))
	}
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, project string) {
		p := picked(t, ctx, c, "/settings")
		for _, item := range p.Items {
			require.NotContains(t, item.Name+item.State+item.Description+item.Detail, "sk-1234")
			require.NotRegexp(t, `^(\(.*\) )?$`, item.Description, "a setting without description: %s", item.Name)
		}
		animations := itemNamed(t, p, "ui.animations")
		require.Equal(t, "false", animations.State)
		require.Contains(t, animations.Description, "(user) Whether fettle shows animations")
		require.Contains(t, animations.Detail, "settings.json:1")

		p = picked(t, ctx, c, animations.Submit) // inverted, and the list again
		animations = itemNamed(t, p, "ui.animations")
		require.Equal(t, "true", animations.State)
		require.True(t, animations.Selected)
		require.Contains(t, textsOf(submit(ctx, c, "/settings ui.animations false"), interactive.EventMessage), "ui.animations is false in your settings.")

		p = picked(t, ctx, c, itemNamed(t, p, "tools.staleEdits").Submit)
		require.Equal(t, "current", itemNamed(t, p, "refuse").State)
		require.Contains(t, textsOf(submit(ctx, c, p.Items[1].Submit), interactive.EventMessage), "next session")
		require.Contains(t, textsOf(submit(ctx, c, "/settings context.fileFiltering.maxFileCount 7"), interactive.EventMessage), "is 7 in your settings.\n")

		answers := make(chan string, 2)
		answers <- "many"
		answers <- "9"
		approver := bus.Subscribe(ctx, c.Bus(), func(_ context.Context, q bus.AskUserRequest) {
			if strings.Contains(q.Questions[0].Question, "a whole number") {
				_ = c.Bus().Publish(bus.AskUserResponse{CorrelationID: q.CorrelationID, Answers: map[string]string{"0": <-answers}})
			}
		})
		defer approver.Unsubscribe()
		require.Contains(t, textsOf(submit(ctx, c, "/settings tools.shell.timeout"), interactive.EventMessage), "tools.shell.timeout is 9 in")
		require.Empty(t, answers, "an invalid answer is asked for again")
		require.Contains(t, textsOf(submit(ctx, c, "/settings tools.shell.timeout --unset"), interactive.EventMessage), "is removed")
		require.Contains(t, textsOf(submit(ctx, c, "/settings tools.shel.timeout 3"), interactive.EventMessage), "tools.shell.timeout")
		require.NoDirExists(t, filepath.Join(project, ".fettle"))
	}, home)
}

// The lists of /mcp (UI-04): the servers, then the commands for one and its tools.
func TestServerLists(t *testing.T) {
	servers := []builtin.Server{
		{Name: "store", State: "connected", Description: "Sells things.", Tools: []builtin.Tool{{Name: "buy", Description: "Buys. Then waits."}}, Confinement: "confined", Resources: 2},
		{Name: "far", State: "disconnected", Problem: "connection refused"},
		{Name: "off", State: "disabled", Confinement: "unconfined"},
		{Name: "never", State: "blocked"},
	}
	p := serverList(servers)
	require.Equal(t, interactive.PickItem{Name: "store", State: "connected", Description: "1 tool, 2 resources, confined", Submit: "/mcp show store", Detail: "1 tool, 2 resources, confined\nSells things."}, p.Items[0])
	require.Equal(t, "connection refused", p.Items[1].Description)
	for i, want := range []string{"/mcp enable store,/mcp disable store,", "/mcp enable far,/mcp disable far,/mcp auth far", "/mcp enable off", ""} {
		var commands []string
		for _, item := range serverActions(servers[i]).Items {
			commands = append(commands, item.Submit)
		}
		require.Equal(t, want, strings.Join(commands, ","), servers[i].Name)
	}
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, _ string) {
		require.Contains(t, picked(t, ctx, c, "/mcp").Empty, "fettle mcp add")
		require.Contains(t, textsOf(submit(ctx, c, "/mcp show x"), interactive.EventMessage), "no MCP server")
	})
}
