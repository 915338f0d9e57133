// Package diffview draws the diff of a file in a terminal: line numbers, backgrounds
// of changed lines, marks on changed words, and the colours of the language, in one
// column or in two.
//
// A diff is parsed once. Its lines are drawn on demand, so that a window on a long
// diff costs no more than one on a short diff. The package knows neither calls nor
// approvals.
package diffview

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/highlight"
)

// Diff is a parsed diff of one file. It is not safe for concurrent use.
type Diff struct {
	lines          []display.DiffLine
	partner        []int // by line: the changed line that it is compared with, -1: none
	rows           []row // in two columns
	hunks          []hunk
	tokens         [][]highlight.Token // by line; nil: not yet known
	marks          [][]span            // by line, if compared
	compared       []bool
	colours        *highlight.Highlighter
	digits         int
	added, removed int
}

// row is a row of two columns: lines before and after the change, -1: none. A line
// that has not changed is both.
type row struct{ left, right int }

// hunk is the colouring of a hunk so far.
type hunk struct {
	start    int // index of its header
	next     int // the next line to colour
	old, new highlight.Block
}

// New parses a unified diff. The name of the file determines the language; "": the
// names in the diff. A nil Highlighter finds no colours.
func New(diff, path string, h *highlight.Highlighter) *Diff {
	d := &Diff{lines: display.ParseDiff(diff), colours: h}
	n := len(d.lines)
	d.partner, d.tokens, d.marks, d.compared = make([]int, n), make([][]highlight.Token, n), make([][]span, n), make([]bool, n)
	d.digits = display.DiffDigits(d.lines)
	if path == "" {
		path = fileName(diff)
	}
	for i := range d.lines {
		l := &d.lines[i]
		l.Text = display.Untab(l.Text, 0)
		d.partner[i] = -1
		switch l.Sign {
		case "@@":
			block := h.File(path)
			d.hunks = append(d.hunks, hunk{start: i, next: i + 1, old: block, new: block})
		case "+":
			d.added++
		case "-":
			d.removed++
		}
	}
	d.arrange()
	return d
}

// fileName returns the name of the file in the header of a diff.
func fileName(diff string) (name string) {
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "@@") {
			break
		}
		for _, prefix := range []string{"--- ", "+++ "} {
			path, is := strings.CutPrefix(strings.TrimRight(line, "\r\n"), prefix)
			if path, _, _ = strings.Cut(path, "\t"); is && path != "/dev/null" {
				name = path
			}
		}
	}
	return name
}

// Stat returns the number of lines added and removed.
func (d *Diff) Stat() (added, removed int) { return d.added, d.removed }

// arrange finds the lines to compare, and the rows of two columns.
func (d *Diff) arrange() {
	for i := 0; i < len(d.lines); {
		olds := d.run(i, "-")
		news := d.run(i+len(olds), "+")
		if len(olds)+len(news) == 0 {
			d.rows = append(d.rows, row{i, i})
			i++
			continue
		}
		i += len(olds) + len(news)
		left, right := 0, 0
		for _, p := range append(d.pairs(olds, news), row{len(olds), len(news)}) {
			for left < p.left || right < p.right {
				r := row{-1, -1}
				if left < p.left {
					r.left = olds[left]
					left++
				}
				if right < p.right {
					r.right = news[right]
					right++
				}
				d.rows = append(d.rows, r)
			}
			if p.left < len(olds) {
				l, r := olds[left], news[right]
				d.partner[l], d.partner[r] = r, l
				d.rows = append(d.rows, row{l, r})
				left, right = left+1, right+1
			}
		}
	}
}

// run returns the lines from i with a sign, and the remarks on them.
func (d *Diff) run(i int, sign string) (run []int) {
	for i < len(d.lines) && (d.lines[i].Sign == sign || d.lines[i].Sign == `\` && len(run) > 0) {
		run = append(run, i)
		i++
	}
	return run
}

// colour returns the tokens of a line: one token if its colours are not known yet, or
// if its colours would hide that it has changed.
func (d *Diff) colour(i int, backgrounds bool) []highlight.Token {
	l := &d.lines[i]
	plain := []highlight.Token{{Text: l.Text}}
	if l.Sign == `\` || !backgrounds && (l.Sign == "+" || l.Sign == "-") {
		return plain
	}
	at, found := slices.BinarySearchFunc(d.hunks, i, func(h hunk, i int) int { return h.start - i })
	if !found {
		at--
	}
	h := &d.hunks[at]
	for ; h.next <= i; h.next++ {
		before, missed := *h, d.colours.Missed()
		l := d.lines[h.next]
		var tokens []highlight.Token
		if l.Sign != "+" && l.Sign != `\` {
			tokens = h.old.Line(l.Text)
		}
		if l.Sign != "-" && l.Sign != `\` {
			tokens = h.new.Line(l.Text)
		}
		if d.colours.Missed() != missed { // out of time: another frame continues here
			*h = before
			return plain
		}
		d.tokens[h.next] = tokens
	}
	return d.tokens[i]
}
