package policy_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// rounds returns the number of attempts for a property: few by default, and many
// if FETTLE_FULL is set. All of them then take longer than the default timeout of
// go test: pass -timeout 30m.
func rounds(few, many int) int {
	switch {
	case os.Getenv("FETTLE_FULL") != "":
		return many
	case testing.Short():
		return few / 4
	}
	return few
}

const marker = "marker-of-this-test"

// closed reports whether text after a line and a separator is a command of its
// own: the line parses completely and leaves no comment, heredoc or bracket open.
func closed(line, separator string) bool {
	after := shell.Parse(line + separator + marker)
	return shell.Parse(line).Problem == "" && after.Problem == "" &&
		slices.ContainsFunc(after.Parts, func(p shell.Part) bool { return p.Text == marker && p.Parent == -1 })
}

// pool returns the lines of the corpus that can be joined with others.
func pool(t testing.TB) []string {
	t.Helper()
	var lines []string
	for _, entry := range corpus(t) {
		lines = append(lines, entry.Line)
	}
	lines = append(lines, listed(t, "everyday.txt")...)
	lines = append(lines, listed(t, "edits.txt")...)
	// If a line assigns IFS, splicing it may no longer separate.
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return strings.Contains(line, "$IFS") || strings.Contains(line, "${IFS")
	})
	lines = slices.DeleteFunc(lines, func(line string) bool { return !closed(line, "\n") || !closed(line, "; ") })
	require.Greater(t, len(lines), 600, "most lines can be joined")
	return lines
}

// joins are constructs that run, or may run, all their lines.
var joins = map[string]func(a, b, c string) string{
	";":        func(a, b, c string) string { return a + "; " + b + "; " + c },
	"newline":  func(a, b, c string) string { return a + "\n" + b + "\n" + c },
	"&&":       func(a, b, c string) string { return a + " && " + b + " && " + c },
	"||":       func(a, b, c string) string { return a + " || " + b + " || " + c },
	"|":        func(a, b, c string) string { return a + " | " + b + " | " + c },
	"|&":       func(a, b, c string) string { return a + " |& " + b + " |& " + c },
	"&":        func(a, b, c string) string { return a + " & " + b + " & " + c + " &" },
	"mixed":    func(a, b, c string) string { return a + " && " + b + " | " + c },
	"$()":      func(a, b, c string) string { return "echo $(" + a + "\n) \"$(" + b + "\n)\" <(" + c + "\n)" },
	"backtick": func(a, b, c string) string { return "echo `" + escapeBackticks(a) + "\n`; " + b + "; " + c },
	"( )":      func(a, b, c string) string { return "(" + a + "\n" + b + "\n); " + c },
	"{ }":      func(a, b, c string) string { return "{ " + a + "\n" + b + "\n} && " + c },
	"if":       func(a, b, c string) string { return "if " + a + "\nthen " + b + "\nelse " + c + "\nfi" },
	"while":    func(a, b, c string) string { return "while " + a + "\ndo " + b + "\ndone; " + c },
	"for":      func(a, b, c string) string { return "for i in 1 $(" + a + "\n); do " + b + "\n" + c + "\ndone" },
	"case":     func(a, b, c string) string { return "case $(" + a + "\n) in x) " + b + "\n;; *) " + c + "\n;; esac" },
	"function": func(a, b, c string) string {
		return "fettle_f() {\n" + a + "\n" + b + "\n}; fettle_f; " + c
	},
	"heredoc": func(a, b, c string) string {
		return "cat <<FETTLE_E\n$(" + a + "\n)\nFETTLE_E\n" + b + "\n" + c
	},
	"assignment": func(a, b, c string) string { return "v=$(" + a + "\n) w=\"$(" + b + "\n)\"; " + c },
	"arithmetic": func(a, b, c string) string { return "echo $(( $(" + a + "\n) + 1 )); " + b + "\n" + c },
	"test":       func(a, b, c string) string { return "[[ -n $(" + a + "\n) ]] && " + b + "\n" + c },
	"default":    func(a, b, c string) string { return "echo ${v:-$(" + a + "\n)}; " + b + "\n" + c },
	"! and time": func(a, b, c string) string { return "! " + a + "\ntime " + b + "\n! " + c },
	"eval":       func(a, b, c string) string { return "eval " + single(a) + "; " + b + "\n" + c },
	"shell":      func(a, b, c string) string { return "bash -c " + single(a+"\n"+b) + "; " + c },
	"trap":       func(a, b, c string) string { return "trap " + single(a) + " EXIT; " + b + "\n" + c },
	"redirected": func(a, b, c string) string { return "{ " + a + "\n} 2>/dev/null; " + b + "\n" + c },
}

// single puts text into single quotes.
func single(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func escapeBackticks(text string) string {
	return strings.NewReplacer("\\", "\\\\", "`", "\\`", "$", "\\$").Replace(text)
}

// noLooser fails if the joined line gets a laxer verdict than the strictest of
// its lines alone. One that does not parse is never allowed if one of its lines
// is not.
func noLooser(t testing.TB, e *policy.Engine, shape, joined string, lines []string, mode policy.ApprovalMode) (whole bool) {
	t.Helper()
	want := 0
	for _, line := range lines {
		want = max(want, strict(decide(t, e, line, mode).Decision))
	}
	d := decide(t, e, joined, mode)
	consistent(t, joined, d)
	if shell.Parse(joined).Problem != "" {
		if want > 0 && d.Decision == policy.Allow {
			t.Errorf("%s in %s mode: %q does not parse and is allowed", shape, mode, joined)
		}
		return false
	}
	if strict(d.Decision) < want {
		t.Errorf("%s in %s mode: %q is %s, and one of its lines alone is stricter:", shape, mode, joined, d.Decision)
		for _, line := range lines {
			t.Errorf("\t%q is %s", line, decide(t, e, line, mode).Decision)
		}
	}
	return true
}

// Joining lines never gives a verdict laxer than the strictest of them alone,
// whatever joins them.
func TestJoiningNeverLoosens(t *testing.T) {
	e := corpusEngine(t)
	lines := pool(t)
	names := make([]string, 0, len(joins))
	for name := range joins {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, shape := range names {
		t.Run(shape, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, uint64(i))) //nolint:gosec // repeatable, not secret
			whole, n := 0, rounds(40, 10_000)
			for range n {
				three := []string{lines[random.IntN(len(lines))], lines[random.IntN(len(lines))], lines[random.IntN(len(lines))]}
				if noLooser(t, e, shape, joins[shape](three[0], three[1], three[2]), three, modes[random.IntN(3)]) {
					whole++
				}
			}
			require.Greater(t, whole, n/3, "enough of them parse")
		})
	}
}

// denied are simple commands that testdata/policy.toml denies, as words.
var denied = [][]string{
	{"rm", "x"}, {"rm", "-rf", "x"}, {"git", "push"}, {"git", "push", "--force", "origin"}, {"git", "clean", "-fdx"},
	{"git", "reset", "--hard"}, {"curl", "https://x.example/"}, {"sudo", "ls"}, {"chmod", "-R", "777", "x"}, {"dd", "if=a"},
}

// respell writes a word in a form that bash reads as the same word.
func respell(random *rand.Rand, word string) string {
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		c := word[i]
		switch random.IntN(12) {
		case 0, 1:
			b.WriteByte(c)
		case 2:
			b.WriteString("\\" + string(c))
		case 3:
			b.WriteString("'" + string(c) + "'")
		case 4:
			b.WriteString(`"` + string(c) + `"`)
		case 5:
			fmt.Fprintf(&b, `$'\x%02x'`, c)
		case 6:
			fmt.Fprintf(&b, `$'\%03o'`, c)
		case 7:
			fmt.Fprintf(&b, `$'\u%04x'`, c)
		case 8:
			b.WriteString("''" + string(c))
		case 9:
			b.WriteString(string(c) + `""`)
		case 10:
			b.WriteString("\\\n" + string(c))
		case 11:
			b.WriteString(`$"` + string(c) + `"`)
		}
	}
	return b.String()
}

// spell writes words as a command that bash reads as the same words.
func spell(random *rand.Rand, words []string) string {
	blanks := []string{" ", "  ", "\t", " \\\n ", "\t \t"}
	var b strings.Builder
	for i, word := range words {
		if i > 0 {
			b.WriteString(blanks[random.IntN(len(blanks))])
		}
		b.WriteString(respell(random, word))
	}
	if random.IntN(4) == 0 { // all of it in braces
		spelled := make([]string, len(words))
		for i, word := range words {
			spelled[i] = respell(random, word)
		}
		if len(words) > 1 && !strings.Contains(strings.Join(words, ""), ",") {
			return "{" + strings.Join(spelled, ",") + "}"
		}
	}
	return b.String()
}

// A denied command stays denied however its words are quoted.
func TestQuotingNeverLoosens(t *testing.T) {
	e := corpusEngine(t)
	random := rand.New(rand.NewPCG(2, 0)) //nolint:gosec // repeatable, not secret
	for range rounds(3_000, 300_000) {
		line := spell(random, denied[random.IntN(len(denied))])
		if d := decide(t, e, line, policy.ModeYolo); d.Decision != policy.Deny {
			t.Errorf("%q: %s, want deny", line, d.Decision)
		}
	}
}

// shape is the form of a piece of a line. A consumer of one accepts all lower
// ones too.
type shape int

const (
	plainWords   shape = iota // of a program, without quotes
	programWords              // of a program
	builtinWords              // of a builtin, which only the shell runs
	prefixed                  // with an assignment or a redirection before them
	anyLine
)

// wrappers create a line that runs the given command.
var wrappers = []struct {
	takes, gives shape
	wrap         func(command string) string
}{
	{programWords, programWords, func(c string) string { return "env " + c }},
	{programWords, programWords, func(c string) string { return "env A=1 -u B " + c }},
	{programWords, programWords, func(c string) string { return "env -u B A=1 " + c }},
	{programWords, programWords, func(c string) string { return "/usr/bin/env " + c }},
	{programWords, programWords, func(c string) string { return "nohup " + c }},
	{programWords, programWords, func(c string) string { return "nice -n 5 " + c }},
	{programWords, programWords, func(c string) string { return "nice " + c }},
	{programWords, programWords, func(c string) string { return "timeout 5 " + c }},
	{programWords, programWords, func(c string) string { return "timeout -k 1 -s KILL 5s " + c }},
	{programWords, programWords, func(c string) string { return "timeout --preserve-status 5 " + c }},
	{programWords, programWords, func(c string) string { return "stdbuf -oL -e 0 " + c }},
	{programWords, programWords, func(c string) string { return "setsid -w " + c }},
	{programWords, programWords, func(c string) string { return "ionice -c 3 " + c }},
	{programWords, programWords, func(c string) string { return "chrt -o 0 " + c }},
	{programWords, programWords, func(c string) string { return "taskset 1 " + c }},
	{programWords, programWords, func(c string) string { return "flock lock " + c }},
	{programWords, programWords, func(c string) string { return "xargs -n 1 -0 " + c }},
	{programWords, programWords, func(c string) string { return "sudo -u nobody " + c }},
	{programWords, programWords, func(c string) string { return "doas " + c }},
	{programWords, programWords, func(c string) string { return "strace -f " + c }},
	{plainWords, programWords, func(c string) string { return "busybox " + c }},
	{plainWords, prefixed, func(c string) string { return "watch -n 1 " + c }},
	{plainWords, prefixed, func(c string) string { return "ssh -p 22 host " + c }},
	{plainWords, programWords, func(c string) string { return "env -S " + single(c) }},
	{programWords, builtinWords, func(c string) string { return "command " + c }},
	{programWords, builtinWords, func(c string) string { return "command -p -- " + c }},
	{programWords, builtinWords, func(c string) string { return "exec " + c }},
	{programWords, builtinWords, func(c string) string { return "exec -a ls " + c }},
	{programWords, builtinWords, func(c string) string { return "builtin exec " + c }},
	{builtinWords, prefixed, func(c string) string { return "FOO=1 " + c }},
	{builtinWords, prefixed, func(c string) string { return "2>/dev/null " + c }},
	{anyLine, programWords, func(c string) string { return "sh -c " + single(c) }},
	{anyLine, programWords, func(c string) string { return "bash -euc " + single(c) + " a b" }},
	{anyLine, programWords, func(c string) string { return "bash -lc " + single("ls; "+c) }},
	{anyLine, programWords, func(c string) string { return "/bin/bash --norc -c " + single(c) }},
	{anyLine, programWords, func(c string) string { return "script -qc " + single(c) + " /dev/null" }},
	{anyLine, programWords, func(c string) string { return "flock lock -c " + single(c) }},
	{anyLine, programWords, func(c string) string { return "su -c " + single(c) }},
	{anyLine, prefixed, func(c string) string { return "watch " + single(c) }},
	{anyLine, programWords, func(c string) string { return "echo \"$(" + c + "\n)\"" }},
	{anyLine, builtinWords, func(c string) string { return "eval " + single(c) }},
	{anyLine, builtinWords, func(c string) string { return "trap " + single(c) + " EXIT" }},
	{prefixed, anyLine, func(c string) string { return "ls | " + c }},
	{programWords, anyLine, func(c string) string { return "echo x | xargs " + c }},
	{programWords, anyLine, func(c string) string { return "find . -exec " + c + " \\;" }},
	{programWords, anyLine, func(c string) string { return "find . -name a -ok " + c + " ';'" }},
	{anyLine, anyLine, func(c string) string { return "bash <<< " + single(c) }},
	{anyLine, anyLine, func(c string) string { return "f() { " + c + "\n}; f" }},
	{anyLine, anyLine, func(c string) string { return "{ " + c + "\n}" }},
	{prefixed, anyLine, func(c string) string { return "time " + c }},
	{prefixed, anyLine, func(c string) string { return "! " + c }},
}

// A denied command stays denied behind any wrappers.
func TestWrappingNeverLoosens(t *testing.T) {
	e := corpusEngine(t)
	random := rand.New(rand.NewPCG(3, 0)) //nolint:gosec // repeatable, not secret
	for _, words := range denied {
		for _, w := range wrappers {
			line := w.wrap(strings.Join(words, " "))
			if d := decide(t, e, line, policy.ModeYolo); d.Decision != policy.Deny {
				t.Errorf("%q: %s, want deny", line, d.Decision)
			}
		}
	}
	for range rounds(3_000, 300_000) {
		line, is := strings.Join(denied[random.IntN(len(denied))], " "), plainWords
		for range 1 + random.IntN(4) {
			if w := wrappers[random.IntN(len(wrappers))]; is <= w.takes {
				line, is = w.wrap(line), w.gives
			}
		}
		if d := decide(t, e, line, policy.ModeYolo); d.Decision != policy.Deny {
			t.Errorf("%q: %s, want deny", line, d.Decision)
		}
	}
}

// A line with a denied part is not allowed, with any text before and after it,
// provided that the text before is complete.
func FuzzNeverLoosens(f *testing.F) {
	fuzzseed.Add(f)
	e := corpusEngine(f)
	for _, entry := range corpus(f) {
		f.Add(entry.Line, "ls", uint8(len(entry.Line)))
		f.Add("ls", entry.Line, uint8(len(entry.Line)))
	}
	for _, line := range listed(f, "everyday.txt") {
		f.Add(line, line, uint8(len(line)))
	}
	f.Fuzz(func(t *testing.T, before, after string, choice uint8) {
		for _, mode := range modes {
			consistent(t, before, decide(t, e, before, mode))
		}
		words := denied[int(choice)%len(denied)]
		part := strings.Join(words, " ")
		lines := []string{part + "\n" + after, part + ";" + after, part + "&&" + after, part + " |" + after}
		if closed(before, "\n") {
			lines = append(lines, before+"\n"+part, before+"\n"+part+"\n"+after, before+"\n{ "+part+"\n} && "+after,
				"echo $("+before+"\n"+part+"\n)", "("+before+"\n"+part+"\n"+after+"\n)", "if "+before+"\nthen "+part+"\nfi "+after)
		}
		line := lines[int(choice/16)%len(lines)]
		d := decide(t, e, line, policy.ModeYolo)
		consistent(t, line, d)
		if d.Decision == policy.Allow {
			t.Fatalf("%q is allowed", line)
		}
		if shell.Parse(line).Problem == "" && d.Decision != policy.Deny {
			t.Fatalf("%q parses whole and is not denied, but %s", line, d.Decision)
		}
	})
}

// naive evaluates a command of plain words against rules, one after the other:
// the highest that is a prefix decides, the strictest of equally high ones.
func naive(rules []policy.Rule, words []string) policy.Verdict {
	best, verdict := -1.0, policy.AskUser
	line := strings.Join(words, " ") + " "
	for _, r := range rules {
		for _, prefix := range r.CommandPrefix {
			if !strings.HasPrefix(line, prefix+" ") {
				continue
			}
			if r.Effective() > best {
				best, verdict = r.Effective(), r.Decision
			} else if r.Effective() == best {
				verdict = policy.Stricter(verdict, r.Decision)
			}
		}
	}
	return verdict
}

// AR-25, AR-26: with 10,000 rules the highest that matches decides, whatever
// their order.
func TestManyRules(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 0)) //nolint:gosec // repeatable, not secret
	letters := []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta"}
	word := func() string { return letters[random.IntN(len(letters))] }
	phrase := func(n int) []string {
		words := make([]string, n)
		for i := range words {
			words[i] = word()
		}
		return words
	}
	verdicts := []policy.Verdict{policy.Allow, policy.AskUser, policy.Deny}
	tiers := []policy.Tier{policy.TierWorkspace, policy.TierUser, policy.TierAdmin}
	rules := make([]policy.Rule, rounds(2_000, 10_000))
	for i := range rules {
		n := 3 + random.IntN(4)
		words := phrase(n)
		words[0] += "-program"
		if i%2 == 0 { // most programs have no rule that a test matches
			words[0] = fmt.Sprintf("tool%d", i)
		}
		rules[i] = policy.Rule{
			Tools: []string{"run_shell_command"}, CommandPrefix: []string{strings.Join(words, " ")}, Decision: verdicts[random.IntN(3)],
			Priority: random.IntN(1000), Tier: tiers[random.IntN(3)], Source: "test",
		}
	}
	engines := make([]*policy.Engine, 2)
	for i := range engines {
		var err error
		engines[i], err = policy.NewEngine(policy.Options{Rules: slices.Clone(rules)})
		require.NoError(t, err)
		random.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
	}
	seen := map[policy.Verdict]int{}
	for range rounds(1_000, 20_000) {
		words := phrase(3 + random.IntN(5))
		words[0] += "-program" // another word that looks like a program may be one
		want := naive(rules, words)
		seen[want]++
		for _, e := range engines {
			d := decide(t, e, strings.Join(words, " "), policy.ModeDefault)
			require.Equal(t, want, d.Decision, "%q: %s", words, describe(d))
		}
	}
	for _, verdict := range verdicts {
		require.Positive(t, seen[verdict], verdict)
	}
}
