package settings

import (
	"context"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// agreeToPowers shows what trust in a directory gives its project, and asks whether
// it is trusted where a user sits at a terminal. It returns the powers that the
// project has then, and the directories outside of it that are approved; an error
// of code cancelled if the user declines.
func agreeToPowers(ctx context.Context, p *program.Program, g *program.Flags, folder string, state trust.State, o trustOptions) (powers []settings.Power, approved []string, err error) {
	if state != trust.Trusted {
		return nil, nil, nil
	}
	if powers, err = userfiles.PowersOf(ctx, g, folder); err != nil {
		return nil, nil, program.TrustFailure(err)
	}
	user, done := approval.NewPrompter(p.In, p.Err)
	defer done()
	inside := slices.DeleteFunc(slices.Clone(powers), func(power settings.Power) bool { return power.Outside != "" })
	if len(inside) > 0 {
		user.Say("Once %s is trusted, its project\n%s", display.Line(folder), userfiles.ListPowers(inside))
	}
	if len(inside) > 0 && user.IsThere() && !o.yes {
		if agreed, err := user.Agrees(ctx, "Trust it?"); err != nil || !agreed {
			return nil, nil, declined(folder, err)
		}
	}
	outside := slices.DeleteFunc(slices.Clone(powers), func(power settings.Power) bool { return power.Outside == "" })
	if len(outside) == 0 {
		return inside, nil, nil
	}
	user.Say("It also names directories outside of itself, which trust does not cover. It\n%s", userfiles.ListPowers(outside))
	agreed := o.outside
	if !agreed && user.IsThere() {
		if agreed, err = user.Agrees(ctx, "Approve of these directories, too?"); err != nil {
			return nil, nil, declined(folder, err)
		}
	}
	if agreed {
		return powers, userfiles.OutsideOf(outside), nil
	}
	p.Complain(fault.New(fault.InvalidConfig, "cli", "These directories are left out: "+strings.Join(userfiles.OutsideOf(outside), ", ")+".", "To approve of them, run fettle trust --outside."))
	return inside, nil, nil
}

func declined(folder string, err error) error {
	if err != nil {
		return program.Interrupted()
	}
	return &program.ExitError{Code: program.ExitToolError, Err: fault.New(fault.Cancelled, "cli", "Nothing was recorded of "+folder+".", "")}
}
