//go:build unix

package policy_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// elsewhere lists programs that run others and are stubs, or missing, in a box:
// their commands cannot be observed.
var elsewhere = strings.Fields("sudo doas su ssh watch parallel busybox strace gdb chroot unshare systemd-run runuser xvfb-run some-runner /opt/ /nix/ " +
	"make fd node ruby python3 git\x20-c tar select coproc ./ ../ ~/ sbin/ local\x20v bin/*")

// Most of the respellings that [TestRespellings] tries run the denied command in
// bash, and none for which bash does is allowed.
func TestRespellingsAgainstBash(t *testing.T) {
	type trial struct{ rule, command, line string }
	engines := map[string]*policy.Engine{}
	for _, g := range guardedBy {
		engines[g.rule] = guard(t, g.rule)
	}
	work := make(chan trial)
	var mu sync.Mutex
	var ran, seen, other int
	var missed []string
	var workers sync.WaitGroup
	for range 2 {
		b := newBox(t)
		workers.Go(func() {
			for tr := range work {
				stubs, _ := b.run(t, tr.line)
				program, _ := first(tr.command)
				if program == "echo" || program == "cat" {
					program = "" // which are unchanged in the box
				}
				did := slices.ContainsFunc(stubs, func(argv []string) bool { return argv[0] == program })
				if did && decide(t, engines[tr.rule], tr.line, policy.ModeYolo).Decision == policy.Allow {
					t.Errorf("%s: %q is allowed, and bash runs %q", tr.rule, tr.line, stubs)
				}
				mu.Lock()
				switch {
				case slices.ContainsFunc(elsewhere, func(s string) bool { return strings.Contains(tr.line, s) }) || !b.has(tr.line):
					other++
				case did:
					ran++
					seen++
				default:
					seen++
					missed = append(missed, tr.line)
				}
				mu.Unlock()
			}
		})
	}
	r := rand.New(rand.NewPCG(9, 0)) //nolint:gosec // repeatable, not secret
	for range rounds(100, 20_000) {
		g := guardedBy[r.IntN(len(guardedBy))]
		command := one(r, g.commands...)
		if line, used := respelled(r, command); len(used) > 0 && strings.Count(line, "E_") <= 4 {
			work <- trial{g.rule, command, line}
		}
	}
	close(work)
	workers.Wait()
	t.Logf("bash runs what is denied in %d of %d lines; %d more run programs that stand for others", ran, seen, other)
	if testing.Verbose() {
		t.Logf("in these it does not:\n%s", strings.Join(missed, "\n"))
	}
	require.Greater(t, ran, seen*7/10, "most of them run what is denied")
}
