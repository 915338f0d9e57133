package patch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"golang.org/x/text/unicode/norm"
)

// A mistake is one way in which models write incorrect diffs. make returns the diff with the
// mistake, and false if it does not apply to this one.
type mistake struct {
	name string
	safe bool // applies nearly always if every hunk's place is unique
	make func(r *rand.Rand, s *scenario, d draft) (draft, bool)
}

func headers(text string) func(*rand.Rand, *scenario, draft) (draft, bool) {
	return func(_ *rand.Rand, _ *scenario, d draft) (draft, bool) {
		for i := range d.hunks {
			h := &d.hunks[i]
			if text == "@@ -1,1 +1,1 @@" && len(h.lines) == 2 && h.oldCount == 1 && h.at != 0 && slices.Contains(h.places, 0) {
				return d, false // exact at the stated line: a correct diff of a different edit
			}
			h.header = text
		}
		return d, d.meant()
	}
}

// meant reports whether the order of the hunks and that of their numbers are plausible: one of them
// is that of the file, or each hunk fits in one place. In any other diff the order points to a
// different edit.
func (d draft) meant() bool {
	inOrder, byNumber, several := true, true, false
	for i, h := range d.hunks {
		several = several || len(h.places) > 1
		byNumber = byNumber && h.header == ""
		for _, before := range d.hunks[:i] {
			inOrder = inOrder && before.at < h.at
			byNumber = byNumber && before.oldStart != h.oldStart && (before.at < h.at) == (before.oldStart < h.oldStart)
		}
	}
	return inOrder || byNumber || !several
}

// eachLine edits lines of the hunks; f reports whether it changed the line.
func eachLine(d draft, f func(*line) bool) (draft, bool) {
	done := false
	for i := range d.hunks {
		for j := range d.hunks[i].lines {
			done = f(&d.hunks[i].lines[j]) || done
		}
	}
	return d, done
}

// throughout edits all lines of the hunks, including the added ones. It does not apply to a hunk in
// which it changes added lines but no old line with text: that is a different text, not a mistake
// about the file.
func throughout(d draft, f func(string) string) (draft, bool) {
	done := false
	for i := range d.hunks {
		olds, news := false, false
		for j := range d.hunks[i].lines {
			l := &d.hunks[i].lines[j]
			changed := setText(l, f(l.text))
			olds = olds || changed && l.old() && !isBlank(l.text)
			news = news || changed && !l.old()
		}
		if news && !olds {
			return d, false
		}
		done = done || olds
	}
	return d, done
}

func setText(l *line, text string) bool {
	changed := l.text != text
	l.text = text
	return changed
}

var mistakes = []mistake{
	{"none", true, func(_ *rand.Rand, _ *scenario, d draft) (draft, bool) { return d, true }},
	{"numbers shifted together", true, func(r *rand.Rand, _ *scenario, d draft) (draft, bool) {
		by := 1 + r.IntN(60)
		if r.IntN(2) == 0 {
			by = -by
		}
		return shift(d, func() int { return by })
	}},
	{"numbers shifted each", true, func(r *rand.Rand, _ *scenario, d draft) (draft, bool) {
		return shift(d, func() int { return r.IntN(81) - 40 })
	}},
	{"counts wrong", true, func(r *rand.Rand, _ *scenario, d draft) (draft, bool) {
		for i := range d.hunks {
			d.hunks[i].oldCount = max(0, d.hunks[i].oldCount+r.IntN(9)-4)
			d.hunks[i].newCount = max(0, d.hunks[i].newCount+r.IntN(9)-4)
		}
		return d, true
	}},
	{"@@ -1,1 +1,1 @@ throughout", true, headers("@@ -1,1 +1,1 @@")},
	{"bare @@", true, headers("@@")},
	{"@@ ... @@", true, headers("@@ ... @@")},
	{"section heading alone", true, headers("@@ func main() {")},
	{"no file header", true, func(_ *rand.Rand, _ *scenario, d draft) (draft, bool) {
		d.names = nil
		return d, true
	}},
	{"wrong names", true, func(r *rand.Rand, _ *scenario, d draft) (draft, bool) {
		d.names = [][]string{
			{"--- other.txt", "+++ other.txt"},
			{"--- a/x.go\t2024-01-01 10:00:00.000000000 +0000", "+++ b/x.go\t2024-01-01 10:00:01.000000000 +0000"},
			{"diff --git a/x.go b/x.go", "index 0123456..789abcd 100644", "--- a/x.go", "+++ b/x.go"},
			{"--- old", "+++ new"},
		}[r.IntN(4)]
		return d, true
	}},
	{"fence and prose", true, func(r *rand.Rand, _ *scenario, d draft) (draft, bool) {
		d.preamble = [][]string{
			{"Here is the patch:", "", "```diff"},
			{"```"},
			{"I changed two things.", "- the first", "- the second", "", "~~~~ patch"},
		}[r.IntN(3)]
		fence := fenceOf(d.preamble[len(d.preamble)-1])
		d.epilogue = [][]string{
			{fence},
			{fence, "", "This should do."},
			{fence, "", "- It compiles.", "- It is tested."},
		}[r.IntN(3)]
		return d, true
	}},
	{"prose without fence", true, func(_ *rand.Rand, _ *scenario, d draft) (draft, bool) {
		d.preamble = []string{"The patch:", ""}
		d.epilogue = []string{"", "This should do."}
		return d, true
	}},
	{"diff in CR LF", true, func(_ *rand.Rand, s *scenario, d draft) (draft, bool) {
		d.crlf = true
		return d, !s.endings
	}},
	{"diff in LF", true, func(_ *rand.Rand, s *scenario, d draft) (draft, bool) {
		if s.endings {
			return d, false
		}
		return eachLine(d, func(l *line) bool {
			had := l.cr > 0
			l.cr = 0
			return had
		})
	}},
	{"empty context without blank", true, func(_ *rand.Rand, _ *scenario, d draft) (draft, bool) {
		done := false
		for i := range d.hunks {
			d.hunks[i].blankStripped = true
			done = done || slices.ContainsFunc(d.hunks[i].lines, func(l line) bool { return l.op == gitdiff.OpContext && l.text == "" })
		}
		return d, done
	}},
	{"trailing blanks stripped", false, func(r *rand.Rand, _ *scenario, d draft) (draft, bool) {
		return eachLine(d, func(l *line) bool {
			return l.op != gitdiff.OpAdd && r.IntN(4) > 0 && setText(l, strings.TrimRight(l.text, " \t"))
		})
	}},
	{"tabs turned to blanks", false, func(r *rand.Rand, _ *scenario, d draft) (draft, bool) {
		blanks := []string{"  ", "    ", "        "}[r.IntN(3)]
		return eachLine(d, func(l *line) bool {
			indent := indentOf(l.text)
			return l.op != gitdiff.OpAdd && setText(l, strings.ReplaceAll(indent, "\t", blanks)+l.text[len(indent):])
		})
	}},
	{"tabs turned to blanks throughout", false, func(_ *rand.Rand, _ *scenario, d draft) (draft, bool) {
		return throughout(d, func(text string) string {
			indent := indentOf(text)
			return strings.ReplaceAll(indent, "\t", "    ") + text[len(indent):]
		})
	}},
	{"blanks turned to tabs", false, func(_ *rand.Rand, _ *scenario, d draft) (draft, bool) {
		return throughout(d, func(text string) string {
			indent := indentOf(text)
			return strings.ReplaceAll(indent, "    ", "\t") + text[len(indent):]
		})
	}},
	{"look-alikes in old lines", false, func(_ *rand.Rand, _ *scenario, d draft) (draft, bool) {
		return eachLine(d, func(l *line) bool { return l.op != gitdiff.OpAdd && setText(l, plain(l.text)) })
	}},
	{"look-alikes throughout", false, func(_ *rand.Rand, s *scenario, d draft) (draft, bool) {
		for _, h := range d.hunks {
			for _, l := range h.lines {
				if l.op == gitdiff.OpAdd && strings.Contains(l.text, "\u00a0") {
					return d, false // spaces are in every line: it is unknown which of them are wrong
				}
				known := func(r rune) bool { return strings.ContainsRune(s.text(), r) }
				if l.op == gitdiff.OpAdd && plain(l.text) != l.text && !strings.ContainsFunc(plainable(l.text), known) {
					return d, false // nothing in the file shows that they are wrong
				}
			}
		}
		return throughout(d, plain)
	}},
	{"curly quotes in old lines", false, func(_ *rand.Rand, _ *scenario, d draft) (draft, bool) {
		return eachLine(d, func(l *line) bool {
			return l.op != gitdiff.OpAdd && setText(l, strings.ReplaceAll(l.text, `"`, "“"))
		})
	}},
	{"context line missing", false, func(r *rand.Rand, s *scenario, d draft) (draft, bool) {
		h := &d.hunks[r.IntN(len(d.hunks))]
		at := r.IntN(len(h.lines))
		if h.lines[at].op != gitdiff.OpContext {
			return d, false
		}
		h.lines = slices.Delete(h.lines, at, at+1)
		if n := len(s.fits(h)); n > 1 || n > 0 && at > 0 && at < len(h.lines) {
			return d, false // lines repeat so that this is a correct diff of a different edit
		}
		if at == 0 {
			h.at++
		}
		edge := !h.lines[0].old() || !h.lines[len(h.lines)-1].old()
		if !edge && r.IntN(2) == 0 { // counts as the author believes them to be
			h.oldCount--
			h.newCount--
		}
		return d, true
	}},
	{"context line missing inside context", false, func(r *rand.Rand, s *scenario, d draft) (draft, bool) {
		h := &d.hunks[r.IntN(len(d.hunks))]
		at := r.IntN(len(h.lines))
		context := func(i int) bool { return i >= 0 && i < len(h.lines) && h.lines[i].op == gitdiff.OpContext }
		if !context(at-1) || !context(at) || !context(at+1) {
			return d, false
		}
		h.lines = slices.Delete(h.lines, at, at+1)
		texts := slices.DeleteFunc(h.sideOf(gitdiff.OpAdd), isBlank)
		return d, len(texts) >= 3 && len(s.fits(h)) == 0
	}},
	{"typographic characters for ASCII in old lines", false, func(_ *rand.Rand, _ *scenario, d draft) (draft, bool) {
		for _, h := range d.hunks {
			if !slices.Equal(h.adds, h.sideOf(gitdiff.OpContext, gitdiff.OpDelete)) {
				return d, false // added lines in ASCII next to typographic ones: it is unknown whether both are wrong
			}
		}
		pretty := strings.NewReplacer("...", "…", "--", "—", "->", "→", "=>", "⇒", "* ", "• ", "<=", "≤", "'", "’")
		return eachLine(d, func(l *line) bool { return l.op != gitdiff.OpAdd && setText(l, pretty.Replace(l.text)) })
	}},
	{"accents decomposed in old lines", false, func(_ *rand.Rand, _ *scenario, d draft) (draft, bool) {
		return eachLine(d, func(l *line) bool { return l.op != gitdiff.OpAdd && setText(l, norm.NFD.String(l.text)) })
	}},
	{"context lines swapped", false, func(r *rand.Rand, s *scenario, d draft) (draft, bool) {
		h := &d.hunks[r.IntN(len(d.hunks))]
		at := r.IntN(len(h.lines))
		if at+1 == len(h.lines) || h.lines[at].op != gitdiff.OpContext || h.lines[at+1].op != gitdiff.OpContext || h.lines[at].text == h.lines[at+1].text {
			return d, false
		}
		h.lines[at], h.lines[at+1] = h.lines[at+1], h.lines[at]
		return d, len(s.fits(h)) == 0
	}},
	{"context shifted", false, func(_ *rand.Rand, s *scenario, d draft) (draft, bool) {
		// One line less before the change and one more after it, as in the file.
		for i := range d.hunks {
			h := &d.hunks[i]
			end := h.at + len(h.sideOf(gitdiff.OpAdd))
			if len(h.lines) < 3 || h.lines[0].op != gitdiff.OpContext || h.lines[1].op != gitdiff.OpContext || end >= len(s.base) ||
				i+1 < len(d.hunks) && end >= d.hunks[i+1].at || h.lines[len(h.lines)-1].noEOL {
				return d, false
			}
			l := s.base[end]
			h.lines = append(slices.Clone(h.lines[1:]), line{op: gitdiff.OpContext, text: content(l), cr: returnsOf(l), noEOL: ending(l) == ""})
			h.at++
			h.places = s.fits(h)
			if slices.Contains(h.places, h.oldStart-1) {
				return d, false // exact at the stated line: a correct diff of a different edit
			}
		}
		return d, true
	}},
	{"hunks reversed", true, func(_ *rand.Rand, _ *scenario, d draft) (draft, bool) {
		slices.Reverse(d.hunks)
		return d, len(d.hunks) > 1 && d.meant()
	}},
	{"hunks shuffled", true, func(r *rand.Rand, _ *scenario, d draft) (draft, bool) {
		r.Shuffle(len(d.hunks), func(i, j int) { d.hunks[i], d.hunks[j] = d.hunks[j], d.hunks[i] })
		return d, len(d.hunks) > 1 && d.meant()
	}},
	{"final newline of the diff missing", true, func(_ *rand.Rand, _ *scenario, d draft) (draft, bool) {
		d.noEnd = true
		return d, true
	}},
	{"markers missing", true, func(_ *rand.Rand, s *scenario, d draft) (draft, bool) {
		if s.toggles {
			return d, false // then the diff does not show it
		}
		return eachLine(d, func(l *line) bool {
			had := l.noEOL
			l.noEOL = false
			return had
		})
	}},
	{"text trimmed", false, func(_ *rand.Rand, _ *scenario, d draft) (draft, bool) {
		// As by a tool that trims its arguments: the blank context at the end is removed.
		h := &d.hunks[len(d.hunks)-1]
		n := len(h.lines)
		for n > 1 && h.lines[n-1].op == gitdiff.OpContext && isBlank(h.lines[n-1].text) {
			n--
		}
		d.noEnd = true
		done := n < len(h.lines) && len(d.epilogue) == 0
		if done {
			h.lines = h.lines[:n]
		}
		return d, done
	}},
	{"spacing between hunks", false, func(_ *rand.Rand, _ *scenario, d draft) (draft, bool) {
		for i := range d.hunks {
			d.hunks[i].spaced = true
		}
		return d, true
	}},
}

// shift makes the headers state different lines. It does not apply to a diff in which the new
// numbers, as stated or moved together with those of another hunk, point to a different place where
// the hunk fits: that diff would have a different meaning.
func shift(d draft, by func() int) (draft, bool) {
	moves := []int{0}
	for i := range d.hunks {
		h := &d.hunks[i]
		old := h.oldStart
		h.oldStart = max(1, old+by())
		h.newStart = max(1, h.newStart+h.oldStart-old)
		moves = append(moves, h.oldStart-1-h.at)
	}
	for i := range d.hunks {
		h := &d.hunks[i]
		for _, p := range h.places {
			for _, move := range moves {
				want := h.oldStart - 1 - move
				if p != h.at && distance(p, want) <= distance(h.at, want) {
					return d, false
				}
			}
		}
	}
	return d, d.meant()
}

// tally counts outcomes of one kind of mistake.
type tally struct {
	unique, refusedUnique int // every hunk fits in one place only
	other, refusedOther   int
}

func (t *tally) add(o *tally) {
	t.unique += o.unique
	t.refusedUnique += o.refusedUnique
	t.other += o.other
	t.refusedOther += o.refusedOther
}

func (t tally) String() string {
	return fmt.Sprintf("unique place: %6d, refused %5d (%5.2f %%); else: %6d, refused %5d",
		t.unique, t.refusedUnique, 100*float64(t.refusedUnique)/float64(max(1, t.unique)), t.other, t.refusedOther)
}
