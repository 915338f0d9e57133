package stress

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A mistake is a typical error of models in diffs. It changes d in place and reports
// whether it could be applied.
type mistake struct {
	name string
	make func(r *rand.Rand, e *edit, d *diff) bool
}

// eachHeader replaces the hunks' headers.
func eachHeader(d *diff, f func(i int, header string) string) bool {
	for i := range d.hunks {
		d.hunks[i].header = f(i, d.hunks[i].header)
	}
	return true
}

// eachLine changes lines with one of the signs and reports whether it changed any.
func eachLine(d *diff, signs string, f func(string) string) bool {
	changed := false
	for i := range d.hunks {
		for j, l := range d.hunks[i].lines {
			if strings.Contains(signs, l[:1]) {
				d.hunks[i].lines[j] = l[:1] + f(l[1:])
				changed = changed || d.hunks[i].lines[j] != l
			}
		}
	}
	return changed
}

func headerNumbers(h string) (a, b, c, d int) {
	_, _ = fmt.Sscanf(h, "@@ -%d,%d +%d,%d @@", &a, &b, &c, &d)
	return a, b, c, d
}

// mistakes that keep the meaning of a diff: the result is the expected bytes, or a
// refusal.
var mistakes = []mistake{
	{"none", func(*rand.Rand, *edit, *diff) bool { return true }},
	{"line numbers shifted", func(r *rand.Rand, _ *edit, d *diff) bool {
		by := r.IntN(200) - 100
		return eachHeader(d, func(_ int, h string) string {
			a, b, c, n := headerNumbers(h)
			return fmt.Sprintf("@@ -%d,%d +%d,%d @@", max(1, a+by), b, max(1, c+by), n)
		})
	}},
	{"counts wrong", func(r *rand.Rand, _ *edit, d *diff) bool {
		return eachHeader(d, func(_ int, h string) string {
			a, b, c, n := headerNumbers(h)
			return fmt.Sprintf("@@ -%d,%d +%d,%d @@", a, max(0, b+r.IntN(7)-3), c, max(0, n+r.IntN(7)-3))
		})
	}},
	{"@@ -1,1 +1,1 @@ throughout", func(_ *rand.Rand, _ *edit, d *diff) bool {
		return eachHeader(d, func(int, string) string { return "@@ -1,1 +1,1 @@" })
	}},
	{"bare @@", func(_ *rand.Rand, _ *edit, d *diff) bool {
		return eachHeader(d, func(int, string) string { return "@@" })
	}},
	{"@@ ... @@", func(_ *rand.Rand, _ *edit, d *diff) bool {
		return eachHeader(d, func(int, string) string { return "@@ ... @@" })
	}},
	{"no file header", func(_ *rand.Rand, _ *edit, d *diff) bool { d.before = nil; return true }},
	{"wrong names", func(_ *rand.Rand, _ *edit, d *diff) bool {
		d.before = []string{"--- /src/other.txt", "+++ /src/another.txt"}
		return true
	}},
	{"fence and prose around", func(_ *rand.Rand, _ *edit, d *diff) bool {
		d.before = append([]string{"Here is the change:", "", "```diff"}, d.before...)
		d.after = []string{"```", "", "It compiles."}
		return true
	}},
	{"CRLF against LF", func(_ *rand.Rand, e *edit, d *diff) bool {
		d.eol = "\r\n"
		return !slices.Contains(e.eol, "\r\n")
	}},
	{"LF against CRLF", func(_ *rand.Rand, e *edit, d *diff) bool {
		return !slices.Contains(e.eol, "\n") && eachLine(d, " -+", func(s string) string { return strings.TrimSuffix(s, "\r") })
	}},
	{"empty context without its blank", func(_ *rand.Rand, _ *edit, d *diff) bool {
		found := false
		for i := range d.hunks {
			for j, l := range d.hunks[i].lines {
				if l == " " {
					d.hunks[i].lines[j], found = "", true
				}
			}
		}
		return found
	}},
	{"trailing blanks stripped", func(_ *rand.Rand, _ *edit, d *diff) bool {
		return eachLine(d, " -", func(s string) string {
			text, cr := strings.CutSuffix(s, "\r")
			text = strings.TrimRight(text, " \t")
			if cr {
				text += "\r"
			}
			return text
		})
	}},
	{"tabs turned to blanks in context", func(_ *rand.Rand, _ *edit, d *diff) bool {
		return eachLine(d, " -", func(s string) string { return strings.ReplaceAll(s, "\t", "    ") })
	}},
	{"look-alike punctuation", func(_ *rand.Rand, _ *edit, d *diff) bool {
		return eachLine(d, " -", strings.NewReplacer(`"`, "”", "'", "’", " - ", " – ").Replace)
	}},
	{"a context line missing", func(r *rand.Rand, e *edit, d *diff) bool {
		i := r.IntN(len(d.hunks))
		h := &d.hunks[i]
		j := r.IntN(len(h.lines))
		if h.lines[j][0] != ' ' || j == 0 || j == len(h.lines)-1 {
			return false
		}
		h.lines = slices.Delete(slices.Clone(h.lines), j, j+1)
		olds := slices.Clone(e.olds(e.hunks[i]))
		k := j
		if j > e.hunks[i].before {
			k -= len(e.hunks[i].added)
		}
		return places(e.base, slices.Delete(olds, k, k+1)) == 0 // otherwise it is a correct diff of another edit
	}},
	{"hunks reversed", func(_ *rand.Rand, _ *edit, d *diff) bool {
		slices.Reverse(d.hunks)
		return len(d.hunks) > 1
	}},
	{"final newline of the diff missing", func(_ *rand.Rand, _ *edit, d *diff) bool { d.cut = len(d.eol); return true }},
	{"end-of-file marker missing", func(_ *rand.Rand, _ *edit, d *diff) bool {
		h := &d.hunks[len(d.hunks)-1]
		last := len(h.lines) - 1
		if h.lines[last][0] != '\\' {
			return false
		}
		h.lines = h.lines[:last]
		return true
	}},
}

// hopeless are diffs that must always be refused.
var hopeless = []mistake{
	{"a removed line of other words", func(r *rand.Rand, _ *edit, d *diff) bool {
		h := &d.hunks[r.IntN(len(d.hunks))]
		i := slices.IndexFunc(h.lines, func(l string) bool { return l[0] == '-' && len(plain(l)) > 4 })
		if i < 0 {
			return false
		}
		h.lines[i] = "-" + strings.TrimSuffix(h.lines[i][1:], "\r") + " quite other words"
		return true
	}},
	{"a foreign hunk beside good ones", func(_ *rand.Rand, _ *edit, d *diff) bool {
		d.hunks = append(d.hunks, diffHunk{"@@ -40,3 +40,3 @@", []string{" // of another file", "-\tlaunch(rockets)", "+\tlaunch(fireworks)", " }"}})
		return true
	}},
	{"applied already", func(_ *rand.Rand, e *edit, _ *diff) bool {
		news := apply(e)
		for _, h := range e.hunks {
			if places(plainAll(news), plainAll(e.olds(h))) > 0 {
				return false
			}
		}
		e.base = news
		return true
	}},
	{"no change", func(_ *rand.Rand, _ *edit, d *diff) bool {
		for i := range d.hunks {
			d.hunks[i].lines = slices.DeleteFunc(d.hunks[i].lines, func(l string) bool { return l[0] == '+' })
			for j, l := range d.hunks[i].lines {
				if l[0] == '-' {
					d.hunks[i].lines[j] = " " + l[1:]
				}
			}
		}
		return true
	}},
	{"empty", func(_ *rand.Rand, _ *edit, d *diff) bool { *d = diff{}; return true }},
	{"prose", func(_ *rand.Rand, _ *edit, d *diff) bool {
		*d = diff{before: []string{"I would rename the variable and", "- drop the check", "+ add a test"}, eol: "\n"}
		return true
	}},
	{"cut off inside a line", func(_ *rand.Rand, _ *edit, d *diff) bool {
		h := d.hunks[len(d.hunks)-1]
		last := h.lines[len(h.lines)-1]
		if last[0] != ' ' || len(plain(last)) < 8 {
			return false
		}
		d.cut = len(d.eol) + len(strings.TrimRight(last, " \t\r"))/2 + len(last) - len(strings.TrimRight(last, " \t\r"))
		return true
	}},
}

// apply returns the lines after the edit.
func apply(e *edit) []string {
	var news []string
	at := 0
	for _, h := range e.hunks {
		news = append(append(news, e.base[at:h.at]...), h.added...)
		at = h.at + h.removed
	}
	return append(news, e.base[at:]...)
}

func plainAll(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = plain(l)
	}
	return out
}
