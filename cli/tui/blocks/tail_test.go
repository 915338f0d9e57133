package blocks

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Output of programs: carriage returns restart a line, tabs align, and no control
// sequence takes effect, wherever the pieces are split.
func TestTail(t *testing.T) {
	text := "10%\r50%\r100%\r\nname\tvalue\r\n\x1b[31mred\x1b[0m \x1b[2J\x1b[10;10Hhere\x07\n\x1b]0;title\x07end"
	want := []string{"100%", "name    value", "red here", "end"}
	for size := 1; size <= len(text); size++ {
		tail := newTail(10)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			tail.add(rest[:n])
			rest = rest[n:]
		}
		require.Equal(t, want, tail.lines(80), "pieces of %d", size)
	}
	tail := newTail(2)
	tail.add("line 1\nline 2\nline 3\nline 4\nline 5\n")
	require.Equal(t, []string{"line 4", "line 5"}, tail.lines(80))
	require.Equal(t, 3, tail.dropped)
}
