package tui

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/textfield"
)

// picker shows a list in place of the input, from which the user chooses an item.
// Typing filters it. The list of charm.land/bubbles is not used: it has neither
// columns nor a detail, and draws its own title, filter and pages, which do not fit
// into ten rows.
type picker struct {
	pick   interactive.Pick
	rows   []pickRow // of all items
	shown  []found   // the items that the filter leaves
	at     int       // index of the selected one in shown
	offset int       // index of the first visible one in shown
	page   int       // visible items, as last displayed
	filter textfield.Model
	notice string // of the last key

	previewed  string // the theme in which the screen is displayed; "": none was previewed
	before     theme.Theme
	beforeName string

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

func newPicker(pick interactive.Pick) *picker {
	p := &picker{pick: pick, detailOf: -1}
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
func (p *picker) refilter() {
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
func (p *picker) selected() int {
	if p.at < len(p.shown) {
		return p.shown[p.at].item
	}
	return -1
}

// move moves the selection by n items.
func (p *picker) move(n int) { p.at = max(0, min(p.at+n, len(p.shown)-1)) }

func (p *picker) paste(text string) {
	p.filter.Insert(display.Line(text))
	p.refilter()
}

// pickKey handles a key while a list is shown.
func (m *screen) pickKey(k tea.KeyPressMsg) {
	p := m.picker
	p.notice = ""
	switch stroke := k.Keystroke(); stroke {
	case "esc", "ctrl+c":
		m.closePicker()
		return
	case "enter", "kpenter":
		i := p.selected()
		if i < 0 {
			return
		}
		if p.pick.Items[i].Submit == "" {
			p.notice = "this entry cannot be chosen"
			return
		}
		m.picker = nil // a previewed theme remains
		m.submit(p.pick.Items[i].Submit)
		return
	case "up", "ctrl+p":
		p.move(-1)
	case "down", "ctrl+n":
		p.move(1)
	case "pgup":
		p.move(-max(p.page-1, 1))
	case "pgdown":
		p.move(max(p.page-1, 1))
	case "home":
		p.move(-len(p.shown))
	case "end":
		p.move(len(p.shown))
	case "alt+enter", "ctrl+j", "shift+enter", "ctrl+enter": // the filter has one line
	default:
		if before := p.filter.Text(); p.filter.Key(k, m.width) {
			m.typedAt = m.h.now()
			if p.filter.Text() != before {
				p.refilter()
			}
		}
	}
	m.preview()
}

// preview displays the screen in the theme of the selected item.
func (m *screen) preview() {
	p := m.picker
	i := p.selected()
	if i < 0 || p.pick.Items[i].Theme == "" || p.pick.Items[i].Theme == p.previewed {
		return
	}
	if p.previewed == "" {
		p.before, p.beforeName = m.o.Theme, m.themeName
	}
	p.previewed = p.pick.Items[i].Theme
	m.useTheme(p.previewed)
}

// closePicker closes the list without a choice, and restores the theme.
func (m *screen) closePicker() {
	if p := m.picker; p != nil && p.previewed != "" {
		m.themeName = p.beforeName
		m.setTheme(p.before)
	}
	m.picker = nil
}
