package patch

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// bullets are look-alikes at the beginning of a line.
const bullets = "\u2022\u2023\u25E6\u25AA\u25AB\u25CF\u25CB\u00B7\u2219"

// lookalikes maps characters to the ASCII spellings that models, and text formatters, write for
// them. An empty spelling omits the character.
var lookalikes = sync.OnceValue(func() map[rune][]string {
	m := map[rune][]string{
		'…': {"..."}, '‥': {".."},
		'→': {"->", "-->"}, '←': {"<-", "<--"}, '↔': {"<->", "<-->"}, '➔': {"->"}, '➜': {"->"}, '⟶': {"-->", "->"}, '⟵': {"<--", "<-"},
		'⇒': {"=>", "==>"}, '⇐': {"<=", "<=="}, '⇔': {"<=>", "<==>"},
		'≤': {"<="}, '≥': {">="}, '≠': {"!=", "/="}, '×': {"*"}, '±': {"+/-", "+-"}, '≈': {"~", "~="}, '÷': {"/"},
		'©': {"(c)", "(C)"}, '®': {"(r)", "(R)"}, '™': {"(tm)", "(TM)", "TM"},
		'½': {"1/2"}, '¼': {"1/4"}, '¾': {"3/4"},
		'\uFB00': {"ff"}, '\uFB01': {"fi"}, '\uFB02': {"fl"}, '\uFB03': {"ffi"}, '\uFB04': {"ffl"},
	}
	each := func(runes string, spellings ...string) {
		for _, r := range runes {
			m[r] = spellings
		}
	}
	each("\u2018\u2019\u201A\u201B\u2032\u00B4", "'")
	each("\u201C\u201D\u201E\u201F\u2033", `"`, "``", "''")
	each("\u00AB\u00BB", `"`)
	each("\u2010\u2011\u2012\u2043\u2212", "-")
	each("\u2013", "-", "--")
	each("\u2014\u2015", "-", "--", "---")
	each(bullets, "*", "-", "+")
	each("\u00A0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u202F\u205F\u3000", " ")
	each("\u200B\u200C\u200D\u2060\uFEFF\u00AD", "")
	for r := rune(0xFF01); r <= 0xFF5E; r++ { // full width
		m[r] = []string{string(r - 0xFF01 + '!')}
	}
	return m
})

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// skeleton is the common part of look-alike lines: their letters and digits without accents, and
// the ASCII punctuation that occurs in no spelling of a look-alike.
func skeleton(s string) string {
	if !isASCII(s) {
		s = norm.NFD.String(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	keep := func(r rune) {
		if !strings.ContainsRune(" \t'`\"-.*+<>=!/~()", r) && (r < utf8.RuneSelf || unicode.IsLetter(r) || unicode.IsDigit(r)) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	table := lookalikes()
	for _, r := range s {
		spellings, ok := table[r]
		if !ok {
			keep(r)
			continue
		}
		for _, c := range spellings[0] {
			keep(c)
		}
	}
	return b.String()
}

// substitution is a look-alike of a file and its replacement in a diff.
type substitution struct {
	file, diff string
	at         int // of diff in the line, in bytes
}

// around returns the text of line at st, with the words on either side of it.
func (st substitution) around(line string) string {
	from := strings.LastIndexAny(line[:st.at], whiteSpace) + 1
	to := st.at + len(st.diff)
	if n := strings.IndexAny(line[to:], whiteSpace); n >= 0 {
		return line[from : to+n]
	}
	return line[from:]
}

// alike reports whether two lines are equal except for look-alikes and the composition of accents,
// and returns the differences.
func alike(file, diff string) ([]substitution, bool) {
	if file == diff {
		return nil, true
	}
	if isASCII(file) && isASCII(diff) {
		return nil, false
	}
	m := matcher{table: lookalikes(), steps: 64 + 16*(len(file)+len(diff))}
	file, diff = norm.NFC.String(file), norm.NFC.String(diff)
	m.length = len(diff)
	ok := m.match(file, diff)
	return m.found, ok
}

// matcher compares two lines, one of which may have a spelling of a look-alike in the other.
type matcher struct {
	table  map[rune][]string
	found  []substitution
	length int // of the line of the diff
	steps  int // remaining steps; limits the search among several spellings
}

func (m *matcher) match(file, diff string) bool {
	n := 0
	for n < len(file) && n < len(diff) && file[n] == diff[n] {
		n++
	}
	for n > 0 && (n < len(file) && !utf8.RuneStart(file[n]) || n < len(diff) && !utf8.RuneStart(diff[n])) {
		n--
	}
	file, diff = file[n:], diff[n:]
	if file == "" && diff == "" {
		return true
	}
	if m.steps--; m.steps < 0 {
		return false
	}
	a, na := utf8.DecodeRuneInString(file)
	b, nb := utf8.DecodeRuneInString(diff)
	inFile, inDiff := m.table[a], m.table[b] // none at an end
	mark := len(m.found)
	for _, s := range inFile {
		if rest, ok := strings.CutPrefix(diff, s); ok {
			m.found = append(m.found[:mark], substitution{file[:na], s, m.length - len(diff)})
			if m.match(file[na:], rest) {
				return true
			}
		}
		for _, other := range inDiff {
			if s == other {
				m.found = append(m.found[:mark], substitution{file[:na], diff[:nb], m.length - len(diff)})
				if m.match(file[na:], diff[nb:]) {
					return true
				}
			}
		}
	}
	for _, s := range inDiff {
		if rest, ok := strings.CutPrefix(file, s); ok {
			m.found = append(m.found[:mark], substitution{s, diff[:nb], m.length - len(diff)})
			if m.match(rest, diff[nb:]) {
				return true
			}
		}
	}
	m.found = m.found[:mark]
	return false
}
