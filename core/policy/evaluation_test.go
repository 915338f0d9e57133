package policy_test

import (
	"testing"

	"github.com/fettle-dev/fettle/core/policy"
)

// AR-25, AR-27: bash evaluates values in arithmetic and in names of variables,
// where a subscript may run commands. Such a line requires approval unless the
// values can only be numbers or plain words.
func TestEvaluatedValues(t *testing.T) {
	e := corpusEngine(t)
	for want, lines := range map[policy.Verdict][]string{
		policy.AskUser: {
			"x=$(cat n.txt); echo $((x+1))", "x=$(cat n.txt); [[ $x -eq 1 ]]", "x=$(cat n.txt); ((n+=x))", "x=$(cat n.txt); a[$x]=1", "x=$(cat n.txt); [[ -v $x ]]",
			"x=$(cat n.txt); echo ${!x}", "x=$(cat n.txt); declare -i y=$x", "x=$(cat n.txt); declare -i y; y=$x", "x=$(cat n.txt); unset 'y[x]'", `x=$(cat n.txt); unset "y[$x]"`,
			`x=$(cat n.txt); printf -v "$x" a`, "x=$(cat n.txt); printf -v 'a[x]' b", "x=$(cat n.txt); let y=x", `x=$(cat n.txt); let "y=x"`, `x=$(cat n.txt); test -v "$x"`, "x=$(cat n.txt); test -v 'a[x]'",
			"x=$(cat n.txt); [ -v 'a[x]' ]", "x=$(cat n.txt); read 'a[x]' <<< 1", "x=$(cat n.txt); echo ${s:$x}", "x=$(cat n.txt); echo ${s:x:1}", "x=$(cat n.txt); a=([x]=1)",
			"for f in *; do echo $((f)); done", "for f in *; do [[ $f -gt 3 ]] && echo x; done", "read x < n.txt; echo $((x))", "read < n.txt; echo $((REPLY))", "read -r x < n.txt; ((x > 3)) && echo yes",
			"x=$(cat n.txt); y=x; echo $((y))", `x=$(cat n.txt); y="a[x]"; echo $((y))`, "x=$(cat n.txt); for ((i=0;i<x;i++)); do echo $i; done",
			`f() { echo $(( $1 + 1 )); }; f "$(cat n.txt)"`, `f() { local n=$1; echo $(( n + 1 )); }; f "$(cat n.txt)"`, `bash -c 'echo $(( $1 ))' _ "$(cat n.txt)"`,
			"export x=$(cat n.txt); bash -c 'echo $((x))'", "x=$(cat n.txt) bash -c 'echo $((x))'", `env x="$(cat n.txt)" bash -c 'echo $((x))'`,
			`find . -exec bash -c 'echo $(( $1 ))' _ {} \;`, "ls | xargs bash -c 'echo $(( $1 ))' _", "eval 'x=$(cat n.txt)'; echo $((x))",
			"a1=$(cat n.txt); for i in 1 2; do echo $(( a$i )); done", "set -- $(cat n.txt); echo $(( $1 ))", "mapfile -t a < n.txt; echo $(( a[0] ))", "a=($(cat n.txt)); echo $(( a[0] + 1 ))",
			"echo $(( $(cat n.txt) + 1 ))", ": ${x:=$(cat n.txt)}; echo $((x))", "x+=$(cat n.txt); echo $((x))", "declare -a m; m[$(cat n.txt)]=1", "a=(1); declare -A a; a[$(cat n.txt)]=1",
			"declare -A m; k=$(cat n.txt); ((m[$k]++))", `cat "$(cat n.txt)"; echo $(($_))`, "x=$(wc -l < n.txt 2>&1); echo $((x))", "x=$(grep -rc x .); echo $((x))", "x=$(seq -f \"$(cat n.txt)\" 1); echo $((x))",
			"wc() { cat n.txt; }; x=$(wc -l); echo $((x))", "x=$(wc -l *); echo $((x))",
			// The name of the variable is made of other texts.
			"n=$(cat n.txt); v=$(printf %c nZ); echo $((v))", "n=$(cat n.txt); v=$(printf %.1s nZ); echo $((v))", "n1=$(cat n.txt); v=$(seq -f n%g 1); echo $((v))", "n=$(cat n.txt); v=$(echo nZ | tr -d Z); echo $((v))",
			"n=$(cat n.txt); v=$(expr substr nZ 1 1); echo $((v))", "bb=$(cat n.txt); x=$(echo -n b; echo b); echo $((x))", "bb=$(cat n.txt); x=$(printf b && echo b); echo $((x))", "b1=$(cat n.txt); x=b; x+=1; [[ x -eq 1 ]]",
			"b1=$(cat n.txt); x=ab1; echo $((${x:1}))", "b1=$(cat n.txt); x=ab1; y=${x#a}; echo $((y))", "b1=$(cat n.txt); x=b1c; echo $((${x%c}))", "b1=$(cat n.txt); x=B1; echo $((${x,,}))", "b1=$(cat n.txt); x=bc1; echo $((${x/c/}))",
			"b1=$(cat n.txt); declare -l x=B1; echo $((x))", "B1=$(cat n.txt); typeset -u x; x=b1; echo $((x))", `b1=$(cat n.txt); "declare" -l x=B1; echo $((x))`, `n1=$(cat n.txt); a=n; x=$a"1"; echo $((x))`, "n1=$(cat n.txt); echo $((n'1'))",
			"REPLY=1; read < n.txt; x=REPLYZ; echo $((${x%Z}))", "x=REPLYZ; echo $((${x%Z}))", "FF=$(cat n.txt); x=$(echo 'obase=16;255' | bc); echo $((x))", `ab=$(cat n.txt); x=$(echo "a'b'" | xargs); echo $((x))`,
			`q=$(cat n.txt); x=$(echo -e '\0161'); echo $((x))`, `q=$(cat n.txt); x=$(printf %b '\0161'); echo $((x))`, `q=$(cat n.txt); shopt -s xpg_echo; x=$(echo "\0161"); echo $((x))`,
			"q=$(cat n.txt); IFS=Z; y=qZ1; set -- $y; echo $(($1))", "q=$(cat n.txt); IFS=Z; y=qZ1; for x in $y; do echo $((x)); done", `qr=$(cat n.txt); a=(q r); IFS=; x="${a[*]}"; echo $((x))`, "qr=$(cat n.txt); a=(q r); IFS=; echo $((${a[*]}))",
			// Programs that print texts, too.
			"n=$(cat n.txt); x=$(git rev-parse n); echo $((x))", "root=$(cat n.txt); x=$(id -u -n); echo $((x))", "b=$(cat n.txt); x=$(stat -c %s -c %n b); echo $((x))", "b=$(cat n.txt); x=$(stat -c %Y --printf=%n b); echo $((x))",
			`for f in *; do x=$(stat -c %s a "$f"); echo $((x)); done`, "b=$(cat n.txt); x=$(date -d +1 +b); echo $((x))", "s=$(cat n.txt); x=$(date +s); echo $((x))", "undefined=$(cat n.txt); x=$(getconf _POSIX_FOO); echo $((x))",
			"x=$(awk '{s++; s  =$0; print s}' n.txt); echo $((x))", "x=$(awk '{s++; sub(/.*/,$0,s); print s}' n.txt); echo $((x))", "x=$(awk '{sub(/.*/,$0,NR); print NR}' n.txt); echo $((x))", "x=$(awk '{NR  =$0; print NR}' n.txt); echo $((x))",
			"x=$(awk '{sub(/^/,$0,NF); print NF}' n.txt); echo $((x))", "x=$(awk '{s++; a[$0]; for(s in a) print s}' n.txt); echo $((x))", "nan=$(cat n.txt); x=$(awk '{s += $1} END {print s}' a.txt); echo $((x))",
		},
		policy.Allow: {
			"n=$(wc -l <a.txt); ((n>100)) && echo big", "for i in $(seq 9); do echo $((i*i)); done", `n=$(wc -l < a.txt); for i in $(seq 1 "$n"); do echo $((i*i)); done`, "echo $(( $# )) $(( $? + 1 ))",
			`f=$(ls | head -1); n=$(wc -l < "$f"); ((n>100)) && echo big`, "s=$(date +%s); go build ./...; echo $(( $(date +%s) - s ))",
			`a=(1 2 3); echo $(( ${#a[@]} - 1 )); for ((i=0;i<${#a[@]};i++)); do echo "${a[$i]} ${a[i]}"; done`, "i=0; while [ $i -lt 3 ]; do i=$((i+1)); done",
			"n=$(git ls-files | wc -l); if [[ $n -gt 100 ]]; then echo big; fi", "n=$(grep -c TODO main.go); echo $((n+1))", "n=$(git rev-list --count HEAD); ((n > 5)) && echo yes",
			"n=$(grep -rn TODO . | wc -l | tr -d ' '); echo $((n * 2))", "n=$(wc -l main.go | awk '{print $1}'); echo $((n))", "n=$(wc -l main.go | cut -d' ' -f1); echo $((n))",
			`total=0; for f in *.go; do n=$(wc -l < "$f"); total=$((total + n)); done; echo $total`, `declare -A seen; while read -r k; do seen[$k]=1; done < a.txt; echo "${#seen[@]}"`,
			`declare -A m=([a]=1 [b]=2); for k in "${!m[@]}"; do echo "$k ${m[$k]}"; done`, `for v in HOME PATH; do echo "$v=${!v}"; done`, `files=(*.go); for i in "${!files[@]}"; do echo "$i ${files[$i]}"; done`,
			"f() { local n=$1; echo $((n * 2)); }; f 3", `printf '%s\n' "${X:0:8}"`, "c=$(grep -c x a.txt || true); ((c)) && echo some", "size=$(stat -c %s main.go); ((size > 1024)) && echo large",
			"sum=$(awk '{s+=$1} END {print s}' data.csv); echo $((sum / 2))", "n=$(awk 'END{print NR}' data.csv); echo $((n / 2))", `x=5; let x+=1; let "x = x + 1"; echo $x`, "n=$(($(wc -l < a.txt) + 1)); echo $n",
			`sha=$(git rev-parse HEAD); echo "${sha:0:8}"`, "p=0; go test ./... && ((p++)); echo $p", "echo $((RANDOM % 6))", "x=$(cat a.txt); y=2; echo $((y+1))",
			"go test ./...; rc=$?; ((rc == 0)) && echo ok", "d=$(date +%Y%m%d); echo $((d))",
			"n=0; while IFS= read -r l; do n=$((n+1)); done < a.txt; echo $n",
			"v=v12; n=${v#v}; echo $((n + 1))", "x=$(printf '%02d\\n' 5); n=$(cat a.txt); echo $((x + 1))", `for f in *.txt; do s=$(stat -c %s "$f"); echo $((s + 1)); done`, "h=$(date -d yesterday +%H); echo $((10#$h))",
			"x=$(awk '/TODO/ {n++} END {print n+0}' a.txt); echo $((x))", "x=$(awk -F, '$3 > 100 && $1 == \"a\" {s += $2 * $4; n++} END {print s}' a.csv); echo $((x))", "x=$(awk '{print NF}' a.txt); echo $((x))", "for i in $(seq -w 1 3); do echo $((10#$i)); done",
		},
	} {
		for _, line := range lines {
			if d := decide(t, e, line, policy.ModeDefault); d.Decision != want {
				t.Errorf("%q: want %s: %s", line, want, describe(d))
			}
		}
	}
}
