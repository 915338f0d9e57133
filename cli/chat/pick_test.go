package chat

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/program"
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
