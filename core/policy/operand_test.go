package policy_test

import (
	"testing"

	"github.com/fettle-dev/fettle/core/policy"
)

// AR-25, AR-27: a word that may become an option of its program is covered by no
// rule that allows, unless it follows -- or other text.
func TestOperandsThatBecomeOptions(t *testing.T) {
	e := corpusEngine(t)
	for want, lines := range map[policy.Verdict][]string{
		policy.AskUser: {
			"rg foo *", "ls | xargs sed -n 1p", "find . $(cat a.txt)", "find $(cat a.txt)", `x=$(cat a.txt); rg foo "$x"`, "x=$(cat a.txt); rg foo $x", `for f in *; do sed -n 1p "$f"; done`,
			"for f in src/*.go; do sed -n 1p $f; done", "sort *", "git log $(cat a.txt)", `git log "$(cat a.txt)"`, "go test $(cat a.txt)", `while read -r f; do sed -n 1p "$f"; done < a.txt`,
			"find . -name '*.go' | xargs sed -n 1p", "ls | xargs -I{} sed -n 1p {}", "x=$(cat a.txt); IFS=_; find ./$x", "IFS=_; X=._-delete; find $X -name a", "X=._-delete; f() { find $X -name a; }; IFS=_; f",
			"gofmt -l *", "sed -n 1p ?.txt", "sed -n 1p [-a]*", `rg -n "$(cat a.txt)"`, `f() { rg foo "$1"; }; f *`, `for f in src/*; do sed -n 1p "${f##*/}"; done`, `for f in src/*; do sed -n 1p "${f:4}"; done`,
			// A program or an expansion makes the option.
			"rg foo $(echo Z--pre=sh | tr -d Z) .", "x=$(expr substr Z--pre=sh 2 20); rg foo $x", "x=$(printf '%.0s%s' Z --pre=sh); rg foo $x", "rg foo $(echo a; echo --pre=sh)", `rg foo "$(printf %s --pre=; which sh)" .`,
			`x=$(printf 'x\n--pre=sh' | tail -n1); rg foo $x`, `rg foo $(echo "a --pre=sh" | xargs -n 1)`, "x=$(echo --pre=sh | sort); rg foo $x", "y=Z--pre=sh; rg foo ${y#Z}", `y=Z--pre=sh; rg foo "${y:1}"`, `y=Z--pre=sh; rg foo "${y/Z/}"`,
			"y=--pre=sh; rg foo ${y%Z}", "y=--PRE=SH; rg foo ${y,,}", "declare -l y=--PRE=SH; rg foo $y", "x=a/--pre=sh; rg foo ${x##*/}", "y=x; rg foo ${y/x/--pre=sh}", "y=xZ--pre=sh; rg foo ${y/x?/}", `a=(Z--pre=sh); rg foo "${a[@]#Z}"`,
			`set -- Z--pre=sh; rg foo "${1#Z}"`, `for y in Z--pre=sh; do rg foo "${y#Z}"; done`, "y=Z-delete; find . ${y#Z}", `y="${x#Zabc}--pre=sh"; x=Zabc; rg foo $y`,
			// What is before the option may be empty, or joins it.
			`find . "$e-exec" ./e \;`, `e=; find . $e-exec ./e \;`, `find . "$@-exec" ./e \;`, `rg "$e--pre=./e" x`, `git log "$e--output=AGENTS.md"`, `sort "$e-oAGENTS.md" f`, `sed "$e-i" s/a/b/ f`,
			`x=-; x+=-compress-program=./e; sort "$x" f`, `declare x=-; declare x+=-compress-program=./e; sort "$x" f`, `a=(-); a+=-compress-program=./e; sort "$a" f`, `o=f; o+=" --compress-program=./e"; sort $o`,
			`sort "$(echo -e '\0055-compress-program=./e')" f`, `set -- - -compress-program=./e; IFS=; sort "$*" f`,
			"find . -- $(cat a.txt)", "tree *", "timeout 5 rg foo *", `set -- *; rg foo "$@"`, `a=(*); rg foo "${a[@]}"`,
		},
		policy.Allow: {
			"rg foo ./*", "rg foo src/*", "rg -- foo *", "sed -n 1p -- *", `rg -e "$(cat a.txt)" .`, "git log -- *.go", `for f in src/*.go; do sed -n 1p "$f"; done`, `for f in src/*; do p="$f"; sed -n 1p "$p"; done`,
			`path=src/my-file.txt; rg foo "${path##*/}"`, `path=src/my-file.txt; rg foo "${path/.txt/.md}"`, `path=src/my-file.txt; rg foo "${path%.txt}.md"`, "x=$(echo my-file | sort | head -n1); rg foo $x", "h=$(git rev-parse --short HEAD); git log $h..HEAD",
			`find . -name '*.go' -exec sed -n 1p {} \;`, `git commit -m "$(cat a.txt)"`, `sha=$(git rev-parse HEAD); git show "$sha"`, `git diff "$(git merge-base HEAD main)"`, "ls | xargs wc -l",
			`x=main.go; gofmt -l $x; sed -n 1p "$x"`, `for f in a.go b.go; do gofmt -l "$f"; done`, "wc -l *", `for f in *; do head -n 1 "$f"; done`, `find "$PWD" -name '*.go'`, "n=$(nproc); make -j$n",
		},
	} {
		for _, line := range lines {
			if d := decide(t, e, line, policy.ModeDefault); d.Decision != want {
				t.Errorf("%q: want %s: %s", line, want, describe(d))
			}
		}
	}
}
