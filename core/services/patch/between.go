package patch

import (
	"time"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

const (
	// diffTime limits the search for a small difference. A result cut short is still correct, only
	// coarser.
	diffTime = 200 * time.Millisecond
	// diffLines limits the lines given to go-diff, which panics on more than about 1.1 million
	// different ones.
	diffLines = 1_000_000
)

// Between returns the change that turns oldText into newText, line by line, for display. It takes
// at most about 0.2 s; beyond that, or beyond a million lines, the result is coarse but correct.
func Between(oldText, newText string) *Change { return between(oldText, newText, diffTime) }

// between is Between with its own time limit; 0: none, which makes the result deterministic, and of
// a text in one segment the smallest.
func between(oldText, newText string, limit time.Duration) *Change {
	olds, news := splitLines(oldText), splitLines(newText)
	first := 0
	for first < min(len(olds), len(news)) && olds[first] == news[first] {
		first++
	}
	oldEnd, newEnd := len(olds), len(news)
	for oldEnd > first && newEnd > first && olds[oldEnd-1] == news[newEnd-1] {
		oldEnd--
		newEnd--
	}
	c := &Change{}
	if first < oldEnd || first < newEnd {
		edits := diffSegments(olds[first:oldEnd], news[first:newEnd], limit)
		for i := range edits {
			edits[i].start += first
			edits[i].end += first
		}
		c.fragments = fragments(olds, edits)
	}
	return c
}

// diffLinesOf returns the edits between two runs of different lines.
func diffLinesOf(olds, news []string, limit time.Duration) []edit {
	if len(olds) == 0 || len(news) == 0 || len(olds)+len(news) > diffLines {
		return []edit{{start: 0, end: len(olds), added: additions(news)}}
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = limit
	numbers := make(map[string]rune, len(olds))
	a, b := numbered(olds, numbers), numbered(news, numbers)
	var edits []edit
	oldAt, newAt := 0, 0
	for _, d := range dmp.DiffMainRunes(a, b, false) {
		n := utf8.RuneCountInString(d.Text) // a rune stands for a line
		if d.Type == diffmatchpatch.DiffEqual {
			oldAt += n
			newAt += n
			continue
		}
		if len(edits) == 0 || edits[len(edits)-1].end < oldAt {
			edits = append(edits, edit{start: oldAt, end: oldAt})
		}
		e := &edits[len(edits)-1]
		if d.Type == diffmatchpatch.DiffDelete {
			oldAt += n
			e.end = oldAt
		} else {
			e.added = append(e.added, additions(news[newAt:newAt+n])...)
			newAt += n
		}
	}
	return edits
}

// numbered returns lines as runes, one for each, equal ones for equal lines; new lines are added to
// numbers. go-diff's own version is much slower, because it joins and splits texts.
func numbered(lines []string, numbers map[string]rune) []rune {
	const surrogates = 0xE000 - 0xD800 // which a text cannot contain
	runes := make([]rune, len(lines))
	for i, line := range lines {
		r, ok := numbers[line]
		if !ok {
			if r = rune(len(numbers)) + 1; r >= 0xD800 {
				r += surrogates
			}
			numbers[line] = r
		}
		runes[i] = r
	}
	return runes
}

func additions(lines []string) []addition {
	if len(lines) == 0 {
		return nil
	}
	as := make([]addition, len(lines))
	for i, l := range lines {
		as[i].text = l
	}
	return as
}
