package tui

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

// editor is a text input of one or more lines. Its cursor is a byte offset between
// grapheme clusters. The zero value is empty. The package comment states why it is not
// the text area of bubbles.
type editor struct {
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

// value returns the text with placeholders replaced by their content.
func (e *editor) value() string {
	if len(e.pastes) == 0 {
		return e.text
	}
	pairs := make([]string, 0, 2*len(e.pastes))
	for label, content := range e.pastes {
		pairs = append(pairs, label, content)
	}
	return strings.NewReplacer(pairs...).Replace(e.text) // labels within contents stay
}

// set replaces the text and moves the cursor to its end. Placeholders in it stay
// valid.
func (e *editor) set(text string) { e.replace(0, len(e.text), text) }

// reset empties the editor. Only deleted texts are kept.
func (e *editor) reset() { *e = editor{kills: e.kills, pastes: e.keptPastes()} }

// insert inserts text at the cursor. Line endings become line feeds; other control
// characters are dropped.
func (e *editor) insert(text string) {
	text = typed(text)
	e.change(e.cursor, e.cursor, text, kindOf(text))
}

// replace replaces the bytes from … to and moves the cursor behind the new text.
func (e *editor) replace(from, to int, text string) { e.change(from, to, text, other) }

// change is a replacement of a kind.
func (e *editor) change(from, to int, text string, k kind) {
	from = min(max(from, 0), len(e.text))
	to = min(max(to, from), len(e.text))
	if from != to || text != "" {
		e.changes.note(change{from, e.text[from:to], text, e.cursor}, k)
	}
	e.text = e.text[:from] + text + e.text[to:]
	e.cursor, e.keep = from+len(text), false
}

// typed cleans text for the input.
func typed(text string) string {
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

// paste inserts pasted text, as a placeholder if it is long.
func (e *editor) paste(content string) {
	content = typed(content)
	if strings.Count(content, "\n") < maxShownPasteLines && len(content) <= maxShownPasteBytes {
		e.replace(e.cursor, e.cursor, content)
		return
	}
	e.replace(e.cursor, e.cursor, e.placeholder(content))
}

// placeholder returns the placeholder of a content, and stores the content.
func (e *editor) placeholder(content string) string {
	lines := strings.Count(content, "\n") + 1
	what := display.Thousands(lines) + " lines"
	if lines == 1 {
		what = display.Thousands(utf8.RuneCountInString(content)) + " characters"
	}
	label := "[Pasted " + what + "]"
	for n := 2; e.pastes[label] != "" && e.pastes[label] != content; n++ {
		label = fmt.Sprintf("[Pasted %s, %d]", what, n)
	}
	if e.pastes == nil {
		e.pastes = map[string]string{}
	}
	e.pastes[label] = content
	return label
}

// next returns the end of the character at i; a placeholder counts as one.
func (e *editor) next(i int) int {
	if i >= len(e.text) {
		return len(e.text)
	}
	for label := range e.pastes {
		if strings.HasPrefix(e.text[i:], label) {
			return i + len(label)
		}
	}
	cluster, _ := ansi.FirstGraphemeCluster(e.text[i:], ansi.GraphemeWidth)
	return i + max(len(cluster), 1)
}

// previous returns the start of the character before i.
func (e *editor) previous(i int) int {
	if i <= 0 {
		return 0
	}
	for label := range e.pastes {
		if strings.HasSuffix(e.text[:i], label) {
			return i - len(label)
		}
	}
	at := e.lineStart(i)
	if at == i {
		return i - 1 // the line feed
	}
	for {
		next := e.next(at)
		if next >= i {
			return at
		}
		at = next
	}
}

func (e *editor) lineStart(i int) int { return strings.LastIndexByte(e.text[:i], '\n') + 1 }

func (e *editor) lineEnd(i int) int {
	if n := strings.IndexByte(e.text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(e.text)
}

func (e *editor) move(to int) { e.cursor, e.keep, e.changes.last = to, false, other }

func (e *editor) left()  { e.move(e.previous(e.cursor)) }
func (e *editor) right() { e.move(e.next(e.cursor)) }
func (e *editor) home()  { e.move(e.lineStart(e.cursor)) }
func (e *editor) last()  { e.move(e.lineEnd(e.cursor)) }

// wordLeft returns the start of the word before the cursor.
func (e *editor) wordLeft() int {
	i := e.cursor
	for i > 0 && !e.word(e.previous(i)) {
		i = e.previous(i)
	}
	for i > 0 && e.word(e.previous(i)) {
		i = e.previous(i)
	}
	return i
}

// wordRight returns the end of the word after the cursor.
func (e *editor) wordRight() int {
	i := e.cursor
	for i < len(e.text) && !e.word(i) {
		i = e.next(i)
	}
	for i < len(e.text) && e.word(i) {
		i = e.next(i)
	}
	return i
}

// word reports whether the character at i belongs to a word.
func (e *editor) word(i int) bool {
	r, _ := utf8.DecodeRuneInString(e.text[i:])
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || strings.HasPrefix(e.text[i:], "[Pasted ")
}

// delete removes the text between the cursor and i.
func (e *editor) delete(i int) {
	k := other
	if i < e.cursor {
		k = erasing
	}
	e.change(min(i, e.cursor), max(i, e.cursor), "", k)
}

// row is a displayed row of the text.
type row struct{ from, to int } // bytes

// rows wraps the text into rows. One column at the end of each row stays free for the
// cursor. Rows before the first change are reused.
func (e *editor) rows(columns int) []row {
	before := &e.broken
	if before.rows != nil && before.columns == columns && before.text == e.text {
		return before.rows
	}
	var rows []row
	start := 0
	if before.columns == columns {
		same := common(before.text, e.text)
		for i := 0; i+1 < len(before.rows) && before.rows[i+1].to < same; i++ {
			rows, start = before.rows[:i+1:i+1], before.rows[i+1].from
		}
	}
	*before = wrapped{e.text, columns, e.rowsFrom(start, columns, rows)}
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

func (e *editor) rowsFrom(start, columns int, rows []row) []row {
	used := 0
	for i := start; i < len(e.text); {
		if e.text[i] == '\n' {
			rows = append(rows, row{start, i})
			i++
			start, used = i, 0
			continue
		}
		cluster, width := ansi.FirstGraphemeCluster(e.text[i:], ansi.GraphemeWidth)
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
	return append(rows, row{start, len(e.text)})
}

// at returns the row and the column of the cursor.
func (e *editor) at(rows []row) (y, x int) {
	for y < len(rows)-1 && e.cursor >= rows[y+1].from {
		y++
	}
	return y, display.Width(display.Untab(e.text[rows[y].from:min(e.cursor, rows[y].to)], 0))
}

// vertical moves the cursor by n rows, down if n > 0. It returns false if that row
// does not exist.
func (e *editor) vertical(n, columns int) bool {
	rows := e.rows(columns)
	y, x := e.at(rows)
	if y+n < 0 || y+n >= len(rows) {
		return false
	}
	if !e.keep {
		e.column = x
	}
	target := rows[y+n]
	i, used := target.from, 0
	for i < target.to {
		next := e.next(i)
		width := display.Width(display.Untab(e.text[i:min(next, target.to)], used))
		if used+width > e.column {
			break
		}
		used, i = used+width, next
	}
	e.cursor, e.keep, e.changes.last = min(i, len(e.text)), true, other
	return true
}

// view returns at most most rows around the cursor, and the cursor's position in
// them.
func (e *editor) view(columns, most int) (lines []string, y, x int) {
	rows := e.rows(columns)
	y, x = e.at(rows)
	first := max(0, min(y-most/2, len(rows)-most))
	for _, r := range rows[first:min(first+most, len(rows))] {
		lines = append(lines, display.Untab(e.text[r.from:r.to], 0))
	}
	return lines, y - first, x
}

// maxRecalled is the length up to which a history entry is shown as text.
const maxRecalled = 20_000

// recall shows a history entry, as a placeholder if it is very long. Undo does not go
// back beyond it.
func (e *editor) recall(text string) {
	e.show(text)
	e.changes = changes{}
}

// show replaces the text, by a placeholder if it is very long.
func (e *editor) show(text string) {
	if len(text) > maxRecalled {
		text = e.placeholder(typed(text))
	}
	e.set(text)
}
