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

// agreeToPowers shows what the project can do in a trusted directory and, if a user
// is at the terminal, asks for confirmation. It returns the powers that the project
// gets, and the approved directories outside of it; an error of code cancelled if the
// user declines.
func agreeToPowers(ctx context.Context, p *program.Program, g *program.Flags, dir string, state trust.State, o trustOptions) (powers []settings.Power, approved []string, err error) {
	if state != trust.Trusted {
		return nil, nil, nil
	}
	if powers, err = userfiles.PowersOf(ctx, g, dir); err != nil {
		return nil, nil, program.TrustFailure(err)
	}
	user, done := approval.NewPrompter(p.In, p.Err)
	defer done()
	inside := slices.DeleteFunc(slices.Clone(powers), func(power settings.Power) bool { return power.Outside != "" })
	if len(inside) > 0 {
		user.Printf("If you trust %s, its project\n%s", display.Line(dir), userfiles.ListPowers(inside))
	}
	if len(inside) > 0 && user.IsThere() && !o.yes {
		if agreed, err := user.Agrees(ctx, "Trust it?"); err != nil || !agreed {
			return nil, nil, declined(dir, err)
		}
	}
	outside := slices.DeleteFunc(slices.Clone(powers), func(power settings.Power) bool { return power.Outside == "" })
	if len(outside) == 0 {
		return inside, nil, nil
	}
	user.Printf("It also includes directories outside of the project, which trust does not cover. It\n%s", userfiles.ListPowers(outside))
	agreed := o.outside
	if !agreed && user.IsThere() {
		if agreed, err = user.Agrees(ctx, "Approve these directories, too?"); err != nil {
			return nil, nil, declined(dir, err)
		}
	}
	if agreed {
		return powers, userfiles.OutsideOf(outside), nil
	}
	p.PrintError(fault.New(fault.InvalidConfig, "cli", "These directories are ignored: "+strings.Join(userfiles.OutsideOf(outside), ", ")+".", "To approve them, run fettle trust --outside."))
	return inside, nil, nil
}

func declined(dir string, err error) error {
	if err != nil {
		return program.Interrupted()
	}
	return &program.ExitError{Code: program.ExitToolError, Err: fault.New(fault.Cancelled, "cli", "Nothing was recorded for "+dir+".", "")}
}
