package rebase_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/rebase"
)

// place is a change of lines [from, to) of a base. The reference of these tests is built from places
// and shares no code with the package.
type place struct {
	from, to int
	lines    []string
}

// meets reports whether two places overlap or touch.
func (p place) meets(q place) bool { return p.from <= q.to && q.from <= p.to }

func anyMeets(a, b []place) bool {
	return slices.ContainsFunc(a, func(p place) bool { return slices.ContainsFunc(b, p.meets) })
}

// made returns the lines that places, which must not overlap, make of base.
func made(base []string, places ...place) []string {
	places = slices.Clone(places)
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	var out []string
	at := 0
	for _, p := range places {
		out = append(append(out, base[at:p.from]...), p.lines...)
		at = p.to
	}
	return append(out, base[at:]...)
}

func referenceLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	return lines[:len(lines)-1+min(1, len(lines[len(lines)-1]))]
}

// difference returns the places of a smallest difference between texts, found with a complete table.
// late selects another smallest one if there are several.
func difference(base, changed []string, late bool) []place {
	n, m := len(base), len(changed)
	most := make([][]int, n+1) // lines in common of base[i:] and changed[k:]
	most[n] = make([]int, m+1)
	for i := n - 1; i >= 0; i-- {
		most[i] = make([]int, m+1)
		for k := m - 1; k >= 0; k-- {
			if most[i][k] = max(most[i+1][k], most[i][k+1]); base[i] == changed[k] {
				most[i][k] = max(most[i][k], most[i+1][k+1]+1)
			}
		}
	}
	var places []place
	open := false
	for i, k := 0, 0; i < n || k < m; {
		same := i < n && k < m && base[i] == changed[k] && most[i][k] == most[i+1][k+1]+1
		removable := i < n && most[i+1][k] == most[i][k]
		addable := k < m && most[i][k+1] == most[i][k]
		if same && (!late || !removable && !addable) {
			i, k, open = i+1, k+1, false
			continue
		}
		if !open {
			places = append(places, place{from: i, to: i})
			open = true
		}
		p := &places[len(places)-1]
		if removable {
			i++
			p.to = i
		} else {
			p.lines = append(p.lines, changed[k])
			k++
		}
	}
	return places
}

// reference merges two changes of base by smallest differences. Places of different sides that meet
// are a conflict.
func reference(base, ours, theirs string, late [2]bool) (merged string, ok bool) {
	lines := referenceLines(base)
	mine := difference(lines, referenceLines(ours), late[0])
	other := difference(lines, referenceLines(theirs), late[1])
	if anyMeets(mine, other) {
		return "", false
	}
	return strings.Join(made(lines, append(mine, other...)...), ""), true
}

// generated is a base with a change of each of two sides.
type generated struct {
	base, ours, theirs string
	both               string // the base with the changes of both sides, if known
	known              bool   // their places do not meet
	conflict           bool   // they insert at one place, or one side changes the byte-order mark or the end
	shapes             []string
}

type generator struct{ *rand.Rand }

// line returns a new line, often one that occurs elsewhere too.
func (g generator) line(ending string) string {
	words := []string{"{", "}", "", "\treturn", "a", "b"}
	if g.IntN(3) > 0 {
		return fmt.Sprintf("line %d", g.IntN(1_000_000)) + ending
	}
	return words[g.IntN(len(words))] + ending
}

// side returns up to three places of changes of base, and the name of a shape.
func (g generator) side(base []string, ending string) (places []place, shape string) {
	n := len(base)
	block := func(most int) []string {
		var lines []string
		for range 1 + g.IntN(most) {
			lines = append(lines, g.line(ending))
		}
		return lines
	}
	shape = "none"
	switch g.IntN(8) {
	case 0:
		shape = "both ends"
		places = []place{{0, min(1, n), block(2)}, {n, n, block(2)}}
	case 1: // a block that is removed here and inserted there
		if n < 4 {
			break
		}
		shape = "moved"
		from := g.IntN(n - 2)
		to := from + 1 + g.IntN(min(4, n-from-1))
		at := g.IntN(n + 1)
		if at < from || at > to {
			places = []place{{from, to, nil}, {at, at, slices.Clone(base[from:to])}}
		}
	case 2: // a block that is inserted after its original
		if n < 2 {
			break
		}
		shape = "repeated"
		from := g.IntN(n - 1)
		to := from + 1 + g.IntN(min(4, n-from-1))
		places = []place{{to, to, slices.Clone(base[from:to])}}
	case 3:
		if n == 0 {
			break
		}
		shape = "line ending"
		at := g.IntN(n)
		line := strings.TrimRight(base[at], "\r\n")
		if line+"\n" == base[at] {
			places = []place{{at, at + 1, []string{line + "\r\n"}}}
		} else if line+"\r\n" == base[at] {
			places = []place{{at, at + 1, []string{line + "\n"}}}
		}
	default:
		shape = "edits"
		for range 1 + g.IntN(3) {
			from := g.IntN(n + 1)
			p := place{from: from, to: from + g.IntN(min(3, n-from)+1)}
			if p.from == p.to || g.IntN(3) > 0 {
				p.lines = block(3)
			}
			if !anyMeets(places, []place{p}) {
				places = append(places, p)
			}
		}
	}
	return places, shape
}

// whole reports whether each line but the last has an ending.
func whole(lines []string) bool {
	for i, l := range lines {
		if i < len(lines)-1 && !strings.HasSuffix(l, "\n") || l == "" {
			return false
		}
	}
	return true
}

func (g generator) triple() generated {
	ending := "\n"
	var t generated
	if g.IntN(4) == 0 {
		ending = "\r\n"
		t.shapes = append(t.shapes, "CRLF")
	}
	var base []string
	for range g.IntN(50) {
		base = append(base, g.line(ending))
	}
	if len(base) == 0 {
		t.shapes = append(t.shapes, "empty")
	} else if g.IntN(5) == 0 {
		base[len(base)-1] = "last"
		t.shapes = append(t.shapes, "no final newline")
	}
	ours, shapeOfOurs := g.side(base, ending)
	theirs, shapeOfTheirs := g.side(base, ending)
	if g.IntN(10) == 0 {
		at := g.IntN(len(base) + 1)
		ours, theirs = []place{{at, at, []string{g.line(ending)}}}, []place{{at, at, []string{g.line(ending)}}}
		shapeOfOurs, shapeOfTheirs, t.conflict = "insertions", "insertions", true
	}
	t.shapes = append(t.shapes, shapeOfOurs, shapeOfTheirs)
	t.base = strings.Join(base, "")
	t.ours = strings.Join(made(base, ours...), "")
	t.theirs = strings.Join(made(base, theirs...), "")
	if t.known = !anyMeets(ours, theirs); t.known {
		both := made(base, append(slices.Clone(ours), theirs...)...)
		t.both = strings.Join(both, "")
		t.known = whole(both) && whole(made(base, ours...)) && whole(made(base, theirs...))
	}
	if g.IntN(6) == 0 {
		const mark = "\ufeff"
		t.shapes = append(t.shapes, "byte-order mark")
		t.base, t.ours, t.theirs, t.both = mark+t.base, mark+t.ours, mark+t.theirs, mark+t.both
		if g.IntN(10) == 0 {
			t.conflict = true
			t.theirs = strings.TrimPrefix(t.theirs, mark)
		}
	}
	if g.IntN(20) == 0 && strings.HasSuffix(t.base, "\n") && strings.HasSuffix(t.ours, "\n") {
		t.conflict = true
		t.ours = strings.TrimRight(t.ours, "\r\n")
	}
	return t
}

// ST-09: a generated triple gives the bytes of a reference merge and of the generator, or a conflict.
func TestCarryEqualsAReference(t *testing.T) {
	t.Parallel()
	count := 4_000
	if os.Getenv("FETTLE_FULL") != "" {
		count = 200_000
	}
	g := generator{rand.New(rand.NewPCG(5, 6))}
	carried, known := map[string]int{}, 0
	for range count {
		s := g.triple()
		result, conflict := rebase.Carry(s.base, s.ours, s.theirs)
		if conflict != nil {
			require.Empty(t, result)
			require.NotEmpty(t, conflict.Reason)
			carried["conflict"]++
			continue
		}
		if s.ours == s.base || s.theirs == s.base {
			changed := s.theirs
			if changed == s.base {
				changed = s.ours
			}
			require.Equal(t, changed, result)
			carried["one side only"]++
			continue
		}
		carried["carried over"]++
		for _, shape := range s.shapes {
			carried[shape]++
		}
		require.False(t, s.conflict, "%q\n%q\n%q", s.base, s.ours, s.theirs)
		agree := 0
		for _, late := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
			if merged, ok := reference(s.base, s.ours, s.theirs, late); ok {
				require.Equal(t, merged, result, "%q\n%q\n%q", s.base, s.ours, s.theirs)
				agree++
			}
		}
		require.NotZero(t, agree, "the reference has a conflict: %q\n%q\n%q", s.base, s.ours, s.theirs)
		if s.known {
			known++
			require.Equal(t, s.both, result, "%q\n%q\n%q", s.base, s.ours, s.theirs)
		}
		mirrored, conflict := rebase.Carry(s.base, s.theirs, s.ours)
		require.Nil(t, conflict)
		require.Equal(t, result, mirrored)
	}
	t.Logf("%d triples: %v; %d compared with the generator", count, carried, known)
	for _, shape := range []string{"CRLF", "no final newline", "byte-order mark", "both ends", "moved", "repeated", "line ending", "edits"} {
		require.Greater(t, carried[shape], count/200, shape)
	}
}
