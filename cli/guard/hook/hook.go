// Package hook answers the pre-tool hooks of other agents: one request in, one answer
// out, in the form that the client documents.
package hook

import (
	"context"

	"github.com/fettle-dev/fettle/cli/guard"
)

// Command returns the command hook.
func Command() guard.Command {
	return guard.Command{
		Name:  "hook",
		Usage: "hook --client claude|gemini|codex|cursor [--grant]    answer a pre-tool hook on stdin",
		Run: func(_ context.Context, s guard.Streams, _ []string) int {
			_, _ = s.Err.Write([]byte("fettle-guard: hooks cannot be answered yet.\n"))
			return guard.ExitBlocked
		},
	}
}
