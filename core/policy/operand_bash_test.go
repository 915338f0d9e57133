//go:build unix

package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// AR-27: no file name, and no text in one, becomes an option that runs a command
// if the line is allowed.
func TestOperandsAgainstBash(t *testing.T) {
	e := corpusEngine(t)
	boxes := map[string]*box{}
	for program, files := range map[string]map[string]string{
		"sed -n 1p": {"-e1erm y": "", "o.txt": "-e1erm\n"},
		"find .":    {"o.txt": "-exec rm {} +\n"},
		"tar -cf x": {"--checkpoint=1": "", "--checkpoint-action=exec=rm y": "", "o.txt": "--checkpoint=1 --checkpoint-action=exec=rm\n"},
	} {
		boxes[program] = newBox(t)
		boxes[program].files = files
	}
	n, allowed, ran := 0, 0, 0
	for _, shape := range []string{
		"P *", "P ./*", "P -- *", "P w*", "P -*", "P ?*", "ls | xargs -d '\\n' P", "ls | xargs -d '\\n' P --", "ls | xargs -I{} P {}", "P $(cat o.txt)", "P -- $(cat o.txt)", `P "$(cat o.txt)"`,
		"P ./$(cat o.txt)", `for f in *; do P "$f"; done`, `for f in ./*; do P "$f"; done`, `set -- *; P "$@"`, `a=(*); P "${a[@]}"`, `x=$(cat o.txt); P $x`, `IFS=_; x=$(cat o.txt); P $x`,
		`f() { P "$@"; }; f *`, `while IFS= read -r l; do P "$l"; done < o.txt`, `x="a $(cat o.txt)"; P $x`, "mapfile -t a < o.txt; P ${a[@]}", "timeout 5 P *", "env P *", `bash -c 'P "$@"' _ *`, "find . -type f -exec P {} +",
		"find . -type f | xargs P", "find . -type f -print0 | xargs -0 P", `for f in ./*; do P "${f#./}"; done`, "P a.txt *", "cat o.txt | xargs P",
	} {
		for program, b := range boxes {
			line := strings.ReplaceAll(shape, "P", program)
			n++
			ok := decide(t, e, line, policy.ModeDefault).Decision == policy.Allow
			stubs, _ := b.run(t, line)
			runs := slices.ContainsFunc(stubs, func(argv []string) bool { return argv[0] == "rm" })
			if ok && runs {
				t.Errorf("%q is allowed, and bash runs %q", line, stubs)
			}
			if ok {
				allowed++
			}
			if runs {
				ran++
			}
		}
	}
	require.Positive(t, ran)
	require.Positive(t, allowed)
	t.Logf("%d lines, %d allowed, %d run what a file says", n, allowed, ran)
}
