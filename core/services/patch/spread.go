package patch

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"golang.org/x/text/unicode/norm"
)

// checkLookalikes refuses a hunk that would replace the file's own quotes, dashes and the like
// unintentionally: one with an added line that contains a spelling which replaced a look-alike in
// an old line of the hunk. If the hunk spelled some in ASCII, the same applies to the ASCII
// spellings of other look-alikes of the file.
//
// Dashes count only between characters of the same kind as around such a dash in the file, and
// bullets only at the beginning of a line. A word of the hunk's old lines that the file has as well
// may be added, if the file has no look-alike of it.
func (c *corrector) checkLookalikes(h *hunk, s spot, base []string) error {
	stood := map[string]map[role]bool{} // by spelling
	bullet := map[string]bool{}
	add := func(mark rune, spelling string, r role) {
		if strings.ContainsRune(bullets, mark) {
			bullet[spelling] = true
			return
		}
		if stood[spelling] == nil {
			stood[spelling] = map[role]bool{}
		}
		stood[spelling][r] = true
	}
	words := map[string]bool{}
	seen := map[rune][]string{} // look-alikes of the file, with their spellings in the hunk
	var spaced []string         // words around spaces that replaced other spaces
	spelled := false
	k := 0
	for _, l := range h.lines {
		if !l.old() {
			continue
		}
		own := trimmed(content(base[s.line(k)]))
		k++
		for i, word := range strings.Fields(own) {
			words[placed(word, i)] = true
		}
		text := trimmed(l.text)
		stands, _ := alike(own, text)
		if len(stands) > 0 {
			text = norm.NFC.String(text)
		}
		for _, st := range stands {
			spelled = spelled || isASCII(st.diff)
			switch st.diff {
			case "":
			case " ":
				spaced = append(spaced, st.around(text))
			default:
				r, _ := utf8.DecodeRuneInString(st.file)
				seen[r] = append(seen[r], st.diff)
				add(r, st.diff, roleIn(text, st.at, len(st.diff)))
			}
		}
	}
	if spelled {
		for r, roles := range c.fileMarks() {
			spellings, ok := seen[r]
			if !ok {
				spellings = lookalikes()[r]
			}
			for _, spelling := range spellings {
				for role := range roles {
					add(r, spelling, role)
				}
			}
		}
	}
	for _, l := range h.lines {
		known := func(word string, i int) bool { return words[placed(word, i)] && !c.hasLookalike(placed(word, i)) }
		first, _, _ := strings.Cut(trimmed(l.text), " ")
		if l.op == gitdiff.OpAdd && (bullet[first] && !known(first, 0) || spreads(l.text, stood, spaced, known)) {
			return invalid("patch.correct", "Copy quotes, dashes, spaces and symbols of context, removed and added lines from the file byte for byte.",
				"Hunk %d fits at line %d only with other characters that look alike, and its added line %s has some of them.", h.number, s.line(0)+1, excerpt(l.text))
		}
	}
	return nil
}

// placed returns the i-th word of a line as words are compared: a word of punctuation at the
// beginning of a line differs from the same word elsewhere, because a dash is a bullet there.
func placed(word string, i int) string {
	if i == 0 || strings.ContainsFunc(word, isWordRune) {
		return word
	}
	return " " + word
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// spreads reports whether text has a spelling in stood, or words around a space in spaced. Words
// that are known do not count.
func spreads(text string, stood map[string]map[role]bool, spaced []string, known func(word string, i int) bool) bool {
	for _, words := range spaced {
		if strings.Contains(text, words) {
			return true
		}
	}
	for i, word := range strings.Fields(text) {
		if known(word, i) {
			continue
		}
		for spelling, roles := range stood {
			for at := 0; ; at += len(spelling) {
				n := strings.Index(word[at:], spelling)
				if n < 0 {
					break
				}
				at += n
				if !isDashes(spelling) {
					return true
				}
				first, last := at, at+len(spelling)
				for last < len(word) && word[last] == '-' {
					last++
				}
				if last-first == len(spelling) && roles[roleIn(word, first, last-first)] {
					return true
				}
				at = last - len(spelling)
			}
		}
	}
	return false
}

// role is the context of a dash: a letter or digit on either side, or another character.
type role struct{ before, after bool }

func roleIn(text string, at, length int) role {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at+length:])
	return role{isWordRune(before), isWordRune(after)}
}

func isDashes(s string) bool { return s != "" && strings.Trim(s, "-") == "" }

// hasLookalike reports whether the file has a different word that looks like this one, as returned
// by placed.
func (c *corrector) hasLookalike(word string) bool {
	if c.others == nil {
		c.others = map[string]map[string]bool{}
		for _, l := range c.base {
			if isASCII(l) {
				continue
			}
			for i, w := range strings.Fields(content(l)) {
				if !isASCII(w) {
					key := skeleton(w)
					if c.others[key] == nil {
						c.others[key] = map[string]bool{}
					}
					c.others[key][placed(w, i)] = true
				}
			}
		}
	}
	for other := range c.others[skeleton(word)] {
		if _, ok := alike(other, word); ok && other != word {
			return true
		}
	}
	return false
}

// fileMarks returns the look-alikes of the file that have a significant spelling, with their roles:
// quotes, dashes, bullets, and all that are spelled in two characters or more.
func (c *corrector) fileMarks() map[rune]map[role]bool {
	if c.marks != nil {
		return c.marks
	}
	c.marks = map[rune]map[role]bool{}
	table := lookalikes()
	for _, l := range c.base {
		if isASCII(l) {
			continue
		}
		for at, r := range l {
			spellings := table[r]
			if len(spellings) == 0 || len(spellings[0]) < 2 && strings.Trim(spellings[0], `'"-*`) != "" || spellings[0] == "" {
				continue
			}
			if c.marks[r] == nil {
				c.marks[r] = map[role]bool{}
			}
			c.marks[r][roleIn(l, at, utf8.RuneLen(r))] = true
		}
	}
	return c.marks
}
