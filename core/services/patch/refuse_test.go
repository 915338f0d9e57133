package patch

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"github.com/stretchr/testify/require"
)

// leavesTraces reports whether a text shows that d has been applied to it. It does not if d only
// removes lines, with no context on one side: if the same lines occur elsewhere too, the diff now
// simply refers to those.
func leavesTraces(d draft) bool {
	return slices.ContainsFunc(d.hunks, func(h draftHunk) bool {
		last := h.lines[len(h.lines)-1]
		same := slices.Equal(h.adds, h.sideOf(gitdiff.OpContext, gitdiff.OpAdd)) // only endings change
		return len(h.adds) > 0 && !same || h.lines[0].op == gitdiff.OpContext && last.op == gitdiff.OpContext
	})
}

// exactIn reports whether all hunks of d fit a text exactly at the stated lines: then d is a
// correct diff of that text, whatever happened to it before. A hunk that adds lines at its edge,
// which a diff program creates only at the ends of a file, is an exception.
func exactIn(text string, d draft) bool {
	lines := splitLines(text)
	for _, h := range d.hunks {
		at := h.oldStart - 1
		olds := h.sideOf(gitdiff.OpAdd)
		edge := len(h.sideOf(gitdiff.OpContext, gitdiff.OpAdd)) == 0 &&
			(!h.lines[0].old() && at > 0 || !h.lines[len(h.lines)-1].old() && at+len(olds) < len(lines))
		if at < 0 || at+len(olds) > len(lines) || edge {
			return false
		}
		for i, text := range olds {
			if content(lines[at+i]) != text {
				return false
			}
		}
	}
	return true
}

// fitsAgain reports whether all hunks of d fit a text, and one of them does not add more than it
// removes: without numbers it is a correct diff of that text.
func fitsAgain(text string, d draft) bool {
	after := scenario{base: splitLines(text)}
	fits, removes := true, false
	for i := range d.hunks {
		h := &d.hunks[i]
		fits = fits && len(after.fits(h)) > 0
		removes = removes || len(h.sideOf(gitdiff.OpAdd)) >= len(h.sideOf(gitdiff.OpDelete))
	}
	return fits && removes
}

// Diffs that must be refused regardless of their other properties.
func TestAlwaysRefused(t *testing.T) {
	hopeless := []struct {
		name string
		make func(r *rand.Rand, s *scenario, d draft) (base, diff string, ok bool)
	}{
		{"a removed line with other words", func(r *rand.Rand, s *scenario, d draft) (string, string, bool) {
			h := &d.hunks[r.IntN(len(d.hunks))]
			l := &h.lines[r.IntN(len(h.lines))]
			l.text += " andmore"
			return s.text(), d.String(), l.op == gitdiff.OpDelete
		}},
		{"a context line with other words", func(r *rand.Rand, s *scenario, d draft) (string, string, bool) {
			h := &d.hunks[r.IntN(len(d.hunks))]
			l := &h.lines[r.IntN(len(h.lines))]
			l.text = "other words than " + l.text
			return s.text(), d.String(), l.op == gitdiff.OpContext
		}},
		{"a foreign hunk beside good ones", func(r *rand.Rand, s *scenario, d draft) (string, string, bool) {
			foreign := draftHunk{oldStart: 3, oldCount: 2, newStart: 3, newCount: 2, lines: []line{
				{op: gitdiff.OpContext, text: "a line of another file"},
				{op: gitdiff.OpDelete, text: "and its neighbour"},
				{op: gitdiff.OpAdd, text: "changed"},
			}}
			d.hunks = slices.Insert(d.hunks, r.IntN(len(d.hunks)+1), foreign)
			return s.text(), d.String(), true
		}},
		{"a foreign line in a hunk", func(r *rand.Rand, s *scenario, d draft) (string, string, bool) {
			h := &d.hunks[r.IntN(len(d.hunks))]
			op := []gitdiff.LineOp{gitdiff.OpContext, gitdiff.OpDelete}[r.IntN(2)]
			h.lines = slices.Insert(h.lines, r.IntN(len(h.lines)+1), line{op: op, text: "a line of another file"})
			return s.text(), d.String(), true
		}},
		{"applied already", func(_ *rand.Rand, s *scenario, d draft) (string, string, bool) {
			return s.want, d.String(), leavesTraces(d) && !exactIn(s.want, d)
		}},
		{"applied already, without numbers", func(_ *rand.Rand, s *scenario, d draft) (string, string, bool) {
			for i := range d.hunks {
				d.hunks[i].header = "@@"
			}
			return s.want, d.String(), s.unique() && leavesTraces(d) && !fitsAgain(s.want, d)
		}},
		{"no change", func(_ *rand.Rand, s *scenario, d draft) (string, string, bool) {
			for i := range d.hunks {
				h := &d.hunks[i]
				h.lines = slices.DeleteFunc(h.lines, func(l line) bool { return l.op == gitdiff.OpAdd })
				for j := len(h.lines) - 1; j >= 0; j-- {
					if h.lines[j].op == gitdiff.OpDelete {
						again := h.lines[j]
						again.op = gitdiff.OpAdd
						h.lines = slices.Insert(h.lines, j+1, again)
					}
				}
			}
			return s.text(), d.String(), true
		}},
		{"cut off inside a line", func(r *rand.Rand, s *scenario, d draft) (string, string, bool) {
			text := d.String()
			last := strings.LastIndex(text[:len(text)-1], "\n") + 1
			if strings.HasPrefix(text[last:], "\\") {
				last = strings.LastIndex(text[:last-1], "\n") + 1
			}
			body := strings.Index(text, "@@")
			at := body + r.IntN(len(text)-body)
			rest := text[at:]
			// Inside a line; and not in the last one of a hunk, because then the counts are
			// correct.
			inside := text[at-1] != '\n' && rest[0] != '\n' && !strings.HasPrefix(rest, "\r\n") && at < last
			lines := splitLines(rest)[1:]
			if !inside || strings.HasPrefix(lines[0], "@@") {
				return "", "", false
			}
			// Nor if only blank context of the hunk is missing after it (FS-68).
			if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "@@") }); i >= 0 {
				lines = lines[:i]
			}
			blank := !slices.ContainsFunc(lines, func(l string) bool { return l[0] != ' ' || !isBlank(l) })
			return s.text(), text[:at], !blank
		}},
	}
	n := cases(8000, 120_000)
	for i, h := range hopeless {
		tried := 0
		for seed := range n / uint64(len(hopeless)) {
			r := rand.New(rand.NewPCG(seed, uint64(100+i)))
			s := newScenario(r)
			base, diff, ok := h.make(r, &s, s.diff.clone())
			if !ok {
				continue
			}
			tried++
			got, c, err := run(base, diff)
			if err == nil {
				t.Fatalf("%s, seed %d:\nbase %q\ndiff\n%s\n%q\ngot %q\n%v", h.name, seed, base, diff, diff, got, c.Corrections)
			}
			require.True(t, refused(err), "%s, seed %d: %v", h.name, seed, err)
		}
		t.Logf("%-34s %6d tried, all refused", h.name, tried)
		require.Positive(t, tried)
	}
}
