package diffview

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/sergi/go-diff/diffmatchpatch"
)

// Limits of the comparison of lines. Beyond them, lines are not compared.
const (
	maxRunes = 1000      // of a line
	maxRun   = 100       // lines removed or added in succession
	maxAlign = 400       // pairs of a run to choose from; more are compared in order
	maxWords = 250 * 250 // the product of different words in two lines
	minAlike = 40        // percent that two lines have in common
)

// span is a range of bytes of a line.
type span struct{ from, to int }

// words splits a line into words, blanks and single other characters. A combining
// character belongs to the character before it.
func words(line string) (words []string) {
	kind := func(s string) rune {
		r, _ := utf8.DecodeRuneInString(s)
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_':
			return 'w'
		}
		return 0
	}
	start, last := 0, rune(0)
	for i := 0; i < len(line); {
		k := kind(line[i:])
		if i > 0 && (k != last || k == 0) {
			words = append(words, line[start:i])
			start = i
		}
		last = k
		i += clusterLength(line[i:])
	}
	if line == "" {
		return nil
	}
	return append(words, line[start:])
}

// clusterLength returns the length of the first character of text, with the combining
// ones that belong to it.
func clusterLength(text string) int {
	if text[0] < utf8.RuneSelf && (len(text) == 1 || text[1] < utf8.RuneSelf) {
		return 1
	}
	cluster, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
	return max(len(cluster), 1)
}

// short reports whether a line is short enough to compare.
func short(line string) bool {
	return len(line) <= maxRunes || len(line) <= utf8.UTFMax*maxRunes && utf8.RuneCountInString(line) <= maxRunes
}

// pairs returns the lines of a run that are compared with each other, in order, as
// indices of olds and news.
func (d *Diff) pairs(olds, news []int) (pairs []row) {
	if len(olds) == 0 || len(news) == 0 || max(len(olds), len(news)) > maxRun {
		return nil
	}
	if len(olds)*len(news) > maxAlign {
		for i := range min(len(olds), len(news)) {
			if d.lines[olds[i]].Sign != `\` && d.lines[news[i]].Sign != `\` {
				pairs = append(pairs, row{i, i})
			}
		}
		return pairs
	}
	bags := func(run []int) (bags [][]string) {
		for _, i := range run {
			var bag []string
			if l := d.lines[i]; l.Sign != `\` && short(l.Text) {
				bag = slices.DeleteFunc(words(l.Text), func(w string) bool { return strings.TrimSpace(w) == "" })
				slices.Sort(bag)
			}
			bags = append(bags, bag)
		}
		return bags
	}
	return align(bags(olds), bags(news))
}

// align returns the pairs, in order, that have the most in common together.
func align(olds, news [][]string) (pairs []row) {
	best := make([][]int, len(olds)+1) // of the lines from i and j
	for i := range best {
		best[i] = make([]int, len(news)+1)
	}
	common := make([][]int, len(olds))
	for i := len(olds) - 1; i >= 0; i-- {
		common[i] = make([]int, len(news))
		for j := len(news) - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if common[i][j] = alike(olds[i], news[j]); common[i][j] >= minAlike {
				best[i][j] = max(best[i][j], best[i+1][j+1]+common[i][j])
			}
		}
	}
	for i, j := 0, 0; i < len(olds) && j < len(news); {
		switch {
		case common[i][j] >= minAlike && best[i][j] == best[i+1][j+1]+common[i][j]:
			pairs = append(pairs, row{i, j})
			i, j = i+1, j+1
		case best[i][j] == best[i+1][j]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// alike returns the percentage of bytes that two sorted lists of words have in common.
func alike(a, b []string) int {
	shared, total := 0, 0
	for len(a) > 0 && len(b) > 0 {
		switch strings.Compare(a[0], b[0]) {
		case 0:
			shared, total = shared+2*len(a[0]), total+2*len(a[0])
			a, b = a[1:], b[1:]
		case -1:
			total += len(a[0])
			a = a[1:]
		default:
			total += len(b[0])
			b = b[1:]
		}
	}
	for _, word := range append(a[:len(a):len(a)], b...) {
		total += len(word)
	}
	return shared * 100 / max(total, 1)
}

// changed returns the changed words of a line.
func (d *Diff) changed(i int) []span {
	j := d.partner[i]
	if j < 0 {
		return nil
	}
	if !d.compared[i] {
		before, after := min(i, j), max(i, j)
		d.marks[before], d.marks[after] = compare(d.lines[before].Text, d.lines[after].Text)
		d.compared[i], d.compared[j] = true, true
	}
	return d.marks[i]
}

// compare returns the words of two lines that differ; none if the lines have too
// little in common.
func compare(before, after string) (olds, news []span) {
	if !short(before) || !short(after) {
		return nil, nil
	}
	oldWords, newWords := words(before), words(after)
	numbers := map[string]rune{}
	number := func(words []string) (runes []rune) {
		for _, w := range words {
			if numbers[w] == 0 {
				numbers[w] = rune(len(numbers) + 1)
			}
			runes = append(runes, numbers[w])
		}
		return runes
	}
	var oldMarks, newMarks marker
	shared, total := 0, 0
	for _, e := range edits(number(oldWords), number(newWords)) {
		n := utf8.RuneCountInString(e.Text)
		switch e.Type {
		case diffmatchpatch.DiffDelete:
			total += oldMarks.take(&oldWords, n, true)
		case diffmatchpatch.DiffInsert:
			total += newMarks.take(&newWords, n, true)
		default:
			same := oldMarks.take(&oldWords, n, false)
			newMarks.take(&newWords, n, false)
			shared, total = shared+2*same, total+2*same
		}
	}
	if shared*100 < minAlike*total {
		return nil, nil
	}
	return oldMarks.marks, newMarks.marks
}

// edits returns the differences of two lists of words.
func edits(before, after []rune) []diffmatchpatch.Diff {
	prefix := 0
	for prefix < min(len(before), len(after)) && before[prefix] == after[prefix] {
		prefix++
	}
	suffix := 0
	for suffix < min(len(before), len(after))-prefix && before[len(before)-1-suffix] == after[len(after)-1-suffix] {
		suffix++
	}
	head, tail := before[:prefix], before[len(before)-suffix:]
	before, after = before[prefix:len(before)-suffix], after[prefix:len(after)-suffix]
	middle := []diffmatchpatch.Diff{{Type: diffmatchpatch.DiffDelete, Text: string(before)}, {Type: diffmatchpatch.DiffInsert, Text: string(after)}}
	if len(before)*len(after) <= maxWords {
		dmp := diffmatchpatch.New()
		dmp.DiffTimeout = 0 // the same result every time
		middle = dmp.DiffMainRunes(before, after, false)
	}
	all := []diffmatchpatch.Diff{{Type: diffmatchpatch.DiffEqual, Text: string(head)}}
	return append(append(all, middle...), diffmatchpatch.Diff{Type: diffmatchpatch.DiffEqual, Text: string(tail)})
}

// marker collects the changed words of one line.
type marker struct {
	at     int
	blanks bool // only blanks follow the last mark so far
	marks  []span
}

// take moves over n words, and returns their size without blanks. Changed words with
// only blanks between them have one mark.
func (m *marker) take(words *[]string, n int, changed bool) (size int) {
	for _, word := range (*words)[:n] {
		end := m.at + len(word)
		blank := strings.TrimSpace(word) == ""
		if !blank {
			size += utf8.RuneCountInString(word)
		}
		switch last := len(m.marks) - 1; {
		case !changed:
			m.blanks = m.blanks && blank
		case last >= 0 && m.blanks:
			m.marks[last].to = end
		default:
			m.marks = append(m.marks, span{m.at, end})
			m.blanks = true
		}
		m.at = end
	}
	*words = (*words)[n:]
	return size
}
