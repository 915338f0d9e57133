package shell

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// render formats a line's parts one per line: $ a command, = a builtin, > a
// write, ? unknown; after @ the parent and the number of its words that do not
// refer to the part; ~ marks a guess.
func render(l *Line) string {
	var b strings.Builder
	if l.Problem != "" {
		b.WriteString("! " + l.Problem + "\n")
	}
	for _, p := range l.Parts {
		text := p.Text
		mark := map[Kind]string{Command: "$ ", Builtin: "= ", Write: "", Unknown: "? "}[p.Kind]
		b.WriteString(mark + text)
		if p.Parent >= 0 {
			fmt.Fprintf(&b, " @%d.%d", p.Parent, p.Own)
		}
		if p.Kind != Unknown && p.Reason != "" {
			b.WriteString(" ~")
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// lines joins expected parts.
func lines(parts ...string) string { return strings.Join(parts, "\n") }

// checkAll compares the parts of lines with the expected ones.
func checkAll(t *testing.T, tests [][2]string) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt[0], func(t *testing.T) {
			require.Equal(t, tt[1], render(Parse(tt[0])))
		})
	}
}

// TestShapes parses all constructs that contain commands. // AR-26, TO-10
func TestShapes(t *testing.T) {
	checkAll(t, [][2]string{
		{"", ""},
		{"# rm x", ""},
		{"ls # rm x", "$ ls"},
		{"a; b && c || d & e | f |& g\nh", lines("$ a", "$ b", "$ c", "$ d", "$ e", "$ f", "$ g", "$ h")},
		{"(a; { b; })", lines("$ a", "$ b")},
		{"! a", "$ a"},
		{"time -p a | b", lines("$ a", "$ b")},
		{"coproc a b", "$ a b"},
		{"coproc X { a; }", "$ a"},
		{"if a; then b; elif c; then d; else e; fi", lines("$ a", "$ b", "$ c", "$ d", "$ e")},
		{"while a; do b; done; until c; do d; done", lines("$ a", "$ b", "$ c", "$ d")},
		{"for i in $(a) b; do c; done", lines("$ a", "$ c")},
		{"for ((i=$(a);i<3;i++)); do b; done", lines("$ a", "$ b", "? ((i=$(a);i<3;i++))")},
		{"select i in $(a); do b; done", lines("$ a", "$ b")},
		{"case $(a) in $(b)) c;; d|e) f;& *) g;; esac", lines("$ a", "$ b", "$ c", "$ f", "$ g")},
		{"f() { a; }; function g { b; }", lines("$ a", "$ b")},
		{"x=$(a)", "$ a"},
		{"x=`a` y=$(b) c", lines("$ c", "? x=`a`", "? y=$(b)", "$ a", "$ b")},
		{"x=($(a) [1]=$(b))", lines("$ a", "$ b")},
		{"x[$(a)]=1", lines("$ a", "? $(a)")},
		{`z "$(a "$(b)")" 'no $(c)' \$(d) 2>/dev/null; true`, "! it is not valid bash: 1:29: a command can only contain words and redirects; encountered `(`"},
		{`z "$(a "$(b)")" 'no $(c)'`, lines(`$ z "$(a "$(b)")" 'no $(c)'`, `$ a "$(b)"`, "$ b", `? "$(a "$(b)")" @0.1`, `? "$(b)" @1.1`)},
		{"z <(a) >(b)", lines("$ z <(a) >(b)", "$ a", "$ b")},
		{"z ${x:-$(a)} ${y#$(b)} ${v/$(c)/$(d)} ${w:$(e)}", lines("$ z ${x:-$(a)} ${y#$(b)} ${v/$(c)/$(d)} ${w:$(e)}", "$ a", "$ b", "$ c", "$ d", "$ e", "? $(e)", "? ${x:-$(a)} @0.1")},
		{"z $((1+$(a))) $[$(b)]", lines("$ z $((1+$(a))) $[$(b)]", "$ a", "$ b", "? $((1+$(a)))")},
		{"((x=$(a)))", lines("$ a", "? ((x=$(a)))")},
		{`let "x=$(a)"`, lines("$ a", "? let \"x=$(a)\"")},
		{"[[ -f $(a) && $(b) == c ]]", lines("$ a", "$ b")},
		{"declare -r x=$(a); local y=`b`; export z=$(c)", lines("= declare -r x=$(a)", "$ a", "= local y=`b`", "$ b", "= export z=$(c)", "? z=$(c)", "$ c")},
		{"z <<E\n$(a) `b`\nE", lines("$ z", "$ a", "$ b")},
		{"z <<'E'\n$(a) `b`\nE", "$ z"},
		{`z <<< "$(a)"`, lines("$ z", "$ a")},
		{"> $(a)", lines("$ a", "> $(a)")},
		{"z $(<f)", lines("$ z $(<f)", "? $(<f) @0.1")},
		{`z "${x:-'$(a)'}"`, lines(`$ z "${x:-'$(a)'}"`, "? '$(a)'")},
		{`z "${x:-'}"; a; z "'}"`, lines(`$ z "${x:-'}"; a; z "'}"`, `? '}"; a; z "'`)},
		{`z "${x:-'plain'}" ${x:-'$(a)'}`, `$ z "${x:-'plain'}" ${x:-'$(a)'}`},
		{"z <<E\n${x:-'`a`'}\nE", lines("$ z", "? '`a`'")},
	})
}

// TestWords resolves words as bash does.
func TestWords(t *testing.T) {
	checkAll(t, [][2]string{
		{`\rm x`, "$ rm x"},
		{`r""m 'x'"y"`, "$ rm xy"},
		{`$'\x72\155' $'\u0041\n'`, "$ rm 'A\n'"},
		{`$"rm" x`, "$ rm x"},
		{"r\\\nm\tx \\\n y", "$ rm x y"},
		{"{rm,-rf,x}", "$ rm -rf x"},
		{"r{m,} {1..3} {a..c..2} {01..3}", "$ rm r 1 2 3 a c 01 02 03"},
		{"echo {1..100000}", "$ echo {1..100000}"},
		{"rm$IFS-rf${IFS}x", "$ rm -rf x"},
		{"IFS=; rm$IFS-rf", lines("? rm$IFS-rf")},
		{`echo "a b" '' "" ~/x`, "$ echo 'a b' '' '' ~/x"},
		{`cd ~; ls ~root/'a b' '~' "~/x" \~ ~"r" ~$x > ~/x`, lines("= cd ~", `$ ls ~root/'a b' '~' '~/x' '~' '~r' ~$x`, "> ~/x @1.7")},
		{`echo "\$x\a"`, `$ echo '$x\a'`},
		{"''", "$ ''"},
		{`echo it\'s`, `$ echo 'it'\''s'`},
	})
	line := Parse(`x=a; y='b c'; echo "$x" ${y} *.go 'lit*' "$z"`)
	words := line.Parts[0].Words
	require.Equal(t, []Word{
		{Text: "echo", Static: true},
		{Text: `"$x"`, Candidates: []string{"a"}, Shapes: []string{HoleWord, "a"}},
		{Text: "${y}", Candidates: []string{"b", "c"}, Shapes: []string{HoleText, "b c"}},
		{Text: "*.go", Pattern: true, Option: true, Shapes: []string{HoleName + ".go"}},
		{Text: "lit*", Static: true},
		{Text: `"$z"`, Shapes: []string{HoleWord}},
	}, words)
}

// The shapes of a word have a hole for each unknown piece.
func TestWordShapes(t *testing.T) {
	const text, word, name, number = HoleText, HoleWord, HoleName, HoleNumber
	for line, want := range map[string][]string{
		`x "$x"/y`: {word + "/y"}, "x a*.go": {"a" + name + ".go"}, "x r[ab]m": {"r" + name + "m"}, "x -n$((1+2))x": {"-n" + number + "x"}, "x $#": {number},
		`a=1; x "--$a$b"`: {"--" + number + word, "--1" + word}, `x r["mn"$y]z`: {"r" + text + "z"}, `x $(f)'a b'\c`: {text + "a bc"}, "x @(a|b)c": {text + "c"}, `x a\*b*`: {"a*b" + name},
		"a=b; a=c; x $a": {text, "b", "c"}, `x [a`: nil, `x "$@"`: {text}, "x a?": {"a" + name},
	} {
		parts := Parse(line).Parts
		words := parts[len(parts)-1].Words
		for _, p := range parts {
			if p.Kind == Command && p.Words[0].Text == "x" {
				words = p.Words
			}
		}
		require.Equal(t, want, words[1].Shapes, line)
	}
}

// Pipes, redirections, and commands as written.
func TestSurroundings(t *testing.T) {
	parts := Parse(`{ a "x" 2>&1 >o; } < "i"n | b | c <<< h`).Parts
	find := func(program string) (Part, int) {
		for i, p := range parts {
			if p.Kind == Command && p.Words[0].Text == program {
				return p, i
			}
		}
		t.Fatal(program)
		return Part{}, 0
	}
	a, _ := find("a")
	b, atB := find("b")
	c, atC := find("c")
	require.Equal(t, `a "x" 2>&1 >o`, a.Raw)
	require.Equal(t, []Redirect{{">", Word{Text: "o", Static: true}}, {"<", Word{Text: "in", Static: true}}}, a.Redirects)
	require.Equal(t, []int{atB, atC, 0}, []int{a.Into, b.Into, c.Into})
	require.Equal(t, "c <<< h", c.Raw)
	require.Equal(t, []Redirect{{"<<<", Word{Text: "h", Static: true}}}, c.Redirects)
}

// TestDynamicCommands asks about a program that depends on an expansion, and
// guesses its value.
func TestDynamicCommands(t *testing.T) {
	checkAll(t, [][2]string{
		{"$x a", "? $x a"},
		{"x=rm; $x -f a", lines("? $x -f a", "$ rm -f a @0.0 ~")},
		{"x='rm -f'; $x a", lines("? $x a", "$ rm -f a @0.0 ~")},
		{"x=r y=m; $x$y a", lines("? $x$y a", "$ rm a @0.0 ~")},
		{"${x:-rm} a", lines("? ${x:-rm} a", "$ rm a @0.0 ~")},
		{"for c in rm ls; do $c a; done", lines("? $c a", "$ rm a @0.0 ~", "$ ls a @0.0 ~")},
		{"$(echo rm) a", lines("? $(echo rm) a", "$ rm a @0.0 ~", "$ echo rm")},
		{`$(printf '%s\x6d' r) a`, lines(`? $(printf '%s\x6d' r) a`, "$ rm a @0.0 ~", `$ printf '%s\x6d' r`)},
		{`set -- rm -f a; "$@"`, lines("= set -- rm -f a", `? "$@"`, "$ rm -f a @1.0 ~")},
		{"/bin/r? a", "? /bin/r? a"},
		{"x=sudo; $x rm a", lines("? $x rm a", "$ sudo rm a @0.0 ~", "$ rm a @1.1 ~")},
		{"x=$x; $x", "? $x"},
	})
}

// TestWrappers parses programs that run others.
func TestWrappers(t *testing.T) {
	checkAll(t, [][2]string{
		{"timeout -k 5 --signal=KILL 60 rm x", lines("$ timeout -k 5 --signal=KILL 60 rm x", "$ rm x @0.5")},
		{"env -i A=1 -u B rm x", lines("$ env -i A=1 -u B rm x", "$ rm x @0.5")},
		{"env -S 'rm -f x' y", lines("$ env -S 'rm -f x' y", "$ env rm -f x y @0.1", "$ rm -f x y @1.1")},
		{"env -S 'rm $x'", lines("$ env -S 'rm $x'", "? -S 'rm $x' @0.1", "$ 'rm $x' @0.2 ~")},
		{"env", "$ env"},
		{"/usr/bin/env nice -n5 rm x", lines("$ /usr/bin/env nice -n5 rm x", "$ nice -n5 rm x @0.1", "$ rm x @1.2")},
		{"nice --adj=5 rm x", lines("$ nice --adj=5 rm x", "$ rm x @0.2")},
		{"nice --what rm x", lines("$ nice --what rm x", "? --what rm x @0.1", "$ rm x @0.2 ~", "$ x @0.3 ~")},
		{"xargs -0 -n 1 -P4 rm", lines("$ xargs -0 -n 1 -P4 rm", "$ rm … @0.5")},
		{"xargs -I{} mv {} x", lines("$ xargs '-I{}' mv '{}' x", "$ mv '{}' x @0.2")},
		{"xargs -I% sh -c 'rm %'", lines("$ xargs -I% sh -c 'rm %'", "$ sh -c 'rm %' @0.2", "? 'rm %' @1.1", "$ rm % @2.0")},
		{"xargs", lines("$ xargs", "$ echo … @0.1")},
		{"find . -name '*.go' -exec rm -f {} + -o -ok ls {} \\;", lines("$ find . -name '*.go' -exec rm -f '{}' + -o -ok ls '{}' ';'", "$ rm -f '{}' @0.4", "$ ls '{}' @0.10")},
		{"find . -exec sh -c 'rm {}' \\;", lines("$ find . -exec sh -c 'rm {}' ';'", "$ sh -c 'rm {}' @0.2", "? 'rm {}' @1.1", "$ rm '{}' @2.0")},
		{"xargs -I{} bash -c 'cd {} && rm x'; xargs -I{} sh -c '{} x'", lines("$ xargs '-I{}' bash -c 'cd {} && rm x'", "$ bash -c 'cd {} && rm x' @0.2", "? 'cd {} && rm x' @1.1", "= cd '{}' @2.0", "$ rm x @2.0",
			"$ xargs '-I{}' sh -c '{} x'", "$ sh -c '{} x' @5.2", "? '{} x' @6.1", "$ '{}' x @7.0 ~")},
		{"find . -delete", lines("$ find . -delete", "$ rm … @0.2")},
		{"find . -fprint out", lines("$ find . -fprint out", "> out @0.2")},
		{"find . -name x $y", lines("$ find . -name x $y", "? $y @0.4")},
		{"sudo -u root A=1 rm x", lines("$ sudo -u root A=1 rm x", "$ rm x @0.4")},
		{"sudo -s", lines("$ sudo -s", "? sudo -s @0.2")},
		{"ssh -p 22 h rm -f x", lines("$ ssh -p 22 h rm -f x", "$ rm -f x @0.4")},
		{"ssh h -p 22 rm x", lines("$ ssh h -p 22 rm x", "$ rm x @0.4")},
		{"ssh h 'cd /; rm x'", lines("$ ssh h 'cd /; rm x'", "= cd / @0.2", "$ rm x @0.2")},
		{"watch -n 1 'a | b'", lines("$ watch -n 1 'a | b'", "$ a @0.3", "$ b @0.3")},
		{"flock l rm x; flock l -c 'rm y'", lines("$ flock l rm x", "$ rm x @0.2", "$ flock l -c 'rm y'", "$ rm y @2.2")},
		{"parallel -j4 rm {} ::: a b", lines("$ parallel -j4 rm '{}' ::: a b", "$ rm $_ @0.2")},
		{"parallel", lines("$ parallel", "? parallel @0.1")},
		{"script -qc 'rm x' f", lines("$ script -qc 'rm x' f", "$ rm x @0.1", "> f @0.3")},
		{"busybox rm x", lines("$ busybox rm x", "$ rm x @0.1")},
		{"command -p rm x; exec -a y rm x; builtin eval 'rm x'", lines("$ command -p rm x", "$ rm x @0.2", "$ exec -a y rm x", "$ rm x @2.3", "$ builtin eval 'rm x'", "= eval 'rm x' @4.1", "$ rm x @5.1")},
		{"command -v rm", "= command -v rm"},
		{"nice $x rm", lines("$ nice $x rm", "? $x rm @0.1")},
		{"timeout $t rm x", lines("$ timeout $t rm x", "? $t rm x @0.1", "$ rm x @0.2 ~", "$ x @0.3 ~")},
		{`timeout "$t" rm x`, lines(`$ timeout "$t" rm x`, "$ rm x @0.2")},
		{"npx foo a; npm exec -- foo; poetry run foo", lines("$ npx foo a", "$ foo a @0.1", "$ npm exec -- foo", "$ foo @2.3", "$ poetry run foo", "$ foo @4.2")},
		{"docker run --rm -v a:b img rm x", lines("$ docker run --rm -v a:b img rm x", "$ rm x @0.6")},
		{"npm run env a; npm run build env", lines("$ npm run env a", "$ env a @0.2", "$ a @1.1", "$ npm run build env")},
		{"arch; arch -x86_64 -arch arm64 rm x", lines("$ arch", "$ arch -x86_64 -arch arm64 rm x", "$ rm x @1.4")},
		{"npm test", "$ npm test"},
		{"fd -e go -x rm", lines("$ fd -e go -x rm", "$ rm … @0.3")},
		{"git bisect run rm x; git rebase -x 'rm x'; git submodule foreach 'rm x'", lines("$ git bisect run rm x", "$ rm x @0.2", "$ git rebase -x 'rm x'", "$ rm x @2.2", "$ git submodule foreach 'rm x'", "$ rm x @4.2")},
		{"su -c 'rm x'; su root -c 'rm y'; su", lines("$ su -c 'rm x'", "$ rm x @0.1", "$ su root -c 'rm y'", "$ rm y @2.2", "$ su", "? su @4.1")},
		{"strace -o f rm x", lines("$ strace -o f rm x", "> f @0.1", "$ rm x @0.3")},
	})
}

// TestWraps marks only programs that run their command with the same permissions
// in the same place.
func TestWraps(t *testing.T) {
	for line, want := range map[string]bool{
		"timeout 1 a": true, "nohup a": true, "nice a": true, "env A=1 a": true, "xargs a": true, "sh -c a": true, "command a": true,
		"busybox a": true, "stdbuf -o0 a": true, "setsid a": true, "flock l a": true, "watch a": true, "parallel a": true,
		"sudo a": false, "doas a": false, "su -c a": false, "ssh h a": false, "chroot d a": false, "docker run i a": false, "npx a": false,
		"strace a": false, "find . -exec a ;": false, "sh a": false, "sh": false, "a": false,
	} {
		require.Equal(t, want, Parse(line).Parts[0].Wraps, line)
	}
}

// TestShells parses the arguments of shells.
func TestShells(t *testing.T) {
	checkAll(t, [][2]string{
		{"sh -c 'a; b'", lines("$ sh -c 'a; b'", "$ a @0.1", "$ b @0.1")},
		{"bash -o pipefail -euc 'a' b c", lines("$ bash -o pipefail -euc a b c", "$ a @0.3")},
		{"bash --norc -lc -- a", lines("$ bash --norc -lc -- a", "$ a @0.2")},
		{`sh -c "sh -c 'sh -c \"a\"'"`, lines(`$ sh -c 'sh -c '\''sh -c "a"'\'''`, `$ sh -c 'sh -c "a"' @0.1`, "$ sh -c a @1.1", "$ a @2.1")},
		{`sh -c "rm $x"`, lines(`$ sh -c "rm $x"`, `? "rm $x" @0.1`, "$ rm $x @1.0 ~")},
		{"sh -c 'rm (' ", lines("$ sh -c 'rm ('", "? 'rm (' @0.1")},
		{"bash script.sh -x", "$ bash script.sh -x"},
		{"bash", lines("$ bash", "? bash @0.1")},
		{"a | sh", lines("$ a", "$ sh", "? sh @1.1")},
		{"echo 'rm x' | bash -s", lines("$ echo 'rm x'", "$ bash -s", "? bash -s @1.2", "$ rm x ~")},
		{"sh <<'E'\nrm x\nE", lines("$ sh", "$ rm x @0.1")},
		{"sh <<E\nrm $x\nE", lines("$ sh", "? sh @0.1")},
		{"bash <<< 'rm x'", lines("$ bash", "$ rm x @0.1")},
		{"sh < f", lines("$ sh", "? sh @0.1")},
		{"bash <(a)", lines("$ bash <(a)", "? <(a) @0.1", "$ a")},
		{"zsh -c '=rm x'", lines("$ zsh -c '=rm x'", "? '=rm x' @0.1", "$ =rm x @0.1")},
		{"eval 'a; b' c", lines("= eval 'a; b' c", "$ a @0.1", "$ b c @0.1")},
		{"eval -- rm x; eval --; ssh u@h -- rm x", lines("= eval -- rm x", "$ rm x @0.2", "= eval --", "$ ssh u@h -- rm x", "$ rm x @3.3")},
		{`eval "$x"`, lines(`= eval "$x"`, `? "$x" @0.1`, "? $x @1.0")},
		{"trap 'a' EXIT; trap - INT; trap", lines("= trap a EXIT", "$ a @0.1", "= trap - INT", "= trap")},
		{"alias ls='rm x'", lines("= alias 'ls=rm x'", "? 'ls=rm x' @0.1", "$ rm x @0.1 ~")},
		{"source f; . ./g", lines("$ source f", "$ . ./g")},
		{`source "$f"`, lines(`$ source "$f"`, `? "$f" @0.1`)},
		{"fish -c 'a'", lines("$ fish -c a", "? -c @0.1")},
	})
	deep := strings.Repeat("eval ", maxDepth+1) + "a"
	require.Contains(t, render(Parse(deep)), "? ", "deeper than is looked at")
	require.NotContains(t, render(Parse(strings.TrimPrefix(deep, "eval "))), "? ")
}

// TestFunctions does not ask about calls of functions that the line defines.
func TestFunctions(t *testing.T) {
	checkAll(t, [][2]string{
		{"f() { a; }; f b", lines("$ a", "= f b")},
		{"f b; f() { a; }", lines("$ f b", "$ a")},
		{"if x; then f() { a; }; fi; f", lines("$ x", "$ a", "$ f")},
		{"(f() { a; }); f", lines("$ a", "$ f")},
		{`f() { "$@"; }; f rm x`, lines(`? "$@"`, "= f rm x")},
		{"git() { a; }; git push", lines("$ a", "$ git push")},
		{"f() { a; }; command f", lines("$ a", "$ command f", "$ f @1.1")},
		{"f() { a; }; sh -c f", lines("$ a", "$ sh -c f", "$ f @1.1")},
		{"f() { a; }; eval f", lines("$ a", "= eval f", "= f @1.1")},
		{"f() { a; }; unset -f f; f", lines("$ a", "= unset -f f", "$ f")},
		{"f() { a; }; unset -f $x; f", lines("$ a", "= unset -f $x", "? $x @1.2", "$ f")},
	})
}

// TestLimits refuses lines beyond the limits.
func TestLimits(t *testing.T) {
	for name, line := range map[string]string{
		"too long":  "echo " + strings.Repeat("x", MaxBytes),
		"deep":      strings.Repeat("(", MaxBrackets+1),
		"backquote": strings.Repeat("`", MaxBrackets+1),
		"NUL":       "a\x00b",
		"UTF-8":     "a\xffb",
		"CR":        "a\rb",
		"quotes":    "echo 'a",
		"heredoc":   "cat <<E\nfoo",
		"bracket":   "a )",
		"parts":     strings.Repeat("a;", maxParts+1),
		"work":      strings.Repeat("sudo -Z ", 2000),
		"variables": strings.Repeat("x=$x$x$x$x;", 1400) + "$x",
	} {
		t.Run(name, func(t *testing.T) {
			l := Parse(line)
			require.NotEmpty(t, l.Problem)
			require.Equal(t, line, l.Source)
		})
	}
	require.Empty(t, Parse(strings.Repeat("a;", maxParts)).Problem)
}

func TestQuote(t *testing.T) {
	words := []string{"a", "", "b c", "it's", "~", "~x", "a~", "#", "a#b", "$x", "`", "[", "[a]", "{a,b}", "\t", "\x01\x1b[0m'\\", "é", "\n", "!", "*", "a=b", "-x", "\u00a0"}
	quoted := Quote(words)
	got, err := Prefix("x " + quoted)
	require.NoError(t, err)
	require.Equal(t, words, got[1:], quoted)
	require.NotContains(t, quoted, "\x1b")
}

func TestSubcommands(t *testing.T) {
	for _, name := range []string{"git", "go", "npm", "docker", "cargo"} {
		require.True(t, Subcommands(name), name)
	}
	for _, name := range []string{"", "ls", "rm", " ", "git go", "gi"} {
		require.False(t, Subcommands(name), name)
	}
}
