package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/theme"
)

// BenchmarkFrame draws frames of a conversation of 10,000 lines of code and diffs. UI-04
// allows 16 ms for each: the first one, one that scrolls a page, one with a longer answer
// at the end, one at another width.
func BenchmarkFrame(b *testing.B) {
	h := newHost(b.Context(), time.Now)
	b.Cleanup(h.end)
	h.after = func(time.Duration, any) {}
	var past []interactive.Item
	for i := range 50 {
		past = append(past, interactive.Item{Role: "user", Text: fmt.Sprintf("Prompt %d", i)},
			interactive.Item{Role: "model", Text: "```go\n" + strings.Repeat("\tif err := check(1, \"a text\"); err != nil { // step\n", 100) +
				"```\n\n```diff\n@@ -1,48 +1,48 @@\n" + strings.Repeat("-\treturn old(1, 2)\n+\treturn updated(1, 2)\n", 48) + "```\n"})
	}
	resumed := func() *screen {
		look := theme.New(theme.Options{Name: theme.OnDark, Profile: colorprofile.TrueColor})
		m := newScreen(Options{Session: newFake(), NoAnimation: true, Now: time.Now, Theme: look}, h)
		m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
		m.restore(past)
		return m
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			m := resumed()
			b.StartTimer()
			m.View()
		}
	})
	b.Run("scroll", func(b *testing.B) {
		m := resumed()
		for n := 0; b.Loop(); n++ {
			key := tea.KeyPressMsg{Code: tea.KeyPgUp}
			if n%400 >= 200 {
				key.Code = tea.KeyPgDown
			}
			m.Update(key)
			m.View()
		}
	})
	b.Run("stream", func(b *testing.B) {
		m := resumed()
		for b.Loop() {
			m.text("```go\nx := 1\n```\n\nA sentence of an answer. ")
			m.View()
		}
	})
	b.Run("resize", func(b *testing.B) {
		m := resumed()
		for n := 0; b.Loop(); n++ {
			m.Update(tea.WindowSizeMsg{Width: 120 + n%80, Height: 50})
			m.View()
		}
	})
}
