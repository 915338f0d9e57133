package patch

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
)

// appends reports whether h adds lines at the end of the file and has no old line.
func (h *hunk) appends() bool { return h.atEnd && len(h.anchors) == 0 && h.oldLines() == 0 }

// narrow drops the places of each hunk that its anchors and its mark for the end of the file exclude. It
// fails if none is left.
func (l *locator) narrow() error {
	for i := range l.hunks {
		h, c := &l.hunks[i], &l.found[i]
		if h.appends() || l.inert[i] {
			continue
		}
		if h.atEnd {
			if err := l.narrowToEnd(h, c); err != nil {
				return err
			}
		}
		if len(h.anchors) > 0 {
			if err := l.narrowToAnchors(h, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// narrowToEnd keeps the place of h at the end of the file. Empty lines after the hunk may be the
// last ones of the file.
func (l *locator) narrowToEnd(h *hunk, c *candidates) error {
	for k := range c.olds {
		rest := l.base[c.spot(k).line(h.oldLines()-1)+1:]
		if len(rest) <= h.tail && !slices.ContainsFunc(rest, func(s string) bool { return !isBlank(s) }) {
			c.keep(k, k+1)
			return nil
		}
	}
	return invalid("patch.correct", "Leave out `*** End of File`, or add the unchanged lines up to the end of the file.",
		"Hunk %d marks the end of the file, but its lines are at line %s, where the file continues.", h.number, lineList(c.olds))
}

// narrowToAnchors keeps the places of h in the block of its last anchor. A hunk that begins with the
// anchor's line is in its block.
func (l *locator) narrowToAnchors(h *hunk, c *candidates) error {
	block := window{0, len(l.base)}
	at := -1
	for _, text := range h.anchors {
		places, err := l.anchorPlaces(h, text)
		if err != nil {
			return err
		}
		low, high, ok := within(places, block, at+1)
		if !ok {
			return invalid("patch.correct", "Write the anchors in the order of the file, the outer block first, or leave them out.",
				"The anchor %s of hunk %d is at line %s, not below the previous anchor, line %d.", excerpt(text), h.number, lineList(places), at+1)
		}
		if high-low > 1 {
			return ambiguousAnchor(h, text, places[low:high])
		}
		at = int(places[low])
		block = window{at, blockEnd(l.base, at)}
	}
	low, high, ok := within(c.olds, block, at)
	if !ok {
		e := invalid("patch.correct", "Name the line above the change as the anchor, and copy context and removed lines from the file.",
			"Hunk %d fits at line %s, but not below its anchor, line %d.", h.number, lineList(c.olds), at+1)
		if len(c.olds) > 1 {
			e.Code = fault.AmbiguousDiff
		}
		return e
	}
	c.keep(low, high)
	return nil
}

// within returns the range of places, which are ascending, that lie in block. Without one it returns
// the only place, if it is not before line least. ok is false if there is neither.
func within(places []int32, block window, least int) (low, high int, ok bool) {
	least = max(least, block.low)
	low = sort.Search(len(places), func(k int) bool { return int(places[k]) >= least })
	high = sort.Search(len(places), func(k int) bool { return int(places[k]) >= block.high })
	if low < high {
		return low, high, true
	}
	return 0, 1, len(places) == 1 && int(places[0]) >= least
}

// anchorPlaces returns the lines of the base that the anchor text names: those that equal it without
// outer white space; without any, those that begin with it. If one of several also has its
// indentation, the others do not count, unless the anchor has none.
func (l *locator) anchorPlaces(h *hunk, text string) ([]int32, error) {
	want := trimmed(text)
	var equal, begin []int32
	for at, line := range l.base {
		rest, ok := strings.CutPrefix(trimmed(content(line)), want)
		switch {
		case !ok:
		case rest == "":
			equal = append(equal, int32(at))
		case endsWord(want, rest):
			begin = append(begin, int32(at))
		}
	}
	places := equal
	if len(places) == 0 {
		places = begin
	}
	if len(places) == 0 {
		return nil, h.anchorAbsent(text)
	}
	if indent := indentOf(text); indent != "" {
		same := slices.DeleteFunc(slices.Clone(places), func(at int32) bool { return indentOf(content(l.base[at])) != indent })
		if len(same) > 0 {
			places = same
		}
	}
	return places, nil
}

// endsWord reports whether the last word of text does not continue in rest.
func endsWord(text, rest string) bool {
	word := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	last, _ := utf8.DecodeLastRuneInString(text)
	next, _ := utf8.DecodeRuneInString(rest)
	return !word(last) || !word(next)
}

// blockEnd returns the end of the block that line at begins: the first line that is not indented deeper
// than it. Lines of brackets on the level of line at belong to the block. It is the end of the base
// if the next line is not indented deeper.
func blockEnd(base []string, at int) int {
	own := indentOf(content(base[at]))
	inside := false
	for i := at + 1; i < len(base); i++ {
		s := strings.TrimRight(content(base[i]), whiteSpace)
		indent := indentOf(s)
		switch rest := s[len(indent):]; {
		case rest == "":
		case len(indent) > len(own) && strings.HasPrefix(indent, own):
			inside = true
		case !inside && opens(rest):
		case inside && indent == own && strings.ContainsAny(rest[:1], ")]}"):
			if !strings.ContainsAny(rest[len(rest)-1:], "{([:") {
				return i + 1
			}
		case inside:
			return i
		default:
			return len(base)
		}
	}
	return len(base)
}

// anchorAbsent refuses h, whose anchor is not in the file.
func (h *hunk) anchorAbsent(text string) *fault.Error {
	return invalid("patch.correct", "Copy the anchor from the file, as one whole line, or leave it out.",
		"The anchor %s of hunk %d does not occur in the file.", excerpt(text), h.number)
}

// ambiguousAnchor refuses h, whose anchor has several places.
func ambiguousAnchor(h *hunk, text string, places []int32) *fault.Error {
	e := invalid("patch.correct", "Write an anchor that occurs only once, or above it, as another `@@` line, the first line of the block around it.",
		"The anchor %s of hunk %d is ambiguous: it occurs at %d places, lines %s.", excerpt(text), h.number, len(places), lineList(places))
	e.Code = fault.AmbiguousDiff
	return e
}
