package chat

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
)

// UI-04: lines with a program that needs the terminal, and lines after a second "!".
func TestTerminalLine(t *testing.T) {
	for line, needs := range map[string]bool{
		"vim f.txt": true, "/usr/bin/less f": true, "git log | less": true, "LANG=C EDITOR=x man ls": true, "cd sub && sudo ls": true, "(top)": true,
		"git status": false, "echo vim": false, "grep less f.txt": false, "lessc a.less": false, "": false,
	} {
		command, is := terminalLine(line)
		require.Equal(t, needs, is, line)
		require.Equal(t, line, command)
	}
	command, is := terminalLine("! git commit")
	require.True(t, is)
	require.Equal(t, "git commit", command)
}

// Without a terminal, a second "!" is refused, and other lines are captured as before.
func TestTerminalLineWithoutTerminal(t *testing.T) {
	chatting(t, threeAnswers, func(ctx context.Context, c *chat, _ string) {
		require.Contains(t, textsOf(submit(ctx, c, "!!echo hello"), interactive.EventMessage), "needs a terminal")
		require.Equal(t, "1\n", textsOf(submit(ctx, c, "!less --version | head -n 1 | wc -l"), interactive.EventShell))
	})
}
