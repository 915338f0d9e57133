package policy_test

import (
	"testing"

	"github.com/fettle-dev/fettle/core/policy"
)

// AR-25, AR-27: if a line sets IFS, all unquoted expansions are unknown.
func TestIFS(t *testing.T) {
	e := corpusEngine(t)
	for want, lines := range map[policy.Verdict][]string{
		policy.AskUser: {
			"IFS=_; X=._-delete; find $X", "read -r IFS <<< _; X=._-delete; find $X", "f() { local IFS=_; find $X; }; X=._-delete; f", "export IFS=_; X=._-delete; find $X",
			"declare IFS=_; X=._-delete; find $X", "IFS=_ eval 'find $X'", "for IFS in _; do find $X; done", "printf -v IFS _; X=._-delete; find $X", "printf -vIFS _; X=._-delete; find $X",
			": ${IFS:=_}; find $X", "((IFS=1)); X=.1-delete; find $X", "eval 'IFS=_'; X=._-delete; find $X", "declare -n r=IFS; r=_; X=._-delete; find $X", "getopts a IFS; X=._-delete; find $X",
			"IFS=_; X=rm_y; $X", "IFS=0; X=.; find $((1002))", "X=._-delete; f() { find $X; }; IFS=_; f",
		},
		policy.Allow: {
			`while IFS= read -r line; do printf '%s\n' "$line"; done < a.txt`, `while IFS=, read -r a b; do echo "$b $a"; done < data.csv`, "IFS=, read -r a b < data.csv; echo $a",
			`IFS=$'\n'; for f in $(ls); do wc -l "$f"; done`, `IFS=:; for p in $PATH; do ls "$p"; done`, `IFS=,; a=(1 2); echo "${a[*]}"`,
		},
	} {
		for _, line := range lines {
			if d := decide(t, e, line, policy.ModeDefault); d.Decision != want {
				t.Errorf("%q: want %s: %s", line, want, describe(d))
			}
		}
	}
}
