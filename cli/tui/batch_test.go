package tui

import (
	"math/rand/v2"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"
)

// Keys that arrive together form one text, in order with the keys that are not text.
func TestKeysTogether(t *testing.T) {
	r := newRig(t, newFake())
	var batch batchMsg
	for _, c := range "up and down" {
		batch = append(batch, tea.KeyPressMsg{Code: c, Text: string(c)})
	}
	batch = append(batch, keyOf("left"), keyOf("left"), tea.KeyPressMsg{Code: 'X', Text: "X", Mod: tea.ModShift}, keyOf("x"), keyOf("alt+b"), keyOf("y"), keyOf("z"))
	r.send(batch)
	require.Equal(t, "up and yzdoXxwn", r.m.input.text)
	require.Contains(t, r.text(), "> up and yzdoXxwn")
}

// Reused rows equal those of wrapping the whole text.
func TestRowsTakenOver(t *testing.T) {
	pieces := []string{"a", "word ", "\n", "日本", "e\u0301", "\t", strings.Repeat("long", 9), "👩‍👩‍👧", "\u0301", "\u200d"}
	random := rand.New(rand.NewPCG(1, 2))
	var e editor
	for range 800 {
		at := len(e.text)
		if random.IntN(3) == 0 { // a valid cursor position
			at = e.previous(e.next(e.lineStart(random.IntN(len(e.text) + 1))))
		}
		to := at
		if random.IntN(4) == 0 {
			to = e.next(e.next(at))
		}
		e.replace(at, to, pieces[random.IntN(len(pieces))])
		columns := 20
		if random.IntN(20) == 0 {
			columns = 7
		}
		fresh := editor{text: e.text}
		require.Equal(t, fresh.rows(columns), e.rows(columns), "%q", e.text)
	}
}
