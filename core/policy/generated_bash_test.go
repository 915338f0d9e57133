//go:build unix

package policy_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// scripts generates random scripts of constructs that may hide a program. They
// can only run echo, rm and shells.
type scripts struct{ *rand.Rand }

func (s scripts) one(choices ...string) string { return choices[s.IntN(len(choices))] }

// word returns a word that may expand to the name of a program.
func (s scripts) word() string {
	return s.one("rm", `r\m`, `r""m`, `$'\x72m'`, "$x", `"$x"`, "$y", "${x}", "${x:-rm}", "${z:-rm}", "${y%?}", "${x/a/r}", "$(echo rm)", "`echo rm`",
		"echo", "echo", "echo", "f", "g", "$1", `"$@"`, "${a[0]}", `"${a[@]}"`, "r${z}m", "/bin/rm", "${!p}", "$f", "{rm,x}", "r[m]", "${x,,}", "r$@m")
}

// simple returns a simple command.
func (s scripts) simple(depth int) string {
	switch s.IntN(16) {
	case 0:
		return s.one("x", "y", "z", "f", "p") + "=" + s.one("rm", "echo", "r", "am", "rmx", "'rm x'", "'echo rm'", "x", "$x", "$(echo rm)", `"$y"`)
	case 1:
		return "a=(" + s.word() + " x)"
	case 2:
		return "set -- " + s.word() + " x"
	case 3:
		return s.one("command", "exec", "env", "env -u Q", "builtin command", "nice", "timeout 5", "nohup", "env x=rm", "command -v") + " " + s.word() + " x"
	case 4:
		return "eval " + s.one(s.word()+" x", "'"+strings.ReplaceAll(s.script(depth-1), "'", `'\''`)+"'", `"$x" y`, `"$y"`)
	case 5:
		return s.one("sh", "bash") + " -c " + s.one("'"+strings.ReplaceAll(s.script(depth-1), "'", `'\''`)+"'", `"$x y"`, `'$0 x' rm`, `'"$@"' _ `+s.word())
	case 6:
		return s.one("unset -f f", "unset x", "unset -f rm", "export x", "local x=rm", "declare -n p=x", "readonly z=rm", "shift", "alias echo=rm", "shopt -s expand_aliases", "hash -r", "declare -l x", "declare y=rm", "read -r x <<< rm", "printf -v y %s rm", ":", "true", "false", "IFS=a")
	case 7:
		return "trap '" + strings.ReplaceAll(s.word(), "'", `'\''`) + " x' " + s.one("EXIT", "DEBUG", "ERR")
	case 8:
		return "echo " + s.one("$(", `"$(`) + s.script(depth-1) + "\n)"
	case 9:
		return s.one("sh", "bash", "cat", "bash -s") + " <<" + s.one("E", "'E'") + "\n" + s.word() + " x\nE\n"
	case 10:
		return s.one("echo", "f", "g", "rm") + "() { " + s.script(depth-1) + "\n}"
	}
	return s.word() + " " + s.one("x", "", "rm", "$x", "$(echo q)", "-f x", "2>/dev/null", "<<< rm")
}

// script returns one or more commands.
func (s scripts) script(depth int) string {
	if depth <= 0 {
		return s.one("echo hi", s.word()+" x")
	}
	a, b := s.simple(depth), s.simple(depth)
	switch s.IntN(14) {
	case 0:
		return "if " + a + "\nthen " + b + "\nfi"
	case 1:
		return "for " + s.one("x", "y", "i") + " in " + s.word() + " echo; do " + b + "\ndone"
	case 2:
		return "case " + s.word() + " in r*) " + a + "\n;; *) " + b + "\n;; esac"
	case 3:
		return "(" + a + "\n)\n" + b
	case 4:
		return "{ " + a + "\n}\n" + b
	case 5:
		return a + "\n" + s.script(depth-1)
	case 6:
		return "! " + a + "\n" + b
	case 7:
		return a + " | " + b
	case 8:
		return a + " && " + b
	case 9:
		return a + " || " + b
	}
	return a + "\n" + b + "\n" + s.script(depth-1)
}

// No random script for which bash runs a denied program is allowed if everything
// else is.
func TestGeneratedAgainstBash(t *testing.T) {
	e, err := policy.NewEngine(policy.Options{Rules: []policy.Rule{{
		Tools: []string{"run_shell_command"}, CommandPrefix: []string{"rm"}, Decision: policy.Deny, Priority: 500, Tier: policy.TierUser, Source: "test",
	}}})
	require.NoError(t, err)
	b := newBox(t)
	n, ran, allowed := rounds(120, 20_000), 0, 0
	for i := range n {
		line := scripts{rand.New(rand.NewPCG(5, uint64(i)))}.script(3) //nolint:gosec // repeatable, not secret
		verdict := decide(t, e, line, policy.ModeYolo).Decision
		if verdict == policy.Allow {
			allowed++
		} else if i%4 != 0 {
			continue // only occasionally, to verify that they run something
		}
		stubs, _ := b.run(t, line)
		for _, argv := range stubs {
			if argv[0] != "rm" {
				continue
			}
			ran++
			if verdict == policy.Allow {
				t.Errorf("number %d is allowed, and bash runs %q:\n%s", i, argv, line)
			}
			break
		}
	}
	require.Greater(t, ran, n/40, "enough of them run what is denied")
	require.Greater(t, allowed, n/200, "enough of them are allowed")
}

// bash reads the spellings that [TestQuotingNeverLoosens] tries as intended.
func TestSpellingsAgainstBash(t *testing.T) {
	b := newBox(t)
	random := rand.New(rand.NewPCG(6, 0)) //nolint:gosec // repeatable, not secret
	for range rounds(40, 5_000) {
		words := denied[random.IntN(len(denied))]
		line := spell(random, words)
		stubs, _ := b.run(t, line)
		require.Equal(t, [][]string{words}, stubs, fmt.Sprintf("%q", line))
	}
}

// tokens are the elements of a line's structure; in random order they find
// differences between the parser and bash.
var tokens = []string{
	"rm x", "rm x", "rm x\n", "\nrm x\n", ":", "echo ", "'", "'", `"`, `"`, "\\", "\\\n", "\n", "\n", "#", " #", " ", " ", "\t", ";", ";", "&&", "|", "&", "!",
	"<<E", "<<'E'", "<<-E", `<<\E`, "<<E E", "\nE\n", "\nE\n", "\n\tE\n", "E", "<<<", "$(", "$(", ")", ")", "`", "`", "\\`", "{ ", ";}", "}", "(", "${x:-", "${x", "${#", "$'", `$"`,
	"\\'", `\"`, "\\\\", "$((", "((", "))", "[[ ", " ]]", "[", "]", "a[", "]=", "a=", "a=(", "case a in a) ", ";;", " esac", "f() ", "if :; then ", "; fi", "for i in a; do ", "; done",
	"<(", "@(", "*(", "$", "time ", "coproc ", "eval ", "~", "%", "/", "2>", ">", "=~ ", "== ", "-n ", "function f ", "let ", "declare ", "{a,b}", "in ", "do ", "then ",
}

// No random sequence of tokens for which bash runs a denied program is allowed if
// everything else is.
func TestTokensAgainstBash(t *testing.T) {
	e, err := policy.NewEngine(policy.Options{Rules: []policy.Rule{{
		Tools: []string{"run_shell_command"}, CommandPrefix: []string{"rm"}, Decision: policy.Deny, Priority: 500, Tier: policy.TierUser, Source: "test",
	}}})
	require.NoError(t, err)
	b := newBox(t)
	random := rand.New(rand.NewPCG(7, 0)) //nolint:gosec // repeatable, not secret
	run := 0
	for range rounds(5_000, 3_000_000) {
		var line strings.Builder
		for range 2 + random.IntN(9) {
			line.WriteString(tokens[random.IntN(len(tokens))])
		}
		text := line.String()
		if !strings.Contains(text, "rm") || decide(t, e, text, policy.ModeYolo).Decision != policy.Allow {
			continue
		}
		run++
		stubs, _ := b.run(t, text)
		for _, argv := range stubs {
			if argv[0] == "rm" {
				t.Errorf("%q is allowed, and bash runs %q", text, argv)
				break
			}
		}
	}
	t.Logf("%d of them were allowed, and run", run)
}
