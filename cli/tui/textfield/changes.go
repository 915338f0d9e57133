package textfield

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Limits of the changes and deleted texts that a field keeps.
const (
	maxChanges     = 1000
	maxChangeBytes = 16 << 20
	maxKills       = 20
)

// change is a replacement of a part of the text, which can be undone.
type change struct {
	at                int // byte offset
	removed, inserted string
	before            int // the cursor before the change
}

// kind is the kind of the last action, by which similar ones are joined.
type kind byte

// The kinds of actions that are joined, or follow one another.
const (
	other   kind = iota
	typing       // text was typed
	erasing      // a character before the cursor was deleted
	killing      // text was deleted that can be inserted again
	yanking      // such text was inserted
)

// changes are the changes of a text: those made, and those undone, the last one at the
// end. The zero value has none.
type changes struct {
	made, undone []change
	bytes        int  // of the changes made
	last         kind // of the last action
}

// note records a change. Typed characters of a word, and single deletions, are one
// change.
func (c *changes) note(next change, k kind) {
	before := c.last
	c.last, c.undone = k, nil
	c.bytes += len(next.removed) + len(next.inserted)
	if n := len(c.made); n > 0 && before == k {
		last := &c.made[n-1]
		switch {
		case k == typing && next.removed == "" && last.at+len(last.inserted) == next.at && !newWord(last.inserted, next.inserted):
			last.inserted += next.inserted
			return
		case k == erasing && next.inserted == "" && last.inserted == "" && next.at+len(next.removed) == last.at:
			last.removed, last.at = next.removed+last.removed, next.at
			return
		}
	}
	c.made = append(c.made, next)
	for len(c.made) > maxChanges || c.bytes > maxChangeBytes && len(c.made) > 1 {
		c.bytes -= len(c.made[0].removed) + len(c.made[0].inserted)
		c.made = c.made[1:]
	}
}

// newWord reports whether typed text begins another change: a new line, or a word after
// a space.
func newWord(before, typed string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(typed)
	return first == '\n' || last == '\n' || unicode.IsSpace(last) && !unicode.IsSpace(first)
}

// undo undoes the last change. It returns false if there is none.
func (m *Model) undo() bool {
	n := len(m.changes.made)
	if n == 0 {
		return false
	}
	c := m.changes.made[n-1]
	m.changes.made, m.changes.undone = m.changes.made[:n-1], append(m.changes.undone, c)
	m.changes.bytes -= len(c.removed) + len(c.inserted)
	m.text = m.text[:c.at] + c.removed + m.text[c.at+len(c.inserted):]
	m.move(c.before)
	return true
}

// redo repeats the change that was undone last. It returns false if there is none.
func (m *Model) redo() bool {
	n := len(m.changes.undone)
	if n == 0 {
		return false
	}
	c := m.changes.undone[n-1]
	m.changes.undone, m.changes.made = m.changes.undone[:n-1], append(m.changes.made, c)
	m.changes.bytes += len(c.removed) + len(c.inserted)
	m.text = m.text[:c.at] + c.inserted + m.text[c.at+len(c.removed):]
	m.move(c.at + len(c.inserted))
	return true
}

// kills are the deleted texts of a field, the last one at the end.
type kills struct {
	texts    []string
	at       int // index of the text that was inserted last
	from, to int // the inserted text, as bytes
}

// kill deletes the text between the cursor and i, and keeps it for yank. Texts that are
// deleted one after the other are kept as one.
func (m *Model) kill(i int) {
	from, to := min(i, m.cursor), max(i, m.cursor)
	if from == to {
		return
	}
	text, again, forward := m.text[from:to], m.changes.last == killing, i > m.cursor
	m.change(from, to, "", killing)
	k := &m.kills
	last := len(k.texts) - 1
	switch {
	case again && last >= 0 && forward:
		k.texts[last] += text
	case again && last >= 0:
		k.texts[last] = text + k.texts[last]
	default:
		k.texts = append(k.texts, text)
		k.texts = k.texts[max(len(k.texts)-maxKills, 0):]
	}
}

// yank inserts the text that was deleted last.
func (m *Model) yank() {
	if n := len(m.kills.texts); n > 0 {
		m.yankAt(n-1, m.cursor, m.cursor)
	}
}

// yankOlder replaces text just inserted by yank by the text that was deleted before it.
func (m *Model) yankOlder() {
	k := &m.kills
	if n := len(k.texts); n > 0 && m.changes.last == yanking && k.to <= len(m.text) {
		m.yankAt((k.at+n-1)%n, k.from, k.to)
	}
}

func (m *Model) yankAt(i, from, to int) {
	m.change(from, to, m.kills.texts[i], yanking)
	m.kills.at, m.kills.from, m.kills.to = i, from, m.cursor
}

// keptPastes returns the pastes of the placeholders in deleted texts.
func (m *Model) keptPastes() map[string]string {
	kept := map[string]string{}
	for label, content := range m.pastes {
		for _, text := range m.kills.texts {
			if strings.Contains(text, label) {
				kept[label] = content
			}
		}
	}
	return kept
}

// transpose exchanges the characters before and after the cursor, at the end of a line
// the last two.
func (m *Model) transpose() {
	at := m.cursor
	if at == m.lineEnd(at) {
		at = m.previous(at)
	}
	start := m.lineStart(m.cursor)
	if at <= start {
		return
	}
	from, to := m.previous(at), m.next(at)
	m.change(from, to, m.text[at:to]+m.text[from:at], other)
}

// kindOf returns the kind of an insertion: a single character is typed.
func kindOf(text string) kind {
	if cluster, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth); cluster == text && text != "" {
		return typing
	}
	return other
}
