package policy

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// tightMatch matches the command prefix of a rule that denies or asks against the
// words of a command. Unlike one that allows, it matches the program by any path,
// its options in any position and combination, and its other words in their order
// between them: rm -rf also matches /bin/rm x -f -r, and git push also git -C dir
// push. A word of the command that is not fixed, or that may be the value of an
// unknown option, may match.
func tightMatch(prefix []string, words []shell.Word) tri {
	if len(words) == 0 {
		return no
	}
	if !fixed(words[0]) {
		return maybe
	}
	name := family(words[0].Text)
	if name != family(prefix[0]) {
		return no
	}
	meets := func(words []shell.Word) tri {
		m := matcher{habits: habitsOf[name], certain: yes}
		m.want(prefix[1:])
		for _, w := range words {
			m.take(w)
		}
		return min(m.certain, m.positionals(), m.options())
	}
	result := meets(words[1:])
	if result != yes && shell.Interprets(name) {
		result = max(result, meets(moduleFirst(words)))
	}
	return result
}

// moduleFirst returns the words after a program, with the module that it runs as
// -m NAME and without the options before it.
func moduleFirst(words []shell.Word) []shell.Word {
	var texts []string
	for _, w := range words {
		if !fixed(w) {
			break
		}
		texts = append(texts, w.Text)
	}
	module, next := shell.Module(texts)
	if module == "" {
		return words[1:]
	}
	return append([]shell.Word{{Text: "-m", Static: true}, {Text: module, Static: true}}, words[next:]...)
}

// matcher compares the words after the program.
type matcher struct {
	habits     habits
	wantNames  []string // operands, in order
	wantOption []string
	certain    tri

	matched  int  // of wantNames
	missed   bool // the next of wantNames is elsewhere, or missing
	open     bool // words that are not fixed may be the next of wantNames
	ended    bool // -- was seen
	swallows swallow
	letters  string   // of short options
	long     []string // options as written
	loose    bool     // a word that is not fixed may be an option
}

// swallow describes whether an option takes the next word as its value.
type swallow int

const (
	swallowsNone swallow = iota
	swallowsMaybe
	swallowsNext
)

// want parses the rule's words after the program.
func (m *matcher) want(words []string) {
	ended := false
	for _, w := range words {
		switch {
		case !ended && w == "--":
			ended = true
		case !ended && isOption(w):
			m.wantOption = append(m.wantOption, w)
		default:
			m.wantNames = append(m.wantNames, w)
		}
	}
}

func isOption(w string) bool { return len(w) > 1 && w[0] == '-' }

// take processes one word of the command.
func (m *matcher) take(w shell.Word) {
	swallows := m.swallows
	m.swallows = swallowsNone
	if !fixed(w) {
		m.takeLoose(w, swallows)
		return
	}
	switch {
	case swallows == swallowsNext:
		return
	case !m.ended && w.Text == "--":
		m.ended = true
		return
	case !m.ended && isOption(w.Text):
		m.option(w.Text)
		return
	case m.habits.toolchain && m.matched == 0 && strings.HasPrefix(w.Text, "+"):
		return
	case m.matched == len(m.wantNames) || m.missed:
		m.refspec(w.Text)
		return
	case m.abbreviated(w.Text):
		m.certain = min(m.certain, maybe)
		m.matched++
	case w.Text == m.wantNames[m.matched]:
		m.matched++
	case swallows == swallowsMaybe:
		m.certain = min(m.certain, maybe) // it may be a value
	case !m.open:
		m.missed = true
	}
}

// refspec processes a word after git push: +branch forces, and :branch deletes.
func (m *matcher) refspec(w string) {
	switch {
	case !m.habits.refspecs || m.matched == 0 || m.wantNames[0] != "push":
	case strings.HasPrefix(w, "+"):
		m.long = append(m.long, "--force")
	case strings.HasPrefix(w, ":"):
		m.long = append(m.long, "--delete")
	}
}

// abbreviated reports whether a word may be an abbreviation of the next of
// wantNames, for a program that accepts abbreviations.
func (m *matcher) abbreviated(w string) bool {
	want := m.wantNames[m.matched]
	return m.matched == 0 && m.habits.shortens != nil && w != want && strings.HasPrefix(want, w) && !slices.Contains(m.habits.shortens, w)
}

// takeLoose processes an ambiguous word.
func (m *matcher) takeLoose(w shell.Word, swallows swallow) {
	start, whole := startOf(w)
	if !m.ended && (start == "" || !whole || start[0] == '-') {
		m.loose = true
	}
	switch {
	case m.matched == len(m.wantNames) || m.missed:
	case swallows == swallowsNext && whole:
	case !whole && start == "", strings.HasPrefix(m.wantNames[m.matched], start):
		m.open = true
	case swallows != swallowsNone:
		m.certain = min(m.certain, maybe)
	case !m.open:
		m.missed = true
	}
}

// startOf returns the known prefix of the word. whole states that it expands to
// one word in any case.
func startOf(w shell.Word) (start string, whole bool) {
	text := w.Text
	if len(text) > 1 && text[0] == '"' && strings.IndexByte(text[1:], '"') == len(text)-2 {
		text, whole = text[1:len(text)-1], true
	}
	end := strings.IndexFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./+=:,@%", r))
	})
	if end < 0 {
		end = len(text)
	}
	return text[:end], whole
}

// option processes an option of the command.
func (m *matcher) option(w string) {
	m.long = append(m.long, w)
	if !strings.HasPrefix(w, "--") && !m.habits.singleDash {
		m.letters += w[1:]
	}
	switch {
	case strings.Contains(w, "="):
	case m.matched == 0 && slices.Contains(m.habits.valued, w):
		m.swallows = swallowsNext
	case !slices.Contains(m.habits.idle, w):
		m.swallows = swallowsMaybe
	}
}

// positionals reports whether the operands match.
func (m *matcher) positionals() tri {
	switch {
	case m.matched == len(m.wantNames):
		return yes
	case m.open && !m.missed:
		return maybe
	}
	return no
}

// options reports whether the command has all options of the rule.
func (m *matcher) options() tri {
	result := yes
	for _, want := range m.wantOption {
		found := m.has(want)
		if found == no && m.loose {
			found = maybe
		}
		result = min(result, found)
	}
	return result
}

// has reports whether the command has an option, alone, with a value, combined
// with others, or by its other name.
func (m *matcher) has(want string) tri {
	result := no
	for _, w := range m.long {
		name, _, _ := strings.Cut(w, "=")
		switch {
		case w == want || name == want:
			return yes
		case abbreviates(name, want):
			result = maybe
		}
	}
	if strings.HasPrefix(want, "--") {
		for letter, long := range m.habits.long {
			if long == want[2:] && strings.ContainsRune(m.letters, letter) {
				return yes
			}
		}
		return result
	}
	if m.habits.singleDash || len(want) > 4 {
		return result
	}
	for _, letter := range want[1:] {
		if !m.letter(letter) {
			return result
		}
	}
	return yes
}

// abbreviates reports whether a word may be an abbreviation of a long option, which
// programs accept down to one letter.
func abbreviates(name, long string) bool {
	return len(name) > len("--") && len(name) < len(long) && strings.HasPrefix(name, "--") && strings.HasPrefix(long, name)
}

// letter reports whether the command has a short option, or the equivalent long
// one.
func (m *matcher) letter(letter rune) bool {
	if strings.ContainsRune(m.letters, letter) {
		return true
	}
	long := m.habits.long[letter]
	if long == "" {
		return false
	}
	for other, same := range m.habits.long {
		if same == long && strings.ContainsRune(m.letters, other) {
			return true
		}
	}
	for _, w := range m.long {
		name, _, _ := strings.Cut(w, "=")
		if name == "--"+long || abbreviates(name, "--"+long) {
			return true
		}
	}
	return false
}
