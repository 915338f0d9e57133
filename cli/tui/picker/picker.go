// Package picker shows a list from which the user chooses an item. Typing filters it. It
// does not know what follows from the choice.
//
// The list of charm.land/bubbles/v2 (v2.2.1) is not used: it has neither columns nor a
// detail below the items, and draws its own title, filter and pages, which do not fit into
// ten rows.
package picker

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/textfield"
)

// Model is a list on the screen. It is not safe for concurrent use.
type Model struct {
	pick   interactive.Pick
	rows   []pickRow // of all items
	shown  []found   // the items that the filter leaves
	at     int       // index of the selected one in shown
	offset int       // index of the first visible one in shown
	page   int       // visible items, as last displayed
	filter textfield.Model
	notice string // of the last key

	names, states int      // widths of the widest name and state
	detail        []string // rendering of the selected item's detail
	detailOf      int      // its item
	detailLook    blocks.Style
	reserved      int // rows for details
	reservedFor   int // columns
}

// pickRow is an item as it is displayed: escaped, each text on one line.
type pickRow struct{ name, state, description string }

// found is an item that matches the filter.
type found struct {
	item  int
	marks []int // byte offsets of the matched characters of the name
}

// New returns the list of a choice.
func New(pick interactive.Pick) *Model {
	p := &Model{pick: pick, detailOf: -1}
	for _, item := range pick.Items {
		row := pickRow{display.Line(item.Name), display.Line(item.State), display.Line(item.Description)}
		p.rows = append(p.rows, row)
		p.names, p.states = max(p.names, display.Width(row.name)), max(p.states, display.Width(row.state))
	}
	p.refilter()
	p.at = max(slices.IndexFunc(pick.Items, func(i interactive.PickItem) bool { return i.Selected }), 0)
	return p
}

// refilter applies the filter. Each of its words must match: the name fuzzily, or the
// state or description as they are. Matches of names come first.
func (p *Model) refilter() {
	type scored struct {
		found
		score int
	}
	all := make([]scored, 0, len(p.rows))
	words := strings.Fields(p.filter.Text())
	for i, row := range p.rows {
		s, matches := scored{found: found{item: i}}, true
		for _, word := range words {
			if m := fuzzy.Find(word, []string{row.name}); len(m) == 1 {
				s.score += m[0].Score
				s.marks = append(s.marks, m[0].MatchedIndexes...)
				continue
			}
			s.score -= 1_000
			matches = matches && strings.Contains(strings.ToLower(row.state+" "+row.description), strings.ToLower(word))
		}
		if matches {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	p.shown = p.shown[:0]
	for _, s := range all {
		p.shown = append(p.shown, s.found)
	}
	p.at, p.offset = 0, 0
}

// selected returns the index of the selected item, -1 for none.
func (p *Model) selected() int {
	if p.at < len(p.shown) {
		return p.shown[p.at].item
	}
	return -1
}

// Selected returns the selected item, nil for none.
func (p *Model) Selected() *interactive.PickItem {
	if i := p.selected(); i >= 0 {
		return &p.pick.Items[i]
	}
	return nil
}

// Scroll moves the selection by n items, down if n > 0.
func (p *Model) Scroll(n int) { p.at = max(0, min(p.at+n, len(p.shown)-1)) }

// Paste adds text to the filter.
func (p *Model) Paste(text string) {
	p.filter.Insert(display.Line(text))
	p.refilter()
}

// Effect is the effect of a key.
type Effect int

// The effects. Moved may have changed the selection, Typed also the filter.
const (
	Moved Effect = iota
	Typed
	Chosen // the selected item
	Closed
)

// Key handles a key. An item without input is not chosen.
func (p *Model) Key(k tea.KeyPressMsg) Effect {
	p.notice = ""
	switch keymap.Find(keymap.List, k.Keystroke()) {
	case keymap.Close:
		return Closed
	case keymap.Accept:
		i := p.selected()
		if i < 0 {
			return Moved
		}
		if p.pick.Items[i].Submit == "" {
			p.notice = "this entry cannot be chosen"
			return Moved
		}
		return Chosen
	case keymap.Up:
		p.Scroll(-1)
	case keymap.Down:
		p.Scroll(1)
	case keymap.PageUp:
		p.Scroll(-max(p.page-1, 1))
	case keymap.PageDown:
		p.Scroll(max(p.page-1, 1))
	case keymap.ToStart:
		p.Scroll(-len(p.shown))
	case keymap.ToEnd:
		p.Scroll(len(p.shown))
	default:
		if keymap.Find(keymap.Edit, k.Keystroke()) == keymap.NewLine { // the filter has one line
			break
		}
		if before := p.filter.Text(); p.filter.Key(k, filterColumns) {
			if p.filter.Text() != before {
				p.refilter()
			}
			return Typed
		}
	}
	return Moved
}

// filterColumns is the width of the filter for keys that move by rows; it has one row.
const filterColumns = 1 << 20
