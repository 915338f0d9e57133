package blocks

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/tools"
)

// Whole returns the lines of the result of the call, or of its output so far, as much
// as is kept. They are safe for the terminal.
func (b *Call) Whole() []string {
	var shown tools.Display
	if len(b.State.Display) > 0 && json.Unmarshal(b.State.Display, &shown) == nil {
		text := shown.Text
		switch {
		case shown.ANSI != nil:
			text = shown.ANSI.ANSI
		case shown.Diff != nil:
			text = shown.Diff.FileDiff
		}
		if strings.TrimSpace(text) != "" && !b.repeatsTitle(text) {
			return Lines(text)
		}
	}
	if b.Output == nil {
		return nil
	}
	return b.Output.whole()
}

// Saved returns the file with the whole output of the call; "" if there is none.
func (b *Call) Saved() string {
	var shown tools.Display
	if len(b.State.Display) == 0 || json.Unmarshal(b.State.Display, &shown) != nil || shown.ANSI == nil {
		return ""
	}
	return shown.ANSI.SavedPath
}

// Lines returns the lines of output as a terminal shows them, safe for the terminal.
func Lines(output string) []string {
	t := newTail(math.MaxInt)
	t.add(output)
	return t.whole()
}

// whole returns the kept lines.
func (t *tail) whole() []string {
	var lines []string
	for _, line := range t.kept {
		lines = append(lines, display.Untab(line, 0))
	}
	if t.open != "" {
		lines = append(lines, display.Untab(t.open, 0))
	}
	return lines
}
