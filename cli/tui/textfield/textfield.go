// Package textfield is a text field of one or more lines for a terminal: its text, cursor,
// undo and deleted texts, and the rows that show it. It knows neither the screen nor the
// session. Its keys are those of the place Edit of the key table.
//
// It is not the text area of charm.land/bubbles/v2 (v2.2.1). That one moves its cursor by
// code points, which splits combined characters and emoji. It holds a long paste as rows,
// which makes each key slow. It has neither placeholders that count as one character, nor
// undo, nor deleted texts that can be inserted again, nor byte offsets for completion.
package textfield

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/fettle-dev/fettle/cli/display"
)

// A paste that exceeds either limit is shown as a placeholder.
const (
	maxShownPasteLines = 8
	maxShownPasteBytes = 2000
)

// Model is a text field. Its cursor is between grapheme clusters. The zero value is empty.
// It is not safe for concurrent use.
type Model struct {
	text   string
	cursor int
	pastes map[string]string // content of the placeholders
	column int               // kept by up and down; 0: that of the cursor
	keep   bool              // column is valid
	broken wrapped           // the text as last wrapped

	changes changes
	kills   kills
}

// wrapped is a text wrapped into rows of a width.
type wrapped struct {
	text    string
	columns int
	rows    []row
}

// Text returns the text as it is shown, with placeholders for long pastes.
func (m *Model) Text() string { return m.text }

// Cursor returns the byte offset of the cursor in Text.
func (m *Model) Cursor() int { return m.cursor }

// Value returns the text with placeholders replaced by their content.
func (m *Model) Value() string {
	if len(m.pastes) == 0 {
		return m.text
	}
	pairs := make([]string, 0, 2*len(m.pastes))
	for label, content := range m.pastes {
		pairs = append(pairs, label, content)
	}
	return strings.NewReplacer(pairs...).Replace(m.text) // labels within contents stay
}

// Set replaces the text and moves the cursor to its end. Placeholders in it stay
// valid.
func (m *Model) Set(text string) { m.Replace(0, len(m.text), text) }

// Reset empties the field. Only deleted texts are kept.
func (m *Model) Reset() { *m = Model{kills: m.kills, pastes: m.keptPastes()} }

// Insert inserts text at the cursor. Line endings become line feeds; other control
// characters are dropped.
func (m *Model) Insert(text string) {
	text = Clean(text)
	m.change(m.cursor, m.cursor, text, kindOf(text))
}

// Replace replaces the bytes from … to and moves the cursor behind the new text.
func (m *Model) Replace(from, to int, text string) { m.change(from, to, text, other) }

// change is a replacement of a kind.
func (m *Model) change(from, to int, text string, k kind) {
	from = min(max(from, 0), len(m.text))
	to = min(max(to, from), len(m.text))
	if from != to || text != "" {
		m.changes.note(change{from, m.text[from:to], text, m.cursor}, k)
	}
	m.text = m.text[:from] + text + m.text[to:]
	m.cursor, m.keep = from+len(text), false
}

// Clean returns text as it may be in a field: line endings become line feeds, and other
// control characters are dropped.
func Clean(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	text = strings.ToValidUTF8(text, "\ufffd")
	if !strings.ContainsFunc(text, display.Obeyed) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if display.Obeyed(r) {
			return -1
		}
		return r
	}, text)
}

// Paste inserts pasted text, as a placeholder if it is long.
func (m *Model) Paste(content string) {
	content = Clean(content)
	if strings.Count(content, "\n") < maxShownPasteLines && len(content) <= maxShownPasteBytes {
		m.Replace(m.cursor, m.cursor, content)
		return
	}
	m.Replace(m.cursor, m.cursor, m.placeholder(content))
}

// placeholder returns the placeholder of a content, and stores the content.
func (m *Model) placeholder(content string) string {
	lines := strings.Count(content, "\n") + 1
	what := display.Thousands(lines) + " lines"
	if lines == 1 {
		what = display.Thousands(utf8.RuneCountInString(content)) + " characters"
	}
	label := "[Pasted " + what + "]"
	for n := 2; m.pastes[label] != "" && m.pastes[label] != content; n++ {
		label = fmt.Sprintf("[Pasted %s, %d]", what, n)
	}
	if m.pastes == nil {
		m.pastes = map[string]string{}
	}
	m.pastes[label] = content
	return label
}

// InsertToken inserts text that counts as one character, with spaces that separate it from
// other words.
func (m *Model) InsertToken(text string) {
	text = Clean(text)
	if before, _ := utf8.DecodeLastRuneInString(m.text[:m.cursor]); m.cursor > 0 && !unicode.IsSpace(before) {
		m.Insert(" ")
	}
	if m.pastes == nil {
		m.pastes = map[string]string{}
	}
	m.pastes[text] = text
	m.Replace(m.cursor, m.cursor, text+" ")
}

// next returns the end of the character at i; a placeholder counts as one.
func (m *Model) next(i int) int {
	if i >= len(m.text) {
		return len(m.text)
	}
	for label := range m.pastes {
		if strings.HasPrefix(m.text[i:], label) {
			return i + len(label)
		}
	}
	cluster, _ := ansi.FirstGraphemeCluster(m.text[i:], ansi.GraphemeWidth)
	return i + max(len(cluster), 1)
}

// previous returns the start of the character before i.
func (m *Model) previous(i int) int {
	if i <= 0 {
		return 0
	}
	for label := range m.pastes {
		if strings.HasSuffix(m.text[:i], label) {
			return i - len(label)
		}
	}
	at := m.lineStart(i)
	if at == i {
		return i - 1 // the line feed
	}
	for {
		next := m.next(at)
		if next >= i {
			return at
		}
		at = next
	}
}

func (m *Model) lineStart(i int) int { return strings.LastIndexByte(m.text[:i], '\n') + 1 }

func (m *Model) lineEnd(i int) int {
	if n := strings.IndexByte(m.text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(m.text)
}

func (m *Model) move(to int) { m.cursor, m.keep, m.changes.last = to, false, other }

func (m *Model) left()  { m.move(m.previous(m.cursor)) }
func (m *Model) right() { m.move(m.next(m.cursor)) }
func (m *Model) home()  { m.move(m.lineStart(m.cursor)) }
func (m *Model) last()  { m.move(m.lineEnd(m.cursor)) }

// wordLeft returns the start of the word before the cursor.
func (m *Model) wordLeft() int {
	i := m.cursor
	for i > 0 && !m.word(m.previous(i)) {
		i = m.previous(i)
	}
	for i > 0 && m.word(m.previous(i)) {
		i = m.previous(i)
	}
	return i
}

// wordRight returns the end of the word after the cursor.
func (m *Model) wordRight() int {
	i := m.cursor
	for i < len(m.text) && !m.word(i) {
		i = m.next(i)
	}
	for i < len(m.text) && m.word(i) {
		i = m.next(i)
	}
	return i
}

// word reports whether the character at i belongs to a word.
func (m *Model) word(i int) bool {
	r, _ := utf8.DecodeRuneInString(m.text[i:])
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || strings.HasPrefix(m.text[i:], "[Pasted ")
}

// delete removes the text between the cursor and i.
func (m *Model) delete(i int) {
	k := other
	if i < m.cursor {
		k = erasing
	}
	m.change(min(i, m.cursor), max(i, m.cursor), "", k)
}

// Height returns the number of rows of the text, at least 1.
func (m *Model) Height(columns int) int { return len(m.rows(columns)) }

// row is a displayed row of the text.
type row struct{ from, to int } // bytes

// rows wraps the text into rows. One column at the end of each row stays free for the
// cursor. Rows before the first change are reused.
func (m *Model) rows(columns int) []row {
	before := &m.broken
	if before.rows != nil && before.columns == columns && before.text == m.text {
		return before.rows
	}
	var rows []row
	start := 0
	if before.columns == columns {
		same := common(before.text, m.text)
		for i := 0; i+1 < len(before.rows) && before.rows[i+1].to < same; i++ {
			rows, start = before.rows[:i+1:i+1], before.rows[i+1].from
		}
	}
	*before = wrapped{m.text, columns, m.rowsFrom(start, columns, rows)}
	return before.rows
}

// common returns the length of the common prefix of two texts.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func (m *Model) rowsFrom(start, columns int, rows []row) []row {
	used := 0
	for i := start; i < len(m.text); {
		if m.text[i] == '\n' {
			rows = append(rows, row{start, i})
			i++
			start, used = i, 0
			continue
		}
		cluster, width := ansi.FirstGraphemeCluster(m.text[i:], ansi.GraphemeWidth)
		if cluster == "\t" {
			width = display.TabStop - used%display.TabStop
		}
		if used+width > columns-1 && i > start {
			rows = append(rows, row{start, i})
			if start, used = i, 0; cluster == "\t" {
				width = display.TabStop
			}
		}
		used += width
		i += max(len(cluster), 1)
	}
	return append(rows, row{start, len(m.text)})
}

// at returns the row and the column of the cursor.
func (m *Model) at(rows []row) (y, x int) {
	for y < len(rows)-1 && m.cursor >= rows[y+1].from {
		y++
	}
	return y, display.Width(display.Untab(m.text[rows[y].from:min(m.cursor, rows[y].to)], 0))
}

// Vertical moves the cursor by n rows, down if n > 0. It returns false if that row
// does not exist.
func (m *Model) Vertical(n, columns int) bool {
	rows := m.rows(columns)
	y, x := m.at(rows)
	if y+n < 0 || y+n >= len(rows) {
		return false
	}
	if !m.keep {
		m.column = x
	}
	target := rows[y+n]
	i, used := target.from, 0
	for i < target.to {
		next := m.next(i)
		width := display.Width(display.Untab(m.text[i:min(next, target.to)], used))
		if used+width > m.column {
			break
		}
		used, i = used+width, next
	}
	m.cursor, m.keep, m.changes.last = min(i, len(m.text)), true, other
	return true
}

// View returns at most most rows around the cursor, each at most columns wide, and the
// row and column of the cursor in them.
func (m *Model) View(columns, most int) (lines []string, y, x int) {
	rows := m.rows(columns)
	y, x = m.at(rows)
	first := max(0, min(y-most/2, len(rows)-most))
	for _, r := range rows[first:min(first+most, len(rows))] {
		lines = append(lines, display.Untab(m.text[r.from:r.to], 0))
	}
	return lines, y - first, x
}

// MaxRecalled is the length in bytes up to which a history entry is shown as text.
const MaxRecalled = 20_000

// Recall shows a history entry, as a placeholder if it is very long. Undo does not go
// back beyond it.
func (m *Model) Recall(text string) {
	m.Show(text)
	m.changes = changes{}
}

// Show replaces the text, by a placeholder if it is very long.
func (m *Model) Show(text string) {
	if len(text) > MaxRecalled {
		text = m.placeholder(Clean(text))
	}
	m.Set(text)
}
