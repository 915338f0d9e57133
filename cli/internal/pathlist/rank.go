package pathlist

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sahilm/fuzzy"
)

// Names are names prepared for [Names.Rank]. They are immutable.
type Names struct {
	names  []string
	folded []string // in lower case; shared with names where equal
	masks  []uint64 // the characters of each
}

// NewNames prepares names. It keeps the slice.
func NewNames(names []string) *Names {
	n := &Names{names: names, folded: make([]string, len(names)), masks: make([]uint64, len(names))}
	for i, name := range names {
		n.folded[i] = strings.ToLower(name)
		if len(n.folded[i]) != len(name) { // positions would differ
			n.folded[i] = name
		}
		n.masks[i] = mask(n.folded[i])
	}
	return n
}

// Name returns the name at an index.
func (n *Names) Name(i int) string { return n.names[i] }

// Ranked is a matching name.
type Ranked struct {
	Index int   // of the name
	At    []int // the matching bytes, in order
}

// How a name matches, the best first.
const (
	whole      = iota // the base name, with or without its extension
	prefix            // the beginning of the base name
	wordStart         // the beginning of a word of the base name
	inBase            // within the base name
	pathStart         // the beginning of the path, or of a part of it
	inPath            // within the path
	scattered         // letters of the base name, in order
	throughout        // letters of the path, in order
	none
)

// candidate is a name with the qualities that order it.
type candidate struct {
	index, class, score int
	at                  int // of a contiguous match
}

// maxScored limits the names with scattered letters that are scored. Beyond it, those
// that come first count.
const maxScored = 20_000

// Rank returns the names that have the typed letters in order, at most most, the best
// first: those with the text in their base name, then in their path, then those with
// scattered letters; among equals the shorter. Case does not matter. No letters match
// every name.
func (n *Names) Rank(typed string, most int) []Ranked {
	typed = strings.ToLower(typed)
	wanted := mask(typed)
	var close, far []candidate
	for i, name := range n.folded {
		if n.masks[i]&wanted != wanted {
			continue
		}
		switch class, at := classOf(name, typed); {
		case class == none:
		case class < scattered:
			close = append(close, candidate{index: i, class: class, at: at})
		case len(far) < maxScored:
			far = append(far, candidate{index: i, class: class, at: -1})
		}
	}
	n.sort(close)
	close = close[:min(len(close), most)]
	if room := most - len(close); room > 0 && len(far) > 0 {
		for i := range far {
			far[i].score = n.score(far[i], typed)
		}
		n.sort(far)
		close = append(close, far[:min(len(far), room)]...)
	}
	found := make([]Ranked, len(close))
	for i, c := range close {
		found[i] = Ranked{c.index, n.positions(c, typed)}
	}
	return found
}

func (n *Names) sort(all []candidate) {
	slices.SortFunc(all, func(a, b candidate) int {
		x, y := n.names[a.index], n.names[b.index]
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(b.score, a.score), cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	})
}

// classOf returns how a name matches, and where if the text is contiguous in it.
func classOf(name, typed string) (class, at int) {
	from := baseOf(name)
	base := strings.TrimSuffix(name[from:], "/")
	switch i := strings.Index(base, typed); {
	case i == 0 && (base == typed || extension(base) == len(typed)):
		return whole, from
	case i == 0:
		return prefix, from
	case i > 0 && startsWord(base, i):
		return wordStart, from + i
	case i > 0:
		return inBase, from + i
	}
	if i := strings.LastIndex(name, typed); i >= 0 {
		if startsWord(name, i) {
			return pathStart, i
		}
		return inPath, i
	}
	switch {
	case inOrder(base, typed):
		return scattered, 0
	case inOrder(name, typed):
		return throughout, 0
	}
	return none, 0
}

// baseOf returns the start of the last element of a path.
func baseOf(name string) int {
	return strings.LastIndexByte(strings.TrimSuffix(name, "/"), '/') + 1
}

// extension returns the start of the extension of a base name.
func extension(base string) int {
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		return i
	}
	return len(base)
}

// startsWord reports whether the byte at i begins a word.
func startsWord(text string, i int) bool {
	return i == 0 || strings.IndexByte("/._- :", text[i-1]) >= 0
}

// inOrder reports whether text has the bytes of typed, in order.
func inOrder(text, typed string) bool {
	for i := range len(typed) {
		at := strings.IndexByte(text, typed[i])
		if at < 0 {
			return false
		}
		text = text[at+1:]
	}
	return true
}

// part returns the part of a name that scattered letters are looked for in, and its
// start.
func (n *Names) part(c candidate) (text string, from int) {
	if name := n.names[c.index]; c.class == scattered {
		from = baseOf(name)
	}
	return n.names[c.index][from:], from
}

func (n *Names) score(c candidate, typed string) int {
	part, _ := n.part(c)
	if m := fuzzy.FindNoSort(typed, []string{part}); len(m) == 1 {
		return m[0].Score
	}
	return -1 << 20
}

// positions returns the matching bytes of a name.
func (n *Names) positions(c candidate, typed string) (at []int) {
	if c.at >= 0 {
		for i := range len(typed) {
			at = append(at, c.at+i)
		}
		return at
	}
	part, from := n.part(c)
	for _, m := range fuzzy.FindNoSort(typed, []string{part}) {
		for _, i := range m.MatchedIndexes {
			at = append(at, from+i)
		}
	}
	return at
}

// mask returns a set of the bytes of a text, in which several bytes share a bit.
func mask(text string) (set uint64) {
	for i := range len(text) {
		set |= 1 << (text[i] & 63)
	}
	return set
}
