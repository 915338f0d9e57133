package child

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The end of stderr is kept, bounded and displayable.
func TestTail(t *testing.T) {
	tail := &tail{hide: strings.ToLower}
	tail.add([]byte("\x1b[31mred\x1b[0m\r\n\n" + strings.Repeat("y", 5000) + "\nbegun \xff"))
	lines := tail.lines()
	require.Equal(t, []string{"[31mred[0m", strings.Repeat("y", stderrLine) + "…", "begun \ufffd"}, lines)
	for range 1000 {
		tail.add([]byte("line\n"))
	}
	require.Len(t, tail.lines(), stderrLines)
}

// Lines are passed on as they are kept, with secrets masked.
func TestPassOn(t *testing.T) {
	var out strings.Builder
	tail := &tail{hide: func(s string) string { return strings.ReplaceAll(s, "secret", "***") }, out: &out}
	tail.drain(strings.NewReader("a\x1b[2J\nthe secret\n\nno line break"))
	require.Equal(t, "a[2J\nthe ***\nno line break\n", out.String())
}
