//go:build unix

package policy_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// PB-03: no allowed line, of many made from the pieces of everyday forms, leaves
// the workspace in bash.
func TestDirectoriesAgainstBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	outer, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	top := filepath.Join(outer, "w")
	for _, dir := range []string{"w/a/b", "w/b/a", "w/x y", "w/-P", "a", "b"} {
		require.NoError(t, os.MkdirAll(filepath.Join(outer, dir), 0o755))
	}
	require.NoError(t, os.WriteFile(top+"/f", []byte("/\n"), 0o600))
	e := engine(t, policy.Rule{Tools: []string{"run_shell_command"}, Decision: policy.Allow, Priority: 100, Tier: policy.TierUser, CommandPrefix: strings.Fields("pwd cat echo dirname basename seq false")})
	pieces := []string{
		"p=a", "p=b", "p=..", "p=", "p='x y'", "p=-", "q=$p/b", "q=a/$p", "p=$q", "read p < f", "unset p", "p+=/..", "p=$(cat f)", "p=$(dirname a/b)", "p=$(dirname $q)", "p=$(basename b/a)", "p=$(echo a)",
		"cd $p", `cd "$p"`, "cd $p/$q", `cd "$q"`, "cd a", "cd -", "cd ..", `cd "$(dirname a/b)"`, `cd "$(dirname "$p")"`, "pushd $p", "pushd a", "popd", "cd $p && cd -", "cd a && cd ..", "cd b/..",
		"for p in a b; do (cd $p && pwd); done", `for p in a b/a; do for q in a b; do (cd "$p/$q" && pwd); done; done`, "for p in a ..; do (cd $p; pwd); done", "for p in a b; do cd $p; pwd; cd -; done", "for p in $(cat f); do (cd $p; pwd); done",
		"(cd $p; pwd)", "(p=a; cd $p; pwd)", "false && p=a", "false || p=b", "p=a | pwd", "{ p=a; cd $p; }", "f() { cd $p; pwd; }", "f", "p=b f", "if false; then p=..; else p=a; fi", "while false; do p=..; done",
		"declare p=..", "export p=a", "OLDPWD=/", "true",
	}
	random := rand.New(rand.NewPCG(7, 9)) //nolint:gosec // a test
	allowed, most := 0, rounds(200, 800)
	for range 8000 {
		var lines []string
		for range 2 + random.IntN(4) {
			lines = append(lines, pieces[random.IntN(len(pieces))])
		}
		line := strings.Join(lines, []string{"; ", " && "}[random.IntN(2)]) + "; pwd"
		c := command(t, line, policy.ModeDefault)
		c.Dir, c.Roots = top, []string{top}
		if e.Decide(c).Decision != policy.Allow {
			continue
		}
		if allowed++; allowed > most {
			break
		}
		cmd := exec.Command(bash, "-c", line)
		cmd.Dir, cmd.Env = top, []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "p=/", "q=/", "PWD=" + top}
		out, _ := cmd.Output()
		for dir := range strings.Lines(string(out)) {
			for dir := range strings.SplitSeq(strings.TrimSpace(dir), "  ") {
				if dir != top && !strings.HasPrefix(dir, top+"/") && strings.HasPrefix(dir, "/") {
					t.Errorf("%q is allowed, and bash goes to %q", line, dir)
				}
			}
		}
	}
	require.Greater(t, allowed, most*9/10)
	t.Logf("%d lines are allowed", allowed)
}
