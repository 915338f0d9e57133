//go:build unix

package policy_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// sweep runs many short lines in bash at once, each in a shell of its own. In
// each, NN stands for the argument that rm receives.
type sweep struct {
	b       *box
	e       *policy.Engine
	lines   []string // allowed in yolo mode, and not yet run
	tried   int
	allowed int
}

func newSweep(t *testing.T) *sweep {
	s := &sweep{b: newBox(t), e: noRm(t)}
	s.b.within = time.Minute
	return s
}

// try adds a line if it is allowed.
func (s *sweep) try(t *testing.T, line string) {
	t.Helper()
	s.tried++
	if decide(t, s.e, line, policy.ModeYolo).Decision != policy.Allow {
		return
	}
	s.allowed++
	if s.lines = append(s.lines, line); len(s.lines) == 300 {
		s.run(t)
	}
}

// run runs the collected lines. None of them may run rm.
func (s *sweep) run(t *testing.T) {
	t.Helper()
	var script strings.Builder
	for i, line := range s.lines {
		script.WriteString("( eval " + quoted(strings.ReplaceAll(line, "NN", fmt.Sprintf("n%dn", i))) + " ) < /dev/null\n")
	}
	stubs, _ := s.b.run(t, script.String())
	for _, argv := range stubs {
		for i, line := range s.lines {
			if argv[0] == "rm" && strings.Contains(strings.Join(argv, " "), fmt.Sprintf("n%dn", i)) {
				t.Errorf("%q is allowed, and bash runs %q", line, argv)
				break
			}
		}
	}
	s.lines = nil
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// No builtin of bash, with any option, runs a denied command if it is allowed.
func TestBuiltinsAgainstBash(t *testing.T) {
	s := newSweep(t)
	out, err := exec.Command(s.b.bash, "-c", "compgen -b").Output() //nolint:gosec // no input
	require.NoError(t, err)
	n, every := 0, rounds(701, 23)
	for builtin := range strings.FieldsSeq(string(out)) {
		if builtin == "suspend" { // stops the shell that runs the test
			continue
		}
		for _, options := range optionForms() {
			for _, arguments := range []string{
				"rm NN", "'rm NN'", "'x[$(rm NN)]'", "'$(rm NN)'", "x 'x[$(rm NN)]'", "'x[$(rm NN)]' x", "'x[$(rm NN)]=1'", "x='x[$(rm NN)]'", "'rm NN' EXIT", "'rm NN' DEBUG", "x rm NN",
				"/bin/rm ls", "ls=rm", "f", "f f", "'rm NN' x <<< y", "-c 1 'rm NN' x <<< y", "x <<< 'rm NN'", "x <<< 'x[$(rm NN)]'", "x y 'rm NN'", "rm",
			} {
				if n++; n%every == 0 {
					s.try(t, "echo 'rm NN' > f\n"+builtin+options+" "+arguments+"\n:\nls NN")
				}
			}
		}
	}
	s.run(t)
	t.Logf("%d lines, of which %d were allowed, and run", s.tried, s.allowed)
}

// optionForms returns ways to write an option of one letter, and none.
func optionForms() []string {
	forms := []string{"", " --", " -$(echo x)", " $(echo -x)", ` "$(echo -x)"`, " '-x'", " -ls -x"}
	for _, sign := range []string{" -", " +"} {
		for _, letter := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
			forms = append(forms, sign+string(letter))
		}
	}
	return forms
}

// bashVariables are those with a meaning in bash, by its manual.
const bashVariables = "BASH BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_COMPAT BASH_ENV " +
	"BASH_EXECUTION_STRING BASH_LINENO BASH_LOADABLES_PATH BASH_MONOSECONDS BASH_REMATCH BASH_SOURCE BASH_SUBSHELL BASH_TRAPSIG BASH_VERSINFO " +
	"BASH_VERSION BASH_XTRACEFD CHILD_MAX CDPATH COLUMNS COMPREPLY COMP_CWORD COMP_KEY COMP_LINE COMP_POINT COMP_TYPE COMP_WORDBREAKS COMP_WORDS " +
	"COPROC DIRSTACK EMACS ENV EPOCHREALTIME EPOCHSECONDS EUID EXECIGNORE FCEDIT FIGNORE FUNCNAME FUNCNEST GLOBIGNORE GLOBSORT GROUPS HISTCMD " +
	"HISTCONTROL HISTFILE HISTFILESIZE HISTIGNORE HISTSIZE HISTTIMEFORMAT HOME HOSTFILE HOSTNAME HOSTTYPE IFS IGNOREEOF INPUTRC INSIDE_EMACS LANG " +
	"LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_NUMERIC LC_TIME LINENO LINES MACHTYPE MAIL MAILCHECK MAILPATH MAPFILE OLDPWD OPTARG OPTERR OPTIND " +
	"OSTYPE PATH PIPESTATUS POSIXLY_CORRECT PPID PROMPT_COMMAND PROMPT_DIRTRIM PS0 PS1 PS2 PS3 PS4 PWD RANDOM READLINE_ARGUMENT READLINE_LINE " +
	"READLINE_MARK READLINE_POINT REPLY SECONDS SHELL SHELLOPTS SHLVL SRANDOM TERM TEXTDOMAIN TEXTDOMAINDIR TIMEFORMAT TMOUT TMPDIR UID auto_resume histchars _ x"

// setters are the ways in which a line sets a variable V to a value P.
var setters = []string{
	"V=P", "V+=P", "V=(P)", "V+=(P)", "V[0]=P", "V=([0]=P)", "V=P :", "V=P true x", "V=P eval :", "a=P; V=$a", `a=P; V="$a"`, "V=$(echo P)", "V=`echo P`", "a=P; V=${a}",
	"a=P; V+=$a", "a=(P); V=${a[0]}", "a=P; V=${z:-$a}", "a=Px; V=${a%x}", "set -- P; V=$1", `set -- P; V="$@"`, "read -r a <<< P; V=$a", "f() { V=$1; }; f P",
	"export V=P", "declare V=P", "typeset V=P", "readonly V=P", "f() { local V=P; }; f", "declare -x V=P", "declare -g V=P", "declare V+=P", "declare -a V=(P)", "declare V=(P)", "export V+=P", "declare 'V=P'", `declare "V"=P`,
	"a=P; declare V=$a", `a=P; export "V=$a"`, "a=V=P; export $a", `a=V=P; declare "$a"`, "builtin export V=P", "command declare V=P", "builtin declare V+=P", "declare -i V=P", "declare -i V; V=P", `declare "-i" V; V=P`, "o=-i; declare $o V; V=P",
	`\declare -i V; V=P`, "builtin declare -i V; V=P", "command typeset -i V; V=P", "declare $(echo -i) V; V=P", "f() { local -i V=P; }; f", "f() { local V; V=P; }; f", "readonly -i V=P", "declare -ix V=P", "declare -x -i V=P", "export -i V=P",
	"for V in P; do :; done", "for V in a P; do echo x; done", "a=P; for V in $a; do :; done", "for V in $(echo P); do :; done", "set -- P; for V; do :; done", "f() { for V; do :; done; }; f P", "for V in *; do :; done",
	"select V in P; do break; done <<< 1", "a=P; select V in $a; do break; done <<< 1", "for ((V=0; V<1; V++)); do break; done",
	"read V <<< P", "read -r V <<< P", "read -r a V <<< 'y P'", "a=P; read V <<< $a", "echo P | read V", "read -ra V <<< P", "read -a V <<< P", "read -d '' V <<< P", "builtin read V <<< P", "IFS= read -r V <<< P", "o=V; read $o <<< P", "read -n 30 V <<< P", "while read V; do break; done <<< P",
	"read V <<E\nP\nE", "read -t 1 -r V <<< P", "read -p x V <<< P", "read -rp x V <<< P", "read -u0 V <<< P", "read -d: V <<< P", "read -rn30 V <<< P", "read -s V <<< P", "read -N 3 V <<< P", "read -e V <<< P", "read -i a V <<< P", "read -- V <<< P", "read 'V' <<< P", "read V[0] <<< P",
	"mapfile V <<< P", "mapfile -t V <<< P", "readarray V <<< P", "mapfile -n 1 V <<< P", "mapfile -tn1 V <<< P", "mapfile -O 0 V <<< P",
	"getopts a V -a", "getopts a: V -aP", "getopts :a V P", "while getopts a V -b; do break; done", "set -- -a; getopts a V",
	"printf -v V %s P", "printf -v V P", "printf -vV %s P", "printf -v V %s%s P", `printf -v "V" %s P`, "builtin printf -v V %s P", "command printf -v V %s P", "printf -v V[0] %s P", "o=-v; printf $o V %s P", "o=V; printf -v $o %s P", "printf -v V -- %s P", "printf -v V -- P",
	"coproc V { :; }", "coproc V { read V; }", "exec {V}>&1", "echo x {V}>&1", "exec {V}>P", ": {V}<&0", "wait -p V; :", ": & wait -n -p V", ": & wait -p V $!",
	"(( V = 1 ))", "(( V = P ))", "let V=P", "let 'V=P'", "let V=1", "echo $((V=1))", "echo $((V++))", "(( V += 1 ))",
	": ${V:=P}", ": ${V=P}", "unset V; : ${V:=P}", "unset V; : ${V=P}", ": \"${V:=P}\"", "unset V; V=P", "a=P; unset V; : ${V:=$a}", ": ${V[0]:=P}",
	"declare -n r=V; r=P", "declare -n r; r=V; r=P", "declare -n r=V; read r <<< P", "declare -n r=V; for r in P; do :; done", "typeset -n r=V; r+=P", "f() { local -n r=V; r=P; }; f", "f() { local -n r=$1; r=P; }; f V", "declare -n r=V; printf -v r %s P", "declare -n r=V; mapfile r <<< P", "o=-n; declare $o r=V; r=P", `declare "-n" r=V; r=P`, "declare -n r=V; : ${r:=P}", "declare -n r=V; getopts a r -a",
	"builtin declare -n r=V; r=P", "declare -n V=r; V=P", "for r in V; do declare -n q=$r; q=P; done",
	"env V=P bash -c :", "V=P bash -c :", "export V=P; bash -c :", "V=P bash -c 'echo $V'", "env V=P bash -c 'getopts a b; :'", "V=P sh -c :", "export V=P; ls x", "V=P bash -i -c :", "V=P bash --posix -c :", "declare -x V; V=P; bash -c 'V+=1'", "V=P exec bash -c :", "export V=P; sh -c ':'",
	"bash -c 'V=P'", "sh -c 'V=P'", "eval V=P", "eval 'V=P'", "a=V=P; eval $a", "eval V='$(echo P)'", "trap 'V=P' EXIT", "source /dev/stdin <<< V=P", "bash -s P <<< 'V=$1'", "bash -c 'V=$1' x P", "bash -c 'V=$0' P", "f() { eval V=$1; }; f P",
	"[[ P =~ (.*) ]]; V=${BASH_REMATCH[0]}", "V=${a:-P}", "V=${a:=P}", "V=x$(echo P)", "V=$'P'", "V=\"P\"", "V=${!b}", "V=$1", "V=$((1))", "V=$(cat)", "V=$x", "V=*", "V=$?", "V=0", "V=", "V=1 :", "unset V", "V=y", "V=~", "V=1$(echo)",
	"compgen -V V x", "alias V=P", "hash -p V ls", "complete -W P V", "enable -n V", "test -v V", "[ -v V ]", "[[ -v V ]]", "echo $V", "set -o V", "shopt -s V",
}

// No way of setting one of bash's own variables runs a denied command if it is
// allowed, neither by itself nor in later commands.
func TestVariablesAgainstBash(t *testing.T) {
	s := newSweep(t)
	n, every := 0, rounds(101, 3)
	for name := range strings.FieldsSeq(bashVariables) {
		for _, setter := range setters {
			for i, value := range []string{"'x[$(rm NN)]'", "'$(rm NN)'", "'rm NN'"} {
				for j, after := range []string{"", "\nset -x; :; bash -c :; cd .; getopts a b; ls x"} {
					if n++; n%every == 0 && (i+j == 0 || n%11 == 0) {
						s.try(t, written(setter, name, value)+after)
					}
				}
			}
		}
	}
	s.run(t)
	t.Logf("%d lines, of which %d were allowed, and run", s.tried, s.allowed)
}

// written replaces V and P by a variable and a value. If P is quoted already, the
// value's own quotes are removed.
func written(setter, name, value string) string {
	var out strings.Builder
	single, double := false, false
	for i := range len(setter) {
		c := setter[i]
		alone := (i == 0 || !isLetter(setter[i-1])) && (i+1 == len(setter) || !isLetter(setter[i+1]) || setter[i+1] == 'x')
		switch {
		case c == '\'' && !double:
			single = !single
		case c == '"' && !single:
			double = !double
		}
		switch {
		case c == 'V' && (alone || i > 1 && setter[i-2:i] == "-v"):
			out.WriteString(name)
		case c == 'P' && (alone || i > 1 && setter[i-2:i] == "-a") && single && i > 0:
			out.WriteString(strings.ReplaceAll(value, "'", `'\''`))
		case c == 'P' && (alone || i > 1 && setter[i-2:i] == "-a") && double:
			out.WriteString(strings.ReplaceAll(strings.Trim(value, "'"), "$", `\$`))
		case c == 'P' && (alone || i > 1 && setter[i-2:i] == "-a"):
			out.WriteString(value)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

func isLetter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
