package firstrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// Trust asks whether the target directory is trusted, before a session of it is opened, if
// nothing is recorded about it and its files have effects that require trust. The session
// that is opened next has the answer. Without a terminal, and if the session would fail for
// its settings, it asks nothing.
func Trust(ctx context.Context, p *program.Program, g *program.Flags) error {
	dir, err := filepath.Abs(g.Cwd)
	if err != nil {
		return nil // the session reports it
	}
	if state, err := program.TrustOf(ctx, g, []string{dir}); err != nil || state != trust.Undecided {
		return nil
	}
	powers, err := userfiles.PowersOf(ctx, g, dir)
	if err != nil || len(powers) == 0 {
		return nil
	}
	user, done := approval.NewPrompter(p.In, p.Out)
	defer done()
	if !user.IsThere() {
		return nil
	}
	q := trustQuestion{p: p, g: g, user: user, dir: dir, powers: powers}
	if err := q.ask(ctx); err != nil {
		return program.Interrupted()
	}
	return nil
}

// trustQuestion is the question about one directory.
type trustQuestion struct {
	p      *program.Program
	g      *program.Flags
	user   *approval.Prompter
	dir    string
	powers []settings.Power
}

func (q *trustQuestion) ask(ctx context.Context) error {
	inside := slices.DeleteFunc(slices.Clone(q.powers), userfiles.IsOutside)
	q.user.Printf("This directory is not known yet:\n  %s\n", display.Line(q.dir))
	q.user.Printf("If you trust it, its project\n%s", userfiles.ListPowers(inside))
	outside := userfiles.OutsideOf(q.powers)
	if len(outside) > 0 {
		Say(q.user, fmt.Sprintf("It also includes directories outside of it, which are ignored until fettle trust --outside: %d.", len(outside)))
	}
	q.user.Printf("\n  t  trust this directory\n")
	letters := []string{"t", "s", "d", ""}
	parent := filepath.Dir(q.dir)
	if mayTrust(parent) {
		letters = append(letters, "p")
		q.user.Printf("  p  trust all of %s\n", display.Line(parent))
	}
	q.user.Printf("  s  trust it in this session only\n  d  do not trust it\n")
	answer, err := choose(ctx, q.user, "Trust it? Enter: not now", letters...)
	if err != nil {
		return err
	}
	switch answer {
	case "t":
		q.record(ctx, q.dir, trust.Trusted, inside)
	case "p":
		q.record(ctx, parent, trust.Trusted, inside)
	case "d":
		q.record(ctx, q.dir, trust.Untrusted, nil)
	case "s":
		q.g.TrustOnce(trust.Trusted)
	}
	return ctx.Err()
}

// record records the answer. If it cannot be recorded, it applies to this session.
func (q *trustQuestion) record(ctx context.Context, dir string, state trust.State, powers []settings.Power) {
	store, _, err := program.OpenTrust(q.g)
	if err == nil {
		err = store.Set(ctx, dir, state)
	}
	if err == nil {
		err = userfiles.Approve(ctx, q.g, q.dir, powers, nil)
	}
	if err != nil {
		q.g.TrustOnce(state)
		Say(q.user, fault.Line(err)+" The answer applies to this session.")
		return
	}
	if state == trust.Trusted {
		userfiles.ApproveHooksOf(ctx, q.p, q.g, q.dir)
	}
}

// mayTrust reports whether a parent directory is offered: not the root, and none that
// contains the home directory.
func mayTrust(parent string) bool {
	home, err := os.UserHomeDir()
	if err != nil || filepath.Dir(parent) == parent {
		return false
	}
	for _, resolve := range []func(string) (string, error){func(path string) (string, error) { return path, nil }, filepath.EvalSymlinks} {
		from, err1 := resolve(parent)
		to, err2 := resolve(home)
		if rel, err := filepath.Rel(from, to); err1 != nil || err2 != nil || err != nil || filepath.IsLocal(rel) {
			return false
		}
	}
	return true
}
