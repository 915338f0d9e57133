package policy

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/policy/shell"
	"github.com/stretchr/testify/require"
)

// What a pattern is not searched in, it does not match.
func TestPatternsAreSearchedWhereTheyMayMatch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	pieces := []string{"git", "push", "-f", "--force", " ", " ", "=", "a", "rm", "/", "-", shell.HoleWord, shell.HoleText, shell.HoleName, shell.HoleNumber}
	patterns := []string{
		".*git push.*", "git push.*", ".*--force.*", `rm\s+-[a-z]*f`, "(git|rm) -f", ".*git.*push.*-f", ".*a/?rm.*", "^git +push", "(a)+rm",
		"git (push|rm)", ".*[ab]rm.*", "(?i)git push", ".*(?i:force).*", `.*\bpush\b.*`, "git(?: push)+ a", ".*a{2,3}.*", "(rm)*-f", ".*-f$", `.*:\(\)\{.*`, ".*=a.*",
	}
	matched, skipped := 0, 0
	for range 20_000 {
		var b strings.Builder
		for range 1 + r.IntN(7) {
			p := pieces[r.IntN(len(pieces))]
			if from := r.IntN(len(p)); p[0] < 0x80 && r.IntN(3) == 0 {
				p = p[from:]
			} else if p[0] < 0x80 && r.IntN(3) == 0 {
				p = p[:from]
			}
			b.WriteString(p)
		}
		text := b.String()
		for _, pattern := range patterns {
			l := traitsOf(pattern)
			may := l.machine.may(text, search{anchored: true, to: len(text)}, &[2]states{})
			passes := mayLead(l.lead, text) && l.touches(betweenHoles(text))
			require.False(t, may && !passes && hasHoles(text), "%s in %q", pattern, text)
			if may {
				matched++
			} else if !passes {
				skipped++
			}
		}
	}
	require.Greater(t, matched, 1000)
	require.Greater(t, skipped, 1000)
}
