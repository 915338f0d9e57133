package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// asksAlways evaluates lines under rules that allow much, and under one that only
// denies rm in yolo mode: those in asked require approval under both, those in
// free under neither.
func asksAlways(t *testing.T, asked, free []string) {
	t.Helper()
	for mode, e := range map[policy.ApprovalMode]*policy.Engine{policy.ModeDefault: corpusEngine(t), policy.ModeYolo: noRm(t)} {
		for _, line := range asked {
			if d := decide(t, e, line, mode); d.Decision == policy.Allow {
				t.Errorf("%s: %q is allowed: %s", mode, line, describe(d))
			}
		}
		for _, line := range free {
			if d := decide(t, e, line, mode); d.Decision != policy.Allow {
				t.Errorf("%s: %q is not allowed: %s", mode, line, describe(d))
			}
		}
	}
}

// AR-25, AR-27: bash parses the value of an array in a word of a declaration again.
func TestDeclaredArrays(t *testing.T) {
	asksAlways(t, []string{
		`declare -a a='($(ls x))'`, `declare -a 'a=($(ls x))'`, `readonly -a 'a=($(ls x))'`, "declare -a 'a=(`ls x`)'", `declare -A 'a=([$(ls x)]=1)'`, `declare -A a='([$(ls x)]=1)'`,
		`a=(1); declare a='($(ls x))'`, `declare -a a; declare a='($(ls y))'`, `declare -a 'a'; declare a='($(ls y))'`, `declare -a a=$'(\x24(ls y))'`, `x='($(ls y))'; declare -a a="$x"`,
		`x=$(cat f); declare -a "a=($x)"`, `f() { local -a a='($(ls x))'; }; f`, `f() { local -a "a=$1"; }; f '($(ls x))'`, `typeset -ax a='($(ls x))'`, `x=$(cat f); a=(1); declare a="($x)"`,
		`for x in *; do declare -a a="$x"; done`, `declare -a a=$(cat f)`, `declare -a a="$(cat f)"`, `declare -A m="$(cat f)"`, `a[0]=1; export a='($(ls x))'`, `readonly a='($(ls x))'; a=(1)`,
		`builtin declare -a a='($(ls x))'`, `command declare -a "a=$(cat f)"`, `\declare -a 'a=($(ls x))'`, `export -a 'a=($(ls x))'`, `declare -a a+='($(ls x))'`, `declare -a 'a+=($(ls x))'`, `declare -a 'a[0]=($(ls x))'`,
		`o=-a; declare $o a='($(ls x))'`, `read -ra a < f; declare a='($(ls x))'`, `mapfile -t a < f; declare a="$(cat f)"`, `printf -v 'a[0]' x; declare a='($(ls x))'`, `let 'a[0]=1'; declare a='($(ls x))'`, `((a[0]=1)); declare a='($(ls x))'`,
		`coproc C { :; }; declare C='($(ls x))'`, `declare PIPESTATUS='($(ls x))'`, `b=a; let "$b[0]=1"; declare a='($(ls x))'`, `declare -n r=a; a=(1); declare r='($(ls x))'`, `x='y($(ls z))'; declare -a a="${x#y}"`, `declare -g -a a='($(ls x))'`,
		`: ${a[0]:=1}; declare a='($(ls x))'`, `declare a='($(ls x))'; eval 'a=(1)'`, `read -r x < f; declare -a a="$x"`,
	}, []string{
		`f() { local x="$1"; echo "$x"; }; f a`, `declare -i n=5; echo $n`, `declare -a a=(x y)`, `declare -A m=([k]=v)`, `declare -a a; a+=(x)`, `declare -a a=x`, `a=(1 2); declare x='(no array)'; echo "$x"`, `files=(a b); f() { local n=$(ls | wc -l); echo "$n"; }; f`,
		`declare x="$(cat a.txt)"; echo "$x"`, `readonly x=5; echo "${a[0]}"`, `local_x=$(ls); echo "$local_x [ok]"; declare y="$(ls)"; echo "$y"`, `declare -r n=3; echo $((n+1))`, `arr=(a b); for i in "${arr[@]}"; do echo "$i"; done`, `set -euo pipefail; ls`,
	})
}

// AR-25, AR-27: a word in braces directly before a redirection names the variable
// that receives the descriptor, and bash evaluates its subscript.
func TestDescriptorVariables(t *testing.T) {
	asksAlways(t, []string{
		`ls {a['$(ls y)']}<f`, `: {a['$(ls y)']}</dev/null`, `ls {a["\$(ls y)"]}</dev/null`, "ls {a['`ls y`']}<f", `ls x {a['$(ls y)']}>/dev/null`, `ls {a['$(ls y)']}>>/dev/null`, `{a['$(ls y)']}</dev/null ls`,
		"ls {a['$(ls y)']}\\\n</dev/null", "ls {a\\\n['$(ls y)']}</dev/null", `ls {a['$(ls y)']}<<<x`, "ls {a['$(ls y)']}<<E\nE", `export x {a['$(ls y)']}</dev/null`, `ls {a[\$\(ls\)]}</dev/null`, `x=1; ls {a[x]}</dev/null`, `ls {a['$(ls y)']}<&0`,
		`echo x | cat {a['$(ls y)']}</dev/null`, `! ls {a['$(ls y)']}</dev/null`, `x=$(ls {a['$(ls y)']}</dev/null)`, `ls </dev/null {a['$(ls y)']}</dev/null`, `time ls {a['$(ls y)']}</dev/null`,
	}, []string{
		`ls {a,b} </dev/null`, `ls {a,b}>/dev/null`, `echo "{a[0]}" </dev/null`, `echo "{a[0]}">/dev/null`, `awk '{print a[1]}'</dev/null`, `x=1; echo ${x}>/dev/null`, `echo a{b}</dev/null`,
	})
}

// AR-25, AR-27: options that make later words variables, or keep assignments before
// special builtins.
func TestKeywordOption(t *testing.T) {
	asksAlways(t, []string{
		"set -k; ls PAGER=x", "set -o keyword; ls X=./y", "set -ek", "set -eukx", "set -euo keyword", "bash -k -c 'make X=./y'", "bash -ekc 'make X=./y'", "bash -o keyword -c 'make X=./y'", "shopt -so keyword", "shopt -s -o keyword",
		"set -o posix; GIT_EXTERNAL_DIFF=./x export x; git diff", "set -o posix", "shopt -so posix; ls", "bash -o posix -c 'X=./y export z; make'", "builtin set -k", "command set -o keyword",
	}, []string{"set -euo pipefail; ls", "set -x; ls", "set -- -k a; ls", "set +e; ls", "shopt -s nullglob globstar; ls", "IFS= read -r x < a.txt", "f() { ls; }; f", "X=1 :; ls"})
}

// AR-25, AR-27: a variable before a function or a builtin may reach programs.
func TestVariablesBeforeBuiltins(t *testing.T) {
	e := corpusEngine(t)
	for _, line := range []string{"GREP=./x eval make", "GREP=./x export y; make", "f() { make; }; GREP=./x f", "sh -c 'GREP=./x :; make'", "sh -c 'GREP=./x export y; make'", "GREP=./x command eval make"} {
		if d := decide(t, e, line, policy.ModeDefault); d.Decision == policy.Allow {
			t.Errorf("%q is allowed: %s", line, describe(d))
		}
	}
}

// AR-25, AR-27: output that counts matches or lines is a number only if it
// contains no name.
func TestCountsWithNames(t *testing.T) {
	asksAlways(t, []string{
		"n=$(grep -c x *); echo $((n))", "n=$(grep -c x *.txt); [[ $n -gt 1 ]]", `f() { n=$(grep -c x "$@"); echo $((n)); }; f *`, "n=$(grep -c x a b); echo $((n))", `n=$(grep -c x "${a[@]}"); echo $((n))`, "n=$(grep -c x $d/f); echo $((n))",
		"n=$(grep -rc x .); echo $((n))", "n=$(grep -c x {a,b}); echo $((n))", "n=$(grep -cH x a); echo $((n))", "n=$(grep -c x ~/*); echo $((n))", "n=$(grep -c -e x a b); echo $((n))", "n=$(grep -c x *|head -1); echo $((n))", `x=-rH; n=$(grep -c "$x" p); echo $((n))`,
		"n=$(wc -l *); echo $((n))", "n=$(wc -l a b); echo $((n))", "n=$(wc -l 'a[x]'); echo $((n))", "n=$(wc -l a | cut -f1); echo $((n))", "n=$(wc -l 'a b' | cut -d b -f1); echo $((n))", "n=$(rg -c x src); echo $((n))", "n=$(egrep -c x a*); (( n > 1 ))",
		"n=$(grep -c x a? b); echo $((n))", "n=$(grep -c x $(ls)); echo $((n))", `n=$(grep -c "${p[@]}" f); echo $((n))`, `n=$(grep -hcH x a b); echo $((n))`, "n=$(grep -c x +(a)); echo $((n))",
	}, []string{
		"n=$(grep -c x a.txt); echo $((n))", `n=$(grep -c "$1" a.txt); echo $((n))`, "n=$(cat a.txt | grep -c x); echo $((n))", "n=$(grep -c x < a.txt); [[ $n -gt 1 ]]", "n=$(grep -hc x a b); echo $((n))", `f=a.txt; n=$(grep -c x "$f"); echo $((n))`, "n=$(grep -ci -e x a.txt); echo $((n))",
		"n=$(wc -l < a.txt); echo $((n))", "n=$(wc -l a.txt | awk '{print $1}'); echo $((n))", "n=$(wc -l a.txt | cut -d' ' -f1); echo $((n))", "n=$(du -s . | cut -f1); echo $((n))", `n=$(grep -c '^a[0-9]*$' a.txt); echo $((n))`, "n=$(ls | grep -c x); (( n > 1 ))", "n=$(grep -vc x a.txt || true); echo $((n))",
	})
}

// AR-25, AR-27: if a line sets the variables by which bash names directories,
// these are unknown.
func TestSetDirectories(t *testing.T) {
	e := corpusEngine(t)
	for _, line := range []string{"PWD=.git; cat a.txt > ~+/x", "PWD=.git; tee ~+/x < a.txt", "OLDPWD=.git; cd -; cat a.txt > config", "CDPATH=.git; cd hooks; cat a.txt > x", "read CDPATH < f; cd hooks; cat a.txt > x", "cat a.txt > ~-/x"} {
		if d := decide(t, e, line, policy.ModeAutoEdit); d.Decision == policy.Allow {
			t.Errorf("%q is allowed: %s", line, describe(d))
		}
	}
	asksAlways(t, nil, []string{"ls ~+/x", `ls "$PWD"`, "cd a && ls", "pushd a; ls; popd; ls", "ls ~/x"})
}

// noRm returns an engine whose only rule denies rm, so that yolo mode allows all
// else.
func noRm(t *testing.T) *policy.Engine {
	t.Helper()
	e, err := policy.NewEngine(policy.Options{Rules: []policy.Rule{{
		Tools: []string{"run_shell_command"}, CommandPrefix: []string{"rm"}, Decision: policy.Deny, Priority: 500, Tier: policy.TierUser, Source: "test",
	}}})
	require.NoError(t, err)
	return e
}
