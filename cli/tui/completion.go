package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/textfield"
)

// candidateRows returns the maximum number of rows for candidates.
func candidateRows(height int) int { return min(max(height/4, 6), 15) }

// completeAfter is the pause in typing after which candidates are requested.
const completeAfter = 60 * time.Millisecond

// completion is the list of candidates for the cursor position.
type completion struct {
	generation int    // of the input; results for an earlier generation are stale
	cancel     func() // cancels the pending request; nil: none
	found      interactive.Completions
	at         int  // index of the selected candidate
	accept     bool // insert a single candidate at once
}

// completionMsg is the result of a request for the given generation of the input.
type completionMsg struct {
	generation int
	found      interactive.Completions
}

func (c *completion) open() bool { return len(c.found.Items) > 0 }

// dismiss closes the list and makes a pending request stale.
func (c *completion) dismiss() {
	if c.cancel != nil {
		c.cancel()
	}
	*c = completion{generation: c.generation + 1}
}

// take shows a result unless it is stale.
func (c *completion) take(msg completionMsg, e *textfield.Model) {
	if msg.generation != c.generation {
		return
	}
	c.cancel, c.found, c.at = nil, msg.found, 0
	if len(c.found.Items) == 1 && c.accept {
		c.choose(e)
	}
	c.accept = false
}

// choose inserts the selected candidate. It reports whether the input changed, and
// whether the candidate is also submitted.
func (c *completion) choose(e *textfield.Model) (changed, run bool) {
	item := c.found.Items[c.at]
	from, to := c.found.From, c.found.To
	if from < 0 || to > len(e.Text()) || from > to {
		c.dismiss()
		return false, false
	}
	changed = strings.TrimRight(e.Text()[from:to], " ") != strings.TrimRight(item.Text, " ")
	if changed {
		e.Replace(from, to, textfield.Clean(item.Text))
	}
	c.dismiss()
	return changed, item.Run
}

// edited requests candidates after a pause in typing.
func (m *screen) edited() {
	m.completion.dismiss()
	if m.completable() {
		m.lookFor(completeAfter)
	}
}

// completable reports whether the input can have candidates.
func (m *screen) completable() bool {
	text := m.input.Text()
	before := text[:m.input.Cursor()]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return len(text) < textfield.MaxRecalled && (strings.HasPrefix(text, "/") || strings.Contains(line, "@"))
}

// complete requests candidates now. If accept is set, a single candidate is inserted.
func (m *screen) complete(accept bool) {
	m.completion.dismiss()
	m.completion.accept = accept
	m.lookFor(0)
}

func (m *screen) lookFor(pause time.Duration) {
	text, cursor, generation := m.input.Text(), m.input.Cursor(), m.completion.generation
	m.completion.cancel = m.h.spawn(func(ctx context.Context) {
		if pause > 0 {
			timer := time.NewTimer(pause)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
		found := m.o.Session.Complete(ctx, text, cursor)
		if ctx.Err() == nil {
			m.h.box.post(completionMsg{generation, found})
		}
	})
}

// completionKey handles a key while candidates are shown, and reports whether it used
// the key.
func (m *screen) completionKey(stroke string) bool {
	c := &m.completion
	n := len(c.found.Items)
	switch keymap.Find(keymap.Completion, stroke) {
	case keymap.Up:
		c.at = (c.at + n - 1) % n
	case keymap.Down:
		c.at = (c.at + 1) % n
	case keymap.Close:
		c.dismiss()
	case keymap.Take:
		if changed, _ := c.choose(&m.input); changed {
			m.edited()
		}
	case keymap.Accept:
		if c.typedOut(&m.input) {
			c.dismiss()
			return false
		}
		changed, run := c.choose(&m.input)
		if run || !changed {
			m.enter()
		} else {
			m.edited()
		}
	default:
		return false
	}
	return true
}

// typedOut reports whether the input equals one of the candidates and the user has
// not selected another.
func (c *completion) typedOut(e *textfield.Model) bool {
	if c.at != 0 || c.found.From < 0 || c.found.To > len(e.Text()) || c.found.From > c.found.To {
		return false
	}
	there := strings.TrimRight(e.Text()[c.found.From:c.found.To], " ")
	if strings.HasPrefix(there, "@") && strings.HasSuffix(there, "/") {
		return true // a directory; Tab enters it
	}
	for _, item := range c.found.Items {
		if text := strings.TrimRight(item.Text, " "); text == there || text == there+"/" {
			return true
		}
	}
	return false
}

// view returns at most rows lines of candidates around the selected one, and its number
// if some are hidden.
func (c *completion) view(v blocks.Style, rows int) []string {
	items := c.found.Items
	where := ""
	if len(items) > rows && rows > 3 {
		rows--
		where = fmt.Sprintf("  %d of %d", c.at+1, len(items))
	}
	first := max(0, min(c.at-rows/2, len(items)-rows))
	shown := items[first:min(first+rows, len(items))]
	widest, described := 0, false
	for _, item := range items {
		widest = max(widest, display.Width(display.Line(label(item))))
		described = described || item.Description != ""
	}
	if widest = min(widest, v.Columns-4); described {
		widest = min(widest, v.Columns/2)
	}
	lines := make([]string, 0, rows+1)
	for i, item := range shown {
		mark, base := "  ", theme.Style{}
		if first+i == c.at {
			mark, base = "> ", v.Theme.Selected
		}
		line, width := markedLabel(item, widest, base, v.Theme)
		line = base.Render(mark) + line + base.Render(strings.Repeat(" ", max(widest-width, 0)))
		if item.Description != "" {
			about := display.Cut(display.Line(item.Description), v.Columns-widest-4, "…")
			line += "  " + v.Theme.Dim.Render(about)
		}
		lines = append(lines, line)
	}
	if where != "" {
		lines = append(lines, v.Theme.Dim.Render(where))
	}
	return lines
}

// markedLabel returns the displayed text of a candidate, at most columns wide, with its
// matching characters marked, and its width. A path loses its beginning.
func markedLabel(item interactive.Candidate, columns int, base theme.Style, t *theme.Theme) (line string, width int) {
	raw := label(item)
	text := display.Line(raw)
	marked := map[int]bool{}
	if text == raw {
		for _, i := range item.Marks {
			marked[i] = true
		}
	}
	skipped := 0
	switch {
	case display.Width(text) <= columns:
	case strings.Contains(text, "/") && strings.HasPrefix(text, "@"):
		rest := leftCut(text, columns)
		skipped = len(text) - (len(rest) - len("…"))
		line = base.Render("…")
	default:
		text = display.Cut(text, columns, "…")
	}
	hit := t.Accent
	hit.Bold, hit.Underline = true, true
	hit = hit.On(base)
	rest := text[skipped:]
	for at := skipped; rest != ""; {
		cluster, _ := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
		n, is := max(len(cluster), 1), marked[at]
		for len(rest) > n && marked[at+n] == is { // one style for a run of characters
			cluster, _ = ansi.FirstGraphemeCluster(rest[n:], ansi.GraphemeWidth)
			n += max(len(cluster), 1)
		}
		style := base
		if is {
			style = hit
		}
		line += style.Render(rest[:n])
		rest, at = rest[n:], at+n
	}
	return line, display.Width(line)
}

func label(c interactive.Candidate) string {
	if c.Label != "" {
		return c.Label
	}
	return c.Text
}
