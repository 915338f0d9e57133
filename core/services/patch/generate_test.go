package patch

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// A scenario is a base text, a random edit of it, and the unified diff that a careful author would
// write for the edit.
type scenario struct {
	base     []string // lines with their endings
	want     string
	diff     draft
	crlf     bool // every line of the base ends in CR LF
	mixed    bool
	repeated bool // a block of the base occurs twice
	toggles  bool // the edit adds or removes the final newline
	endings  bool // added lines have their own endings, which the diff states
}

// samples are the contents of real files: of the Go distribution and of testdata.
var samples = sync.OnceValue(func() [][]string {
	var files []string
	root, _ := exec.Command("go", "env", "GOROOT").Output() // without it, testdata alone
	for _, dir := range []string{"strings", "bufio", "net/http", "encoding/json", "go/parser", "text/template"} {
		found, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", dir, "*.go"))
		files = append(files, found...)
	}
	own, _ := filepath.Glob("testdata/*.*")
	for range 20 {
		files = append(files, own...)
	}
	var all [][]string
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			panic(err)
		}
		var lines []string
		for _, l := range splitLines(string(data)) {
			lines = append(lines, content(l))
		}
		if len(lines) > 0 {
			all = append(all, lines)
		}
	}
	return all
})

// typographic lines contain look-alikes of one and of several characters.
var typographic = []string{
	"// wait… then go on — if “ready” – else stop", "• first item → second", "  • nested: it’s fine", "a ≤ b ≥ c ≠ d", "née Müller, naïve café",
	"wait... then go on -- if ready", "* first item -> second", "x => y <- z", "// plain comment", "\tcall(a, b) // see above", "non\u00a0breaking space", "``quoted'' text",
}

// baseLines returns the contents of a base text.
func baseLines(r *rand.Rand) []string {
	switch r.IntN(14) {
	case 10: // equal lines in long runs
		var lines []string
		for range 1 + r.IntN(5) {
			word := []string{"x", "", "}", "\t\t}", "- item"}[r.IntN(5)]
			for range 1 + r.IntN(12) {
				lines = append(lines, word)
			}
			if r.IntN(2) == 0 {
				lines = append(lines, fmt.Sprintf("mark %d", r.IntN(9)))
			}
		}
		return lines
	case 11: // a block several times
		all := samples()
		file := all[r.IntN(len(all))]
		n := min(len(file), 3+r.IntN(10))
		from := r.IntN(len(file) - n + 1)
		var lines []string
		for i := range 2 + r.IntN(5) {
			lines = append(lines, file[from:from+n]...)
			if r.IntN(3) == 0 {
				lines = append(lines, fmt.Sprintf("between %d", i))
			}
		}
		return lines
	case 12, 13:
		lines := make([]string, 3+r.IntN(40))
		for i := range lines {
			lines[i] = typographic[r.IntN(len(typographic))]
			if r.IntN(2) == 0 {
				lines[i] += fmt.Sprintf(" (%d)", r.IntN(30))
			}
		}
		return lines
	case 0: // few different lines, so that much repeats
		words := []string{"a", "b", "", "}", "\treturn nil", "x := 1  ", "  y: 2"}
		words = words[:2+r.IntN(len(words)-2)]
		lines := make([]string, 1+r.IntN(40))
		for i := range lines {
			lines[i] = words[r.IntN(len(words))]
		}
		return lines
	case 1: // short
		lines := make([]string, 1+r.IntN(6))
		for i := range lines {
			lines[i] = fmt.Sprintf("line %d", r.IntN(20))
		}
		return lines
	}
	all := samples()
	file := all[r.IntN(len(all))]
	n := min(len(file), 5+r.IntN(200))
	from := r.IntN(len(file) - n + 1)
	return slices.Clone(file[from : from+n])
}

// newLine returns an added line that resembles the lines around line i.
func newLine(r *rand.Rand, lines []string, i int) string {
	near := ""
	if len(lines) > 0 {
		near = lines[min(i, len(lines)-1)]
	}
	switch r.IntN(12) {
	case 0:
		return ""
	case 1:
		return "-- a comment in SQL"
	case 2:
		return "++counter;"
	case 3:
		return near + "  "
	case 4:
		return strings.TrimRight(near, " \t")
	case 5:
		return indentOf(near) + "// “typographic” – isn’t it"
	case 6:
		if len(lines) > 0 {
			return lines[r.IntN(len(lines))]
		}
	case 7:
		return strings.Replace(near, "e", "E", 1)
	}
	return indentOf(near) + fmt.Sprintf("added(%d)", r.IntN(1000))
}

// block is one changed place: base lines [start, end) become added.
type block struct {
	start, end int
	added      []string
	ends       []string // of the added lines; nil: those of the file
}

// newScenario returns a random base and edit.
func newScenario(r *rand.Rand) scenario {
	var s scenario
	lines := baseLines(r)
	if r.IntN(5) == 0 && len(lines) > 4 {
		n := 1 + r.IntN(min(12, len(lines)-1))
		from := r.IntN(len(lines) - n + 1)
		to := r.IntN(len(lines) + 1)
		lines = slices.Insert(lines, to, slices.Clone(lines[from:from+n])...)
		s.repeated = true
	}
	ends := make([]string, len(lines))
	style := r.IntN(4)
	for i := range ends {
		ends[i] = lf
		if style == 1 || style == 2 && r.IntN(2) == 0 {
			ends[i] = crlf
		}
		if style == 2 && r.IntN(20) == 0 {
			ends[i] = "\r\r\n"
		}
	}
	s.crlf = style == 1
	finalNewline := r.IntN(3) > 0 || lines[len(lines)-1] == ""
	if !finalNewline {
		ends[len(ends)-1] = ""
	}
	for i := range lines {
		s.base = append(s.base, lines[i]+ends[i])
	}
	kinds := map[string]bool{}
	for _, end := range ends {
		kinds[end] = true
	}
	delete(kinds, "")
	s.mixed = len(kinds) > 1
	blocks := newBlocks(r, lines)
	if finalNewline && r.IntN(5) == 0 {
		s.endings = newEndings(r, lines, ends, blocks, s.mixed)
	}
	wantNewline := finalNewline
	if r.IntN(4) == 0 {
		wantNewline = !finalNewline
	}
	s.build(r, lines, ends, blocks, finalNewline, wantNewline)
	return s
}

// newBlocks selects the changes, with unchanged lines between.
func newBlocks(r *rand.Rand, lines []string) []block {
	var blocks []block
	at := r.IntN(min(len(lines), 30) + 1)
	for range 1 + r.IntN(5) {
		if at > len(lines) {
			break
		}
		b := block{start: at, end: min(len(lines), at+r.IntN(4))}
		if b.start == b.end || r.IntN(4) > 0 {
			for range 1 + r.IntN(3) {
				b.added = append(b.added, newLine(r, lines, at))
			}
		}
		if !trivial(lines[b.start:b.end], b.added) {
			blocks = append(blocks, b)
		}
		at = b.end + 1 + r.IntN(30)
	}
	if len(blocks) == 0 {
		blocks = []block{{start: 0, end: 1, added: []string{"something else " + lines[0]}}}
	}
	return blocks
}

// newEndings gives added lines of blocks their own endings: those of a file that mixes them anyway,
// or lines that are the removed ones except for their endings.
func newEndings(r *rand.Rand, lines, ends []string, blocks []block, mixed bool) bool {
	other := map[string]string{lf: crlf, crlf: lf, "\r\r\n": lf}
	if mixed && r.IntN(2) == 0 {
		for i := range blocks {
			for range blocks[i].added {
				blocks[i].ends = append(blocks[i].ends, []string{lf, crlf}[r.IntN(2)])
			}
		}
		return true
	}
	b := &blocks[r.IntN(len(blocks))]
	if b.start == b.end {
		return false
	}
	b.added, b.ends = slices.Clone(lines[b.start:b.end]), nil
	for i := b.start; i < b.end; i++ {
		b.ends = append(b.ends, other[ends[i]])
	}
	return true
}

// trivial reports whether a careful author would make a block smaller.
func trivial(olds, news []string) bool {
	if len(olds) == 0 || len(news) == 0 {
		return len(olds)+len(news) == 0
	}
	return olds[0] == news[0] || olds[len(olds)-1] == news[len(news)-1]
}

// build creates the expected text and the diff.
func (s *scenario) build(r *rand.Rand, lines, ends []string, blocks []block, finalNewline, wantNewline bool) {
	n := len(lines)
	if k := len(blocks) - 1; k > 0 && blocks[k].start == n && blocks[k-1].end == n-1 {
		blocks = blocks[:k] // it would touch the previous one when it gives line n its newline
	}
	last := blocks[len(blocks)-1]
	if last.end < n || len(last.added) == 0 {
		wantNewline = finalNewline // the end is not touched
	} else if !wantNewline && last.added[len(last.added)-1] == "" {
		last.added[len(last.added)-1] = "no longer empty"
	}
	s.toggles = finalNewline != wantNewline
	full := func(i int) string { // an ending for a line that needs one
		for ; i >= 0; i-- {
			if ends[i] != "" {
				return ends[i]
			}
		}
		if s.crlf && n > 1 {
			return crlf
		}
		return lf
	}
	if last.start == n && !finalNewline { // the last line gets its newline
		b := &blocks[len(blocks)-1]
		b.start--
		b.added = append([]string{lines[n-1]}, b.added...)
	}
	var want strings.Builder
	type side struct {
		line
		olds int // old lines up to here
		news int
	}
	var all []side // the whole file as one hunk
	olds, news := 0, 0
	add := func(l line) {
		if l.op != gitdiff.OpAdd {
			olds++
		}
		if l.op != gitdiff.OpDelete {
			news++
		}
		all = append(all, side{l, olds, news})
	}
	context := func(i int) {
		add(line{op: gitdiff.OpContext, text: lines[i], cr: returnsOf(ends[i]), noEOL: ends[i] == ""})
		want.WriteString(s.base[i])
	}
	at := 0
	for bi, b := range blocks {
		for ; at < b.start; at++ {
			context(at)
		}
		for ; at < b.end; at++ {
			add(line{op: gitdiff.OpDelete, text: lines[at], cr: returnsOf(ends[at]), noEOL: ends[at] == ""})
		}
		for i, text := range b.added {
			eol := full(max(b.start-1, 0))
			if b.end > b.start {
				eol = full(b.start + min(i, b.end-b.start-1))
			}
			if b.ends != nil {
				eol = b.ends[i]
			}
			noEOL := bi == len(blocks)-1 && b.end == n && i == len(b.added)-1 && !wantNewline
			if noEOL {
				eol = ""
			}
			add(line{op: gitdiff.OpAdd, text: text, cr: returnsOf(eol), noEOL: noEOL})
			want.WriteString(text + eol)
		}
	}
	for ; at < n; at++ {
		context(at)
	}
	s.want = want.String()

	// Split into hunks.
	s.diff.names = []string{"--- a/some/file.go", "+++ b/some/file.go"}
	width := []int{0, 1, 2, 3, 3, 3, 3, 5, 10, 10}[r.IntN(10)]
	overlap := r.IntN(4) == 0 // neighbours share context instead of one hunk
	var h *draftHunk
	quiet, end := 1<<30, -1 // context lines since the last change; last line used
	for i, l := range all {
		if l.op == gitdiff.OpContext {
			quiet++
			continue
		}
		if h == nil || quiet > 0 && (overlap || quiet > 2*width) {
			s.diff.hunks = append(s.diff.hunks, draftHunk{})
			h = &s.diff.hunks[len(s.diff.hunks)-1]
			end = max(0, i-min(width, quiet)) - 1
		}
		after := i
		for after+1 < len(all) && after-i < width && all[after+1].op == gitdiff.OpContext {
			after++
		}
		for j := end + 1; j <= after; j++ {
			if len(h.lines) == 0 {
				h.oldStart, h.newStart = all[j].olds, all[j].news
				if all[j].op == gitdiff.OpAdd {
					h.oldStart++
				}
				if all[j].op == gitdiff.OpDelete {
					h.newStart++
				}
			}
			h.lines = append(h.lines, all[j].line)
		}
		end = after
		quiet = 0
	}
	for i := range s.diff.hunks {
		h := &s.diff.hunks[i]
		h.at = h.oldStart - 1
		h.adds = h.sideOf(gitdiff.OpContext, gitdiff.OpDelete)
		h.places = s.fits(h)
		h.count()
	}
}

// count corrects the header's counts, and sets the start of an empty side as git does.
func (h *draftHunk) count() {
	h.oldCount, h.newCount = 0, 0
	for _, l := range h.lines {
		if l.op != gitdiff.OpAdd {
			h.oldCount++
		}
		if l.op != gitdiff.OpDelete {
			h.newCount++
		}
	}
	if h.oldCount == 0 {
		h.oldStart--
	}
	if h.newCount == 0 {
		h.newStart--
	}
}

// sideOf returns the contents of a hunk's lines except those with the given marks.
func (h *draftHunk) sideOf(without ...gitdiff.LineOp) []string {
	var texts []string
	for _, l := range h.lines {
		if !slices.Contains(without, l.op) {
			texts = append(texts, l.text)
		}
	}
	return texts
}

// fits returns the 0-based places of the hunk's old lines in the base.
func (s *scenario) fits(h *draftHunk) []int {
	olds := h.sideOf(gitdiff.OpAdd)
	var places []int
	for i := 0; len(olds) > 0 && i+len(olds) <= len(s.base); i++ {
		if slices.EqualFunc(olds, s.base[i:i+len(olds)], func(a, b string) bool { return a == content(b) }) {
			places = append(places, i)
		}
	}
	return places
}

// anotherEdit reports whether a hunk of d, after mistakes, fits exactly, but only at unintended
// places, or with different added lines: then d is a correct diff of a different edit.
func (s *scenario) anotherEdit(d draft) bool {
	return slices.ContainsFunc(d.hunks, func(h draftHunk) bool {
		places := s.fits(&h)
		if len(places) > 0 && !slices.Equal(h.adds, h.sideOf(gitdiff.OpContext, gitdiff.OpDelete)) {
			return true
		}
		return len(places) > 0 && !slices.Contains(places, h.at)
	})
}

// unique reports whether every hunk fits in only one place and is anchored.
func (s *scenario) unique() bool {
	for i := range s.diff.hunks {
		if len(s.fits(&s.diff.hunks[i])) != 1 {
			return false
		}
	}
	return true
}

func (s *scenario) text() string { return strings.Join(s.base, "") }

func TestGeneratorIsRight(t *testing.T) {
	// The scenario's own diff, applied directly, produces the expected text.
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newScenario(r)
		at := 0
		var got strings.Builder
		for _, h := range s.diff.hunks {
			if h.oldCount == 0 {
				h.oldStart++
			}
			k := h.oldStart - 1
			i := 0
			for ; i < len(h.lines) && k < at; i++ { // shared context
				k++
			}
			for ; at < k; at++ {
				got.WriteString(s.base[at])
			}
			for _, l := range h.lines[i:] {
				if l.op == gitdiff.OpAdd {
					got.WriteString(l.text)
					got.WriteString(strings.Repeat("\r", l.cr))
					if !l.noEOL {
						got.WriteString("\n")
					}
					continue
				}
				if content(s.base[at]) != l.text {
					t.Fatalf("seed %d: line %d", seed, at)
				}
				if l.op == gitdiff.OpContext {
					got.WriteString(s.base[at])
				}
				at++
			}
		}
		for ; at < len(s.base); at++ {
			got.WriteString(s.base[at])
		}
		if got.String() != s.want {
			t.Fatalf("seed %d\nbase %q\ndiff\n%s\ngot  %q\nwant %q", seed, s.text(), s.diff, got.String(), s.want)
		}
	}
}
