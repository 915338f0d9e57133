package discovery

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFindFromALiteral checks that a search from the first literal finds the match that package
// regexp finds in the whole line.
func TestFindFromALiteral(t *testing.T) {
	pieces := []string{"foo", "bar", "ba", "baz", "quux", "x", "é", "日", "\xff", "\xa9", "q", "FOO", "  ", "f", "o"}
	bounded := 0
	for _, expression := range []string{
		"foo|bar|baz|quux", "foo|foobar", "foobar|foo", ".foo", "..{0,3}foo.?", "(x|é)?ba[rz]", "[^f]foo", "(?i)foo.", "x{2,3}bar", "日?foo|é",
		`\bfoo`, "^foo", "foo$", "x.*foo", "x+bar", "(foo)*bar", `(?:x|\b)bar`,
	} {
		p, err := CompilePattern(expression, false, false)
		require.NoError(t, err)
		if p.maxMatch > 0 {
			bounded++
		}
		m := p.matcher(func() bool { return false })
		random := rand.New(rand.NewPCG(1, 2))
		for range 2_000 {
			var b strings.Builder
			for range random.IntN(40) {
				b.WriteString(pieces[random.IntN(len(pieces))])
			}
			line := []byte(b.String())
			want := p.re.FindIndex(line)
			if want == nil {
				continue
			}
			start, end := m.find(line)
			require.Equal(t, fmt.Sprint(want), fmt.Sprint([]int{start, end}), "%s in %q", expression, line)
		}
	}
	require.Equal(t, 10, bounded)
}

func TestLongestMatch(t *testing.T) {
	for expression, want := range map[string]int{
		"a": 4, "ab|c": 8, "(ab)?c": 12, "a{2,5}": 20, "a{2,}": 0, "a*": 0, "a+b": 0, "^a": 0, `a\b`: 0, "a$": 0, "[a-z]{1000}": 4000, strings.Repeat("[ab]{1000}", 17): 0,
	} {
		p, err := CompilePattern(expression, false, false)
		require.NoError(t, err)
		require.Equal(t, want, p.maxMatch, expression)
	}
}
