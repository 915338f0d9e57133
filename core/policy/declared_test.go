package policy_test

import (
	"testing"

	"github.com/fettle-dev/fettle/core/policy"
)

// asksAlways holds lines against rules that allow much, and against one that only
// denies rm in yolo mode: those that ask do so in both, the others are free in both.
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
