package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Limits of the changes and deleted texts that an editor keeps.
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
func (e *editor) undo() bool {
	n := len(e.changes.made)
	if n == 0 {
		return false
	}
	c := e.changes.made[n-1]
	e.changes.made, e.changes.undone = e.changes.made[:n-1], append(e.changes.undone, c)
	e.changes.bytes -= len(c.removed) + len(c.inserted)
	e.text = e.text[:c.at] + c.removed + e.text[c.at+len(c.inserted):]
	e.move(c.before)
	return true
}

// redo repeats the change that was undone last. It returns false if there is none.
func (e *editor) redo() bool {
	n := len(e.changes.undone)
	if n == 0 {
		return false
	}
	c := e.changes.undone[n-1]
	e.changes.undone, e.changes.made = e.changes.undone[:n-1], append(e.changes.made, c)
	e.changes.bytes += len(c.removed) + len(c.inserted)
	e.text = e.text[:c.at] + c.inserted + e.text[c.at+len(c.removed):]
	e.move(c.at + len(c.inserted))
	return true
}

// kills are the deleted texts of an editor, the last one at the end.
type kills struct {
	texts    []string
	at       int // index of the text that was inserted last
	from, to int // the inserted text, as bytes
}

// kill deletes the text between the cursor and i, and keeps it for yank. Texts that are
// deleted one after the other are kept as one.
func (e *editor) kill(i int) {
	from, to := min(i, e.cursor), max(i, e.cursor)
	if from == to {
		return
	}
	text, again, forward := e.text[from:to], e.changes.last == killing, i > e.cursor
	e.change(from, to, "", killing)
	k := &e.kills
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
func (e *editor) yank() {
	if n := len(e.kills.texts); n > 0 {
		e.yankAt(n-1, e.cursor, e.cursor)
	}
}

// yankOlder replaces text just inserted by yank by the text that was deleted before it.
func (e *editor) yankOlder() {
	k := &e.kills
	if n := len(k.texts); n > 0 && e.changes.last == yanking && k.to <= len(e.text) {
		e.yankAt((k.at+n-1)%n, k.from, k.to)
	}
}

func (e *editor) yankAt(i, from, to int) {
	e.change(from, to, e.kills.texts[i], yanking)
	e.kills.at, e.kills.from, e.kills.to = i, from, e.cursor
}

// keptPastes returns the pastes of the placeholders in deleted texts.
func (e *editor) keptPastes() map[string]string {
	kept := map[string]string{}
	for label, content := range e.pastes {
		for _, text := range e.kills.texts {
			if strings.Contains(text, label) {
				kept[label] = content
			}
		}
	}
	return kept
}

// transpose exchanges the characters before and after the cursor, at the end of a line
// the last two.
func (e *editor) transpose() {
	at := e.cursor
	if at == e.lineEnd(at) {
		at = e.previous(at)
	}
	start := e.lineStart(e.cursor)
	if at <= start {
		return
	}
	from, to := e.previous(at), e.next(at)
	e.change(from, to, e.text[at:to]+e.text[from:at], other)
}

// kindOf returns the kind of an insertion: a single character is typed.
func kindOf(text string) kind {
	if cluster, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth); cluster == text && text != "" {
		return typing
	}
	return other
}
