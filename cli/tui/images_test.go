package tui

import (
	"context"
	"errors"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"
)

// Ctrl-V inserts the image of the clipboard as one character, which is sent; a failure
// is shown (UI-04).
func TestPasteImage(t *testing.T) {
	var failure error
	r := newRig(t, newFake(), func(o *Options) {
		o.ReadImage = func(context.Context) ([]byte, error) { return []byte("PNG"), failure }
	})
	r.typeIn("look at")
	r.press("ctrl+v")
	r.until(func() bool { return r.m.input.Text() == "look at [Image 1: PNG] " })
	r.press("backspace", "backspace")
	require.Equal(t, "look at ", r.m.input.Text())
	r.press("ctrl+_", "enter")
	r.until(func() bool { return r.m.turn == nil })
	require.Equal(t, []string{"look at [Image 1: PNG] "}, r.s.texts()[:1])
	failure = errors.New("no program reads images of the clipboard: install xclip")
	r.press("ctrl+v")
	r.sees("install xclip")
	require.Empty(t, r.m.input.Text())
}

// A paste of image paths inserts the images; other pastes are text (UI-04).
func TestDroppedImages(t *testing.T) {
	tests := []struct{ pasted, want string }{
		{"/pictures/a.png", "[Image 1: a.png] "},
		{"'/pictures/a b.png' ", "[Image 1: a b.png] "},
		{`/pictures/a\ b.JPG /pictures/c.webp`, "[Image 1: a b.JPG] [Image 1: c.webp] "},
		{"/elsewhere/a.png", "/elsewhere/a.png"},
		{"/pictures/a.png and text", "/pictures/a.png and text"},
		{"see /pictures/a.png", "see /pictures/a.png"},
		{"a.png", "a.png"},
		{"/pictures/a.txt", "/pictures/a.txt"},
		{"it's /pictures/a.png", "it's /pictures/a.png"},
	}
	for _, tt := range tests {
		t.Run(tt.pasted, func(t *testing.T) {
			r := newRig(t, newFake())
			r.send(tea.PasteMsg{Content: tt.pasted})
			r.until(func() bool { return r.m.input.Text() != "" })
			require.Equal(t, tt.want, r.m.input.Text())
		})
	}
}
