package keymap_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/keymap"
)

var update = flag.Bool("update", false, "rewrite the table of docs/terminal.md")

// The published table matches the code.
func TestPage(t *testing.T) {
	const path, begin, end = "../../docs/terminal.md", "<!-- generated: go test ./cli/keymap -run TestPage -update -->\n", "<!-- /generated -->"
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(data), begin)
	require.True(t, found)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found)
	want := before + begin + "\n" + keymap.Markdown() + "\n" + end + after
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
		return
	}
	require.Equal(t, want, string(data), "go test ./cli/keymap -run TestPage -update writes it again")
}

// A stroke has one action in a place, and a first stroke of a pair none of its own.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range keymap.Table() {
		require.NotEmpty(t, k.Strokes, k.Action)
		for _, stroke := range append(k.Strokes, k.Also...) {
			id := string(k.Place) + " " + stroke
			require.False(t, seen[id], id)
			seen[id] = true
			require.Equal(t, k.Action, keymap.Find(k.Place, stroke), id)
			first, _, pair := strings.Cut(stroke, " ")
			require.Equal(t, pair, keymap.Begins(first, k.Place), id)
			require.True(t, !pair || keymap.Find(k.Place, first) == "", id)
		}
	}
	require.Empty(t, keymap.Find(keymap.Input, "f12"))
}

// Text of a key comes before its stroke, in upper or lower case; hints have the first
// stroke of each action.
func TestFindKey(t *testing.T) {
	require.Equal(t, keymap.FindPrevious, keymap.FindKey(keymap.Page, "shift+n", "N"))
	require.Equal(t, keymap.FindNext, keymap.FindKey(keymap.Page, "n", "n"))
	require.Equal(t, keymap.PageDown, keymap.FindKey(keymap.Page, "space", " "))
	require.Equal(t, keymap.PageUp, keymap.FindKey(keymap.Page, "pgup", ""))
	require.Empty(t, keymap.FindKey(keymap.Page, "x", "x"))
	require.Equal(t, "↑↓ pgup pgdn", keymap.Short(keymap.List, keymap.Up, keymap.Down, keymap.PageUp, keymap.PageDown))
	require.Equal(t, "ctrl+end", keymap.Short(keymap.Everywhere, keymap.ToEnd))
}

func TestNames(t *testing.T) {
	for stroke, want := range map[string]string{
		"ctrl+r": "Ctrl-R", "ctrl+x ctrl+e": "Ctrl-X Ctrl-E", "pgdown": "PgDn", "shift+up": "Shift-Up", "?": "`?`", "q": "`q`",
		"alt+<": `Alt-\<`, "alt++": "Alt-+", "ctrl+_": `Ctrl-\_`,
	} {
		require.Equal(t, want, keymap.Name(stroke), stroke)
	}
}
