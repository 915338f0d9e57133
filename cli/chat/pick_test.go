package chat

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/tools"
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

// /model without a name opens the list where there are lists, and prints text elsewhere.
func TestChatPicksModel(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, _ string) {
		require.Contains(t, textsOf(submit(ctx, c, "/model"), interactive.EventMessage), "The model is")
		p := picked(t, ctx, c, "/model")
		require.Equal(t, "current", p.Items[0].State)
		require.Contains(t, textsOf(submit(ctx, c, p.Items[0].Submit), interactive.EventMessage), "for this session")
	})
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

// A resumed session has the results of its calls as they were displayed: here the diffs
// of a set (UI-04, TX-04).
func TestChatResumesResults(t *testing.T) {
	const turns = `{"turns": [
		{"calls": [{"tool": "apply_patch", "args": {"input": "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Add File: b.txt\n+two\n*** End Patch\n"}}]}, {"text": "Both are there."},
		{"calls": [{"tool": "write_file", "args": {"file_path": "c.txt", "content": "three\n"}}]}, {"text": "And one more."}, {"text": "Later."}]}`
	chatting(t, turns, func(ctx context.Context, c *chat, _ string) {
		require.NoError(t, c.config.SetApprovalMode("autoEdit"))
		submit(ctx, c, "Create two files.")
		submit(ctx, c, "Create a third.")
		id := c.config.SessionID()
		submit(ctx, c, "/clear")
		items := historyIn(submit(ctx, c, "/resume "+id))
		var displays []tools.Display
		for _, item := range items {
			if item.Role == "tool" {
				var d tools.Display
				require.NoError(t, json.Unmarshal(item.Display, &d))
				displays = append(displays, d)
			}
		}
		require.Len(t, displays, 2)
		set := display.ResultChanges(displays[0].Text)
		require.Len(t, set, 2, displays[0].Text)
		require.Equal(t, "create a.txt", set[0].Change)
		require.Contains(t, set[1].Diff, "+two")
		require.Contains(t, displays[1].Diff.FileDiff, "+three")
		require.Empty(t, displays[1].Diff.NewContent)
		items = historyIn(submit(ctx, c, "/rewind 2 conversation"))
		require.NotEmpty(t, items[1].Display)
		submit(ctx, c, "Later.")
		submit(ctx, c, "/clear")
		items = historyIn(submit(ctx, c, "/resume "+id))
		require.Equal(t, "tool", items[1].Role)
		require.Contains(t, string(items[1].Display), "+two", "the result of a turn that was left by /rewind")
	}, func(home string) {
		require.NoError(t, os.MkdirAll(filepath.Join(home, ".fettle"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "settings.json"), []byte(`{"tools": {"editDialect": ["safe_patch", "apply_patch"]}}`), 0o600))
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

// Without MCP servers, the list of /mcp names the command that adds one (UI-04).
func TestChatListsServers(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, _ string) {
		require.Contains(t, picked(t, ctx, c, "/mcp").Empty, "fettle mcp add")
		require.Contains(t, textsOf(submit(ctx, c, "/mcp show x"), interactive.EventMessage), "no MCP server")
	})
}
