package policy

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/policy/shell"
	"github.com/stretchr/testify/require"
)

// A pattern does not match texts in which it is not searched.
func TestPatternsAreSearchedWhereTheyMayMatch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	pieces := []string{"git", "push", "-f", "--force", " ", " ", "=", "a", "rm", "/", "-", shell.HoleWord, shell.HoleText, shell.HoleName, shell.HoleNumber}
	patterns := []string{
		".*git push.*", "git push.*", ".*--force.*", `rm\s+-[a-z]*f`, "(git|rm) -f", ".*git.*push.*-f", ".*a/?rm.*", "^git +push", "(a)+rm",
		"git (push|rm)", ".*[ab]rm.*", "(?i)git push", ".*(?i:force).*", `.*\bpush\b.*`, "git(?: push)+ a", ".*a{2,3}.*", "(rm)*-f", ".*-f$", `.*:\(\)\{.*`, ".*=a.*",
	}
	all := make([]traits, len(patterns))
	for i, pattern := range patterns {
		all[i] = traitsOf(pattern)
	}
	matched, skipped := 0, 0
	rounds := 5_000
	if os.Getenv("FETTLE_FULL") != "" {
		rounds = 100_000
	}
	for range rounds {
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
		for i, pattern := range patterns {
			l := &all[i]
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

// A rule would be found in none of the loose spellings that are not computed for
// it.
func TestLooseSpellingsAreMadeWhereTheyMayMatch(t *testing.T) {
	patterns := []string{
		"git push.*--force", "git push.*-f", "git push --delete", ".*--force.*", ".*--force-with-lease.*", "rm -rf", "rm -fr /", "rm --recursive", `rm\s+-[a-z]*f`,
		".*rm -r -f.*", "cp -Rf", "chmod -R", ".*--no-verify", "git.*--all.*", ".*-df", "git commit -(n|m)", "(git|rm) .*--dir", "rm .*--directory",
	}
	var rules []Rule
	for _, pattern := range patterns {
		rules = append(rules, Rule{Tools: []string{shellTool}, Decision: Deny, CommandRegex: pattern, Tier: TierUser})
	}
	e, err := NewEngine(Options{Rules: rules})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // the same each time
	programs := []string{"git", "/usr/bin/git", "rm", "cp", "chmod", "foo"}
	words := []string{"push", "commit", "+main", ":main", "main", "-f", "-r", "-rf", "-R", "-d", "-n", "-a", "--forc", "--rec", "--recursive", "--force", "--dir", "--all", "--delete", "--no-ver", "--", "/", "'a --forc b'", "-C", "x"}
	matched, skipped := 0, 0
	for range 2_000 {
		line := programs[r.IntN(len(programs))]
		for range 1 + r.IntN(5) {
			line += " " + words[r.IntN(len(words))]
		}
		c := Call{Tool: shellTool, Params: append(appendString([]byte(`{"command":`), line), '}')}
		d := newTrial(e.now.Load(), &c)
		j := d.takeApart(d.find(&c, d.args).shell)
		for i := range j.parts {
			j.spelled(i)
			for _, rule := range j.index.patterns.rules {
				found, may := j.searchAll(rule, i, j.loosely(i)) != no, j.mayReorder(rule, i)
				require.False(t, found && !may, "%s in %s", rule.CommandRegex, line)
				if found {
					matched++
				} else if !may {
					skipped++
				}
			}
		}
	}
	require.Greater(t, matched, 500)
	require.Greater(t, skipped, 500)
}

// The search of words finds every rule with a piece in a spelling of a part.
func TestPatternsAreFoundByWords(t *testing.T) {
	patterns := []string{
		"git push.*--force", ".*install.*", "npm i .*", `(curl|wget) .*\| *(ba)?sh`, ".*secret.*", "rm -rf", ".*a'b.*", `.*x\$y.*`, ".*python.*-m", ".*container rm.*", ".*>out", ".*b c.*", ".*/usr/bin.*", "(?i).*PUSH.*",
	}
	var rules []Rule
	for _, pattern := range patterns {
		rules = append(rules, Rule{Tools: []string{shellTool}, Decision: Deny, CommandRegex: pattern, Tier: TierUser})
	}
	e, err := NewEngine(Options{Rules: rules})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // the same each time
	programs := []string{"git", "/usr/bin/git", "npm", "docker", "curl", "sh", "pip", "s''h", "GIT", "foo", "cat", "cd x && rm", "timeout 3 wget"}
	words := []string{"push", "install", "i", "rm", "'a'\\''b'", `"a'b"`, `'x$y'`, "se\\cret", "--force", "-rf", "$x", "x$x", "*", "-C d", "'b c'", "> out", ">out", "2>&1", "| sh", "| tee secr''et | sh -s", "< in"}
	literal := 0
	for range 5_000 {
		line := programs[r.IntN(len(programs))]
		for range 1 + r.IntN(5) {
			line += " " + words[r.IntN(len(words))]
		}
		c := Call{Tool: shellTool, Params: append(appendString([]byte(`{"command":`), line), '}')}
		d := newTrial(e.now.Load(), &c)
		j := d.takeApart(d.find(&c, d.args).shell)
		for i := range j.parts {
			got := j.patternsOfPart(i)
			if j.isLiteral(i) {
				literal++
			}
			var want found
			for _, s := range j.spelled(i) {
				j.index.patterns.search(&want, s.text)
			}
			require.Subset(t, got, want.rules, line)
		}
	}
	require.Greater(t, literal, 1000)
}
