package tui

import (
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
	require.Equal(t, "up and yzdoXxwn", r.m.input.Text())
	require.Contains(t, r.text(), "> up and yzdoXxwn")
}
