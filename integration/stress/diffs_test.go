package stress

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// sources are the names of real files: those of the Go distribution.
var sources = sync.OnceValue(func() []string {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		panic(err)
	}
	var names []string
	for _, pattern := range []string{"*/*.go", "*/*/*.go"} {
		found, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", pattern))
		if err != nil {
			panic(err)
		}
		names = append(names, found...)
	}
	return names
})

// edit is a random change of a real file, hunk by hunk.
type edit struct {
	base  []string // lines without their line endings
	eol   []string // the line ending of each
	hunks []hunk
}

// hunk replaces base[at:at+removed] by added, with the surrounding context lines.
type hunk struct {
	at, removed   int
	added         []string
	before, after int
}

// newEdit creates an edit in which the old lines of each hunk are unique even if
// blanks are ignored; false if this attempt found none.
func newEdit(r *rand.Rand, accents bool) (edit, bool) {
	var e edit
	names := sources()
	data, err := os.ReadFile(names[r.IntN(len(names))])
	if err != nil {
		panic(err)
	}
	e.base = strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(e.base) > 300 {
		from := r.IntN(len(e.base) - 299)
		e.base = e.base[from : from+300]
	}
	e.base = slices.Clone(e.base)
	for i, line := range e.base {
		if accents {
			line = strings.Map(func(c rune) rune {
				if c > 126 {
					return -1
				}
				return c
			}, line)
			line = strings.ReplaceAll(line, "the", "thé")
		}
		if r.IntN(15) == 0 {
			line += "  "
		}
		e.base[i] = strings.TrimSuffix(line, "\r")
	}
	width := []int{2, 3, 3, 5, 10}[r.IntN(5)]
	gap := 2*width + 1
	if r.IntN(4) == 0 {
		gap = width + 1 // neighbours share context
	}
	for at := r.IntN(20); at+4 < len(e.base) && len(e.hunks) < 1+r.IntN(5); at += gap + 3 + r.IntN(60) {
		h := hunk{at: at, removed: r.IntN(3), before: min(at, width)}
		for range r.IntN(4) {
			h.added = append(h.added, e.newLine(r, at, accents))
		}
		if h.removed == 0 && len(h.added) == 0 || h.removed > 0 && slices.Equal(h.added, e.base[at:at+h.removed]) {
			h.added = []string{"added := true"}
		}
		h.after = min(width, len(e.base)-at-h.removed)
		e.hunks = append(e.hunks, h)
	}
	if accents && !strings.Contains(strings.Join(e.base, ""), "é") {
		return e, false // plain ASCII identifies no code page
	}
	return e, len(e.hunks) > 0 && e.unique()
}

func (e *edit) newLine(r *rand.Rand, at int, accents bool) string {
	near := e.base[at]
	indent := near[:len(near)-len(strings.TrimLeft(near, " \t"))]
	switch r.IntN(6) {
	case 0:
		return ""
	case 1:
		return e.base[r.IntN(len(e.base))]
	case 2:
		return indent + "-- removed? no: added"
	case 3:
		if accents {
			return indent + "// déjà vu"
		}
		return indent + "// “typographic” 日本語"
	}
	return indent + fmt.Sprintf("added(%d)", r.IntN(1000))
}

// setEndings gives the base its line endings: "\n", "\r\n" or "" for a mixture.
func (e *edit) setEndings(r *rand.Rand, eol string, final bool) {
	e.eol = make([]string, len(e.base))
	for i := range e.eol {
		e.eol[i] = eol
		if eol == "" {
			e.eol[i] = []string{"\n", "\r\n"}[r.IntN(2)]
		}
	}
	last := e.hunks[len(e.hunks)-1]
	if !final && last.at+last.removed < len(e.base) && e.base[len(e.base)-1] != "" {
		e.eol[len(e.base)-1] = ""
	}
}

func (e *edit) text() string {
	var b strings.Builder
	for i, line := range e.base {
		b.WriteString(line + e.eol[i])
	}
	return b.String()
}

// is reports whether got is the result of the edit: unchanged lines exactly, added
// ones with a line ending that the file uses.
func (e *edit) is(got string) bool {
	at := 0
	take := func(line string, endings ...string) bool {
		for _, eol := range endings {
			if strings.HasPrefix(got, line+eol) {
				got = got[len(line)+len(eol):]
				return true
			}
		}
		return false
	}
	endings := slices.Compact(slices.Sorted(slices.Values(e.eol[:len(e.eol)-1])))
	for _, h := range e.hunks {
		for ; at < h.at; at++ {
			if !take(e.base[at], e.eol[at]) {
				return false
			}
		}
		for _, line := range h.added {
			if !take(line, endings...) {
				return false
			}
		}
		at += h.removed
	}
	for ; at < len(e.base); at++ {
		if !take(e.base[at], e.eol[at]) {
			return false
		}
	}
	return got == ""
}

// olds returns the old lines of a hunk.
func (e *edit) olds(h hunk) []string { return e.base[h.at-h.before : h.at+h.removed+h.after] }

// plain returns a line without blanks.
func plain(line string) string { return strings.Join(strings.Fields(line), "") }

// unique reports whether every hunk's old lines, with and without the first or the
// last, occur once.
func (e *edit) unique() bool {
	eyes := make([]string, len(e.base))
	for i, line := range e.base {
		eyes[i] = plain(line)
	}
	for _, h := range e.hunks {
		olds := eyes[h.at-h.before : h.at+h.removed+h.after]
		if len(olds) < 4 || places(eyes, olds) != 1 || places(eyes, olds[1:]) != 1 || places(eyes, olds[:len(olds)-1]) != 1 {
			return false
		}
	}
	return true
}

func places(lines, block []string) int {
	n := 0
	for i := 0; i+len(block) <= len(lines); i++ {
		if slices.Equal(lines[i:i+len(block)], block) {
			n++
		}
	}
	return n
}

// diff is a unified diff to which mistakes can be applied.
type diff struct {
	before []string // lines above the hunks
	hunks  []diffHunk
	after  []string
	eol    string
	cut    int // bytes missing at its end
}

type diffHunk struct {
	header string
	lines  []string // with their sign, without line break
}

func (d diff) String() string {
	var b strings.Builder
	write := func(lines []string) {
		for _, l := range lines {
			b.WriteString(l + d.eol)
		}
	}
	write(d.before)
	for _, h := range d.hunks {
		write([]string{h.header})
		write(h.lines)
	}
	write(d.after)
	s := b.String()
	return s[:len(s)-d.cut]
}

// diff returns the edit as a correct diff, in the line endings of the file if they
// are uniform.
func (e *edit) diff() diff {
	d := diff{before: []string{"--- a/f.go", "+++ b/f.go"}, eol: "\n"}
	shift := 0
	for _, h := range e.hunks {
		first, end := h.at-h.before, h.at+h.removed+h.after
		count := func(n, start int) string { // for no lines the position is the previous line
			if n == 0 {
				start--
			}
			return fmt.Sprintf("%d,%d", start, n)
		}
		news := end - first - h.removed + len(h.added)
		out := diffHunk{header: fmt.Sprintf("@@ -%s +%s @@", count(end-first, first+1), count(news, first+1+shift))}
		line := func(sign string, i int) {
			out.lines = append(out.lines, sign+e.base[i]+strings.TrimSuffix(e.eol[i], "\n"))
			if e.eol[i] == "" {
				out.lines = append(out.lines, `\ No newline at end of file`)
			}
		}
		for i := first; i < h.at; i++ {
			line(" ", i)
		}
		for i := h.at; i < h.at+h.removed; i++ {
			line("-", i)
		}
		for _, l := range h.added {
			out.lines = append(out.lines, "+"+l+strings.TrimSuffix(e.eol[h.at], "\n"))
		}
		for i := h.at + h.removed; i < end; i++ {
			line(" ", i)
		}
		d.hunks = append(d.hunks, out)
		shift += len(h.added) - h.removed
	}
	return d
}
