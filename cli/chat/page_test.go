package chat

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/commands"
)

var update = flag.Bool("update", false, "rewrite the table of docs/commands.md")

// The table of docs/commands.md has the built-in commands of a session, no others.
func TestCommandsPage(t *testing.T) {
	const begin, end = "<!-- generated: go test ./cli/chat -run TestCommandsPage -update -->\n", "<!-- /generated -->"
	page, err := os.Getwd()
	require.NoError(t, err)
	page += "/../../docs/commands.md"
	chatting(t, threeAnswers, func(_ context.Context, c *chat, _ string) {
		var table strings.Builder
		table.WriteString("\n| command | sub-commands | effect |\n|---|---|---|\n")
		n := 0
		for _, command := range c.commandSet().List() {
			if command.Kind != commands.KindBuiltIn || command.Hidden {
				continue
			}
			var subs []string
			for _, sub := range command.SubCommands {
				subs = append(subs, withAltNames("", sub))
			}
			fmt.Fprintf(&table, "| %s | %s | %s |\n", withAltNames("/", command), strings.Join(subs, ", "), strings.ReplaceAll(command.Description, "|", "\\|"))
			n++
		}
		require.Greater(t, n, 25)
		data, err := os.ReadFile(page)
		require.NoError(t, err)
		before, rest, found := strings.Cut(string(data), begin)
		require.True(t, found)
		_, after, found := strings.Cut(rest, end)
		require.True(t, found)
		want := before + begin + table.String() + "\n" + end + after
		if *update {
			require.NoError(t, os.WriteFile(page, []byte(want), 0o600))
			return
		}
		require.Equal(t, want, string(data), "go test ./cli/chat -run TestCommandsPage -update writes it again")
	})
}

func withAltNames(slash string, c *commands.Command) string {
	text := "`" + slash + c.Name + "`"
	if len(c.AltNames) > 0 {
		text += " (`" + slash + strings.Join(c.AltNames, "`, `"+slash) + "`)"
	}
	return text
}

// UI-04: /help keys lists the keys of the front end, and /help all every command too.
func TestChatHelp(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, _ string) {
		require.Contains(t, textsOf(submit(ctx, c, "/help keys"), interactive.EventDialog), "Ctrl-D | quits")
		c.lists = true
		all := textsOf(submit(ctx, c, "/help all"), interactive.EventDialog)
		require.Contains(t, all, "searches older input")
		for _, command := range c.commandSet().List() {
			require.Equal(t, !command.Hidden, strings.Contains(all, "`/"+command.Name+"`"), command.Name)
		}
		require.Contains(t, textsOf(submit(ctx, c, "/help"), interactive.EventDialog), "/help keys")
	})
}
