//go:build unix

package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// valueSources set x to a value from the file n.txt, from a file name, or to a
// number or word.
var valueSources = []string{
	"x=$(cat n.txt)", "x=$(<n.txt)", "x=`cat n.txt`", "read -r x < n.txt", "read x y < n.txt", "mapfile -t x < n.txt", "x=($(cat n.txt))", "x+=$(cat n.txt)", ": ${x:=$(cat n.txt)}",
	"declare x=$(cat n.txt)", "export x=$(cat n.txt)", "readonly x=$(cat n.txt)", "printf -v x %s \"$(cat n.txt)\"", "y=$(cat n.txt); x=$y", "y=$(cat n.txt); x=y", "y=$(cat n.txt); x=${y}",
	"y=$(cat n.txt); x=\"${y:-1}\"", "set -- \"$(cat n.txt)\"; x=$1", "x=$(head -1 n.txt)", "x=$(cat n.txt | tr -d ' ')", "x=$(grep . n.txt)", "x=$(sort n.txt)", "x=$(tail -n 1 < n.txt)",
	"x=$(echo \"$(cat n.txt)\")", "x=$(expr \"$(cat n.txt)\")", "f() { x=$1; }; f \"$(cat n.txt)\"", "for x in v*; do :; done", "set -- v*; x=$1", "x=(v*)", "x=$(ls v*)",
	"while read -r x; do break; done < n.txt", "x=$(awk '{print $1}' n.txt)", "x=$(sed -n 1p n.txt)", "eval 'x=$(cat n.txt)'", "y=(1 \"$(cat n.txt)\"); x=${y[1]}", "x=$(cat n.txt | sort -n)",
	"q=$(cat n.txt); x=$(printf %c qZ)", "q=$(cat n.txt); x=$(echo qZ | tr -d Z)", "q=$(cat n.txt); x=$(expr substr qZ 1 1)", "q=$(cat n.txt); x=$(expr qZ : '\\(.\\)')", "q1=$(cat n.txt); x=$(printf q%d 1)",
	"qq=$(cat n.txt); x=$(echo -n q; echo q)", "q1=$(cat n.txt); x=q; x+=1", "q=$(cat n.txt); y=aq; x=${y#a}", "q=$(cat n.txt); y=Q; x=${y,,}", "q=$(cat n.txt); y=qc; x=${y/c/}", "q=$(cat n.txt); y=aq; x=${y:1}", "q=$(cat n.txt); declare -l x=Q",
	"q=$(cat n.txt); typeset -l x; x=Q", "q1=$(cat n.txt); y=q; x=$y\"1\"", "qr=$(cat n.txt); x=$(echo \"q'r'\" | xargs)", "q=$(cat n.txt); x=$(git rev-parse q)", "s=$(cat n.txt); x=$(date +s)", "q=$(cat n.txt); x=$(stat -c %s -c %n q)",
	"q=$(cat n.txt); x=$(echo -e '\\0161')", "q=$(cat n.txt); x=$(printf %b '\\0161')", "q=$(cat n.txt); IFS=Z; y=qZ1; set -- $y; x=$1", "qr=$(cat n.txt); y=(q r); IFS=; x=\"${y[*]}\"",
	"x=$(awk '{s++; s  =$0; print s}' n.txt)", "x=$(awk '{sub(/.*/,$0,NR); print NR}' n.txt)", "x=$(awk '{s++; a[$0]; for (s in a) print s}' n.txt)", "q=$(cat n.txt); y='\\161'; x=$(printf %b \"$y\")",
	"x=1", "x=$(wc -l < n.txt)", "x=$(seq 1)", "x=$(grep -c . n.txt)", "x=abc", "x=$(date +%s)", "x=$(wc -l n.txt | cut -d' ' -f1)", "x=$((1+1))", "x=$(wc -l n.txt)", "x=$(stat -c %s n.txt)", "x=$(awk 'END{print NR}' n.txt)",
}

// valueUses evaluate x, or only appear to.
var valueUses = []string{
	"echo $((x+1))", "echo $(( $x ))", "echo $[x]", "((n+=x))", "((x)) && echo y", "let n=x", "let \"n = x\"", "[[ $x -eq 1 ]]", "[[ x -lt 3 ]]", "a[$x]=1", "a[x]=1", "echo ${a[$x]}", "echo ${a[x]}",
	"[[ -v $x ]]", "[[ -v a[$x] ]]", "test -v \"$x\"", "[ -v \"a[$x]\" ]", "echo ${!x}", "declare -i n=$x", "declare -i n; n=$x", "declare -i n; n+=x", "unset 'a[x]'", "a=(1); unset \"a[$x]\"",
	"printf -v 'a[x]' y", "printf -v \"$x\" y", "read 'a[x]' <<< 1", "s=abc; echo ${s:$x}", "s=abc; echo ${s:0:x}", "a=(1 2); echo ${a[@]:x}", "for ((i=x; i<1; i++)); do :; done", "a=([x]=1)",
	"bash -c 'echo $(( $1 ))' _ \"$x\"", "export x; bash -c 'echo $((x))'", "g() { echo $(( $1 )); }; g \"$x\"", "declare -n r=x; echo $((r))", "echo $(( ${x} * 2 ))", "y=x; echo $((y))", "y=$x; echo $((y))",
	"RANDOM=$x", "OPTIND=$x", "z=a$x; echo $((z))", "declare -A m; m[$x]=1", "declare -A m; echo ${m[$x]}", "echo \"$x\"", "[ \"$x\" -eq 1 ]", "printf '%d' \"$x\"", "echo ${#x}", "s=abc; echo ${s:0:1} $x",
}

// AR-27: no way to evaluate a value from a file runs commands in the value if the
// line is allowed.
func TestEvaluationsAgainstBash(t *testing.T) {
	b, e := newBox(t), noRm(t)
	b.files = map[string]string{"n.txt": "v[$(rm y)]\n", "v[$(rm y)]": ""}
	tried, allowed, runs, asked := 0, 0, 0, 0
	every := rounds(23, 1)
	for i, source := range valueSources {
		for j, use := range valueUses {
			line := source + "; " + use
			tried++
			ok := decide(t, e, line, policy.ModeYolo).Decision == policy.Allow
			if ok {
				allowed++
			}
			if (i*len(valueUses)+j)%every != 0 {
				continue
			}
			stubs, _ := b.run(t, line)
			ran := strings.HasPrefix(strings.Join(append([]string{""}, flatten(stubs)...), " "), " rm")
			switch {
			case ok && ran:
				t.Errorf("%q is allowed, and bash runs %q", line, stubs)
			case ran:
				runs++
			case !ok:
				asked++
			}
		}
	}
	require.Positive(t, runs)
	require.Greater(t, allowed, tried/8)
	t.Logf("%d lines, %d allowed; of those run, %d run the value, and %d were asked about without need", tried, allowed, runs, asked)
}

func flatten(lists [][]string) []string {
	var out []string
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}
