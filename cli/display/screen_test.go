package display

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Output that arrives during a question, such as a line about a subagent, begins on a
// new line, and the question is repeated below it.
func TestScreenPrompt(t *testing.T) {
	var b strings.Builder
	s := NewScreen(&b)
	s.Printf("Apply?\n")
	s.Prompt(t.Context(), "[y]es [n]o > ")
	s.Printf("  [helper] done\n")
	s.Live("output ", true)
	s.Live("of a call\n", false)
	s.Answered()
	s.Printf("Applied.\n")
	require.Equal(t, "Apply?\n[y]es [n]o > \n  [helper] done\n[y]es [n]o > \noutput of a call\n[y]es [n]o > Applied.\n", b.String())
}

// A question whose call has ended is not repeated below other output.
func TestScreenPromptEnded(t *testing.T) {
	var b strings.Builder
	s := NewScreen(&b)
	ctx, cancel := context.WithCancel(t.Context())
	s.Prompt(ctx, "[y]es [n]o > ")
	cancel()
	s.Printf("\n")
	s.Live("output\n", false)
	s.Answered()
	require.Equal(t, "[y]es [n]o > \n\noutput\n", b.String())
}
