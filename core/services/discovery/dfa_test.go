package discovery

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func never() bool { return false }

// The automaton agrees with package regexp.
func FuzzAutomaton(f *testing.F) {
	for _, expression := range []string{
		"a", "", "^a", "a$", "^$", `\b`, `\Bx\B`, `\bfoo\b|bar$`, "(a|b|c)+d?[xyz]{2}", `^\s+if`, "(?i)sk", "(?m)^a$", "(?s)a.b", ".{3,5}$", "[^a]", `\Aa\z`, "(a*)*b", "x{0}", "[[:^ascii:]]|a", "(^a|b)c",
	} {
		f.Add(expression, "foo abc\rsk a b xyz dxx", true)
		f.Add(expression, "", false)
		f.Add(expression, "fo\xffo äbc \u212a\u017f\xe2\x82 \ufffd😀d?xy", false)
	}
	f.Fuzz(func(t *testing.T, expression, line string, fold bool) {
		p, err := CompilePattern(expression, false, fold)
		if err != nil || strings.Contains(line, "\n") {
			return
		}
		a := newAutomaton(p.prog)
		for range 2 { // the second time with existing states
			if matched, known := a.match([]byte(line)); known {
				require.Equal(t, p.re.MatchString(line), matched, "%q in %q", expression, line)
			} else {
				require.Negative(t, a.room)
			}
		}
	})
}

// With too many states the automaton gives up, and matching continues without it.
func TestAutomatonIsBounded(t *testing.T) {
	p := pattern(t, "(a|b)*a(a|b){14}x")
	m := p.matcher(never)
	letters := strings.NewReplacer("0", "a", "1", "b")
	found := 0
	for i := range 3_000 {
		line := letters.Replace(fmt.Sprintf("01101%015b", i))
		require.Equal(t, p.re.MatchString(line), m.match([]byte(line)))
		if m.match([]byte(line + "x")) {
			found++
		}
		require.LessOrEqual(t, len(m.dfa.states), 1+room/stateSize)
	}
	require.Negative(t, m.dfa.room)
	require.Positive(t, found)
	_, known := m.dfa.match([]byte("a"))
	require.False(t, known)
}

// Lines that are not ASCII are matched too.
func TestMatchBeyondASCII(t *testing.T) {
	for expression, lines := range map[string]map[string]bool{
		`\bn.+l$`:  {"die nädel": true, "die nädeln": false, "nail": true, "\xffnail": true, "nail\xff": false},
		"(?i)k+$":  {"\u212a": true, "K": true, "ü": false},
		"[^a-z ]":  {"a ü": true, "a u": false, "a \xff": true},
		"^(ä|b)+$": {"äbä": true, "bb": true, "bä c": false},
	} {
		m := pattern(t, expression).matcher(never)
		for line, want := range lines {
			matched, known := m.dfa.match([]byte(line))
			require.True(t, known)
			require.Equal(t, want, matched, "%q in %q", expression, line)
		}
	}
}
