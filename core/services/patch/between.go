package patch

import (
	"strings"
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
	skipped, oldText, newText := differing(oldText, newText)
	c, ok := betweenParts(oldText, newText, limit)
	if !ok {
		c = betweenLines(splitLines(oldText), splitLines(newText), limit)
	}
	c.move(skipped, skipped)
	return c
}

// move adds numbers of lines to the positions of both sides.
func (c *Change) move(oldLines, newLines int) {
	for _, f := range c.fragments {
		f.OldPosition += int64(oldLines)
		f.NewPosition += int64(newLines)
	}
}

// betweenLines is between for texts as lines.
func betweenLines(olds, news []string, limit time.Duration) *Change {
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

// differing returns the lines of two texts from before their first difference to after their last
// one, with equal lines around them as context, and the number of lines before. A change of a few
// lines then costs two comparisons, and not the lines of both texts.
func differing(oldText, newText string) (skipped int, olds, news string) {
	at := prefix(oldText, newText)
	if at == len(oldText) && at == len(newText) {
		return 0, "", ""
	}
	end := suffix(oldText[at:], newText[at:])
	for range contextLines + 1 { // the first may be the rest of a line
		at = strings.LastIndexByte(oldText[:at], '\n') // before which both are equal
		if at < 0 {
			at = 0
			break
		}
	}
	if at > 0 {
		at++
	}
	tail := oldText[len(oldText)-end:]
	for range contextLines + 1 {
		i := strings.IndexByte(tail, '\n')
		if i < 0 {
			tail = ""
			break
		}
		tail = tail[i+1:]
	}
	return strings.Count(oldText[:at], "\n"), oldText[at : len(oldText)-len(tail)], newText[at : len(newText)-len(tail)]
}

// comparedAtOnce is the number of bytes that are compared by one comparison of strings.
const comparedAtOnce = 256

// prefix returns the length of the equal beginning of two texts.
func prefix(a, b string) int {
	n, most := 0, min(len(a), len(b))
	for n+comparedAtOnce <= most && a[n:n+comparedAtOnce] == b[n:n+comparedAtOnce] {
		n += comparedAtOnce
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

// suffix returns the length of the equal end of two texts.
func suffix(a, b string) int {
	n, most := 0, min(len(a), len(b))
	for n+comparedAtOnce <= most && a[len(a)-n-comparedAtOnce:len(a)-n] == b[len(b)-n-comparedAtOnce:len(b)-n] {
		n += comparedAtOnce
	}
	for n < most && a[len(a)-n-1] == b[len(b)-n-1] {
		n++
	}
	return n
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
