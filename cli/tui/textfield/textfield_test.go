package textfield

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/keymap"
)

// Reused rows equal those of wrapping the whole text.
func TestRowsTakenOver(t *testing.T) {
	pieces := []string{"a", "word ", "\n", "日本", "e\u0301", "\t", strings.Repeat("long", 9), "👩‍👩‍👧", "\u0301", "\u200d"}
	random := rand.New(rand.NewPCG(1, 2))
	var m Model
	for range 800 {
		at := len(m.text)
		if random.IntN(3) == 0 { // a valid cursor position
			at = m.previous(m.next(m.lineStart(random.IntN(len(m.text) + 1))))
		}
		to := at
		if random.IntN(4) == 0 {
			to = m.next(m.next(at))
		}
		m.Replace(at, to, pieces[random.IntN(len(pieces))])
		columns := 20
		if random.IntN(20) == 0 {
			columns = 7
		}
		fresh := Model{text: m.text}
		require.Equal(t, fresh.rows(columns), m.rows(columns), "%q", m.text)
	}
}

// The changes of a text are bounded, in number and in bytes.
func TestChangesAreBounded(t *testing.T) {
	var m Model
	for range 2 * maxChanges {
		m.Insert("a\n")
	}
	require.Len(t, m.changes.made, maxChanges)
	long := strings.Repeat("x", maxChangeBytes/4)
	for range 10 {
		m.Set(long)
		m.Set("")
	}
	require.LessOrEqual(t, m.changes.bytes, maxChangeBytes)
	require.NotEmpty(t, m.changes.made)
	for range 3 * maxKills {
		m.Insert("word ")
		m.kill(0)
		m.left()
	}
	require.Len(t, m.kills.texts, maxKills)
}

// Any sequence of changes is undone and repeated exactly.
func FuzzUndo(f *testing.F) {
	f.Add("ab\ncd", []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	f.Add("日本e\u0301", []byte{9, 9, 3, 5, 5, 0, 12, 13})
	f.Fuzz(func(t *testing.T, start string, keys []byte) {
		var m Model
		m.Insert(start)
		m.changes = changes{}
		start = m.text
		actions := []keymap.Action{keymap.Left, keymap.Right, keymap.DeleteWordLeft, keymap.DeleteLeft, keymap.DeleteRight, keymap.Transpose,
			keymap.DeleteToEnd, keymap.Yank, keymap.YankOlder, keymap.NewLine, keymap.Undo, keymap.Redo, keymap.WordLeft}
		for _, k := range keys {
			if int(k) < len(actions) {
				m.Do(actions[k], 20)
			} else {
				m.Insert(string(rune(k)))
			}
			require.LessOrEqual(t, m.cursor, len(m.text))
		}
		if len(m.changes.undone) > 0 || len(m.changes.made) == maxChanges {
			return
		}
		end := m.text
		for m.undo() {
		}
		require.Equal(t, start, m.text)
		for m.redo() {
		}
		require.Equal(t, end, m.text)
	})
}

// Any text is shown within the width, in rows that contain all of it, and can be deleted
// character by character.
func FuzzView(f *testing.F) {
	f.Add("\x1b[2J\x1b[H\u202ea\r\tb\x7fX\u200b", 10)
	f.Add("日本語 e\u0301\t👩‍👩‍👧\r\n# a\n```\nx", 3)
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 8 + (width%200+200)%200
		var m Model
		m.Insert(text)
		lines, y, x := m.View(width, 1000)
		require.Less(t, y, len(lines))
		require.Less(t, x, width)
		for _, line := range lines {
			require.LessOrEqual(t, display.Width(line), width, "%q", line)
		}
		for m.cursor > 0 {
			m.delete(m.previous(m.cursor))
		}
		require.Empty(t, m.text)
	})
}

// A text is shown by rows around the cursor, which is in one of them.
func TestView(t *testing.T) {
	for name, tt := range map[string]struct {
		text  string
		left  int // cursor keys
		most  int
		lines []string
		y, x  int
	}{
		"empty":     {"", 0, 3, []string{""}, 0, 0},
		"wrapped":   {"one two three", 0, 3, []string{"one two", " three"}, 1, 6},
		"wide":      {"日本語の字", 2, 3, []string{"日本語", "の字"}, 1, 0},
		"last rows": {"a\nb\nc\nd", 0, 2, []string{"c", "d"}, 1, 1},
		"middle":    {"a\nb\nc\nd", 5, 2, []string{"a", "b"}, 1, 0},
		"tab":       {"\tx", 0, 3, []string{"        ", "x"}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var m Model
			m.Insert(tt.text)
			for range tt.left {
				m.Do(keymap.Left, 8)
			}
			lines, y, x := m.View(8, tt.most)
			require.Equal(t, tt.lines, lines)
			require.Equal(t, []int{tt.y, tt.x}, []int{y, x})
			require.Equal(t, len(m.rows(8)), m.Height(8))
		})
	}
}
