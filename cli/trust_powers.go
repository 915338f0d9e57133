package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// projectIn are the parameters that say what the project in a folder would do.
func projectIn(g *globalFlags, folder string) config.Parameters {
	names, _ := layout.Named(g.layout) // the flag takes no other name
	there := *g
	there.cwd = folder
	given := there.givenSettings()
	return config.Parameters{TargetDir: folder, Layout: names, Settings: &given}
}

// powersOf lists what the project in a folder would do if the folder were trusted.
func powersOf(ctx context.Context, g *globalFlags, folder string) ([]settings.Power, error) {
	return config.ProjectPowers(ctx, projectIn(g, folder))
}

// outsideOf returns the directories outside of the project among some powers.
func outsideOf(powers []settings.Power) []string {
	var all []string
	for _, power := range powers {
		if power.Outside != "" && !slices.Contains(all, power.Outside) {
			all = append(all, power.Outside)
		}
	}
	return all
}

// listPowers is what a user reads of powers, one a line.
func listPowers(powers []settings.Power) string {
	var b strings.Builder
	for _, power := range powers {
		fmt.Fprintf(&b, "  - %s\n", oneLine(power.String()))
	}
	return b.String()
}

// approveOutside records which directories outside of a folder its project may
// include.
func approveOutside(ctx context.Context, g *globalFlags, folder string, directories []string) error {
	return config.ApproveOutside(ctx, projectIn(g, folder), directories)
}

// agreeToPowers shows what trust in a folder gives its project, and asks whether
// it is trusted where a user sits at a terminal. It returns the powers that the
// project has then, and the directories outside of it that are approved; an error
// of code cancelled if the user declines.
func (p *program) agreeToPowers(ctx context.Context, g *globalFlags, folder string, state trust.State, o trustOptions) (powers []settings.Power, approved []string, err error) {
	if state != trust.Trusted {
		return nil, nil, nil
	}
	if powers, err = powersOf(ctx, g, folder); err != nil {
		return nil, nil, trustFailure(err)
	}
	user, done := p.installer(false)
	defer done()
	inside := slices.DeleteFunc(slices.Clone(powers), func(power settings.Power) bool { return power.Outside != "" })
	if len(inside) > 0 {
		user.say("Once %s is trusted, its project\n%s", oneLine(folder), listPowers(inside))
	}
	if len(inside) > 0 && user.tty != nil && !o.yes {
		if agreed, err := user.agrees(ctx, "Trust it?"); err != nil || !agreed {
			return nil, nil, declined(folder, err)
		}
	}
	outside := slices.DeleteFunc(slices.Clone(powers), func(power settings.Power) bool { return power.Outside == "" })
	if len(outside) == 0 {
		return inside, nil, nil
	}
	user.say("It also names directories outside of itself, which trust does not cover. It\n%s", listPowers(outside))
	agreed := o.outside
	if !agreed && user.tty != nil {
		if agreed, err = user.agrees(ctx, "Approve of these directories, too?"); err != nil {
			return nil, nil, declined(folder, err)
		}
	}
	if agreed {
		return powers, outsideOf(outside), nil
	}
	p.complain(fault.New(fault.InvalidConfig, "cli", "These directories are left out: "+strings.Join(outsideOf(outside), ", ")+".", "To approve of them, run fettle trust --outside."))
	return inside, nil, nil
}

func declined(folder string, err error) error {
	if err != nil {
		return interrupted()
	}
	return &exitError{code: exitToolError, err: fault.New(fault.Cancelled, "cli", "Nothing was recorded of "+folder+".", "")}
}

// projectNotices say what the project of a session gives because it is trusted, and
// which tools a trusted one switches off.
func projectNotices(c *config.Config) []string {
	var notices []string
	if powers, err := c.ProjectPowers(); err == nil && len(powers) > 0 {
		notices = append(notices, "Files that you trust give "+byFile(powers)+".")
	}
	if c.TrustedFolder() {
		notices = append(notices, switchNotices(c)...)
	}
	return notices
}

// byFile names powers in a few words, the files behind what they give.
func byFile(powers []settings.Power) string {
	var files []string
	words := map[string][]string{}
	for _, power := range powers {
		word := power.Key
		switch {
		case power.Address != "":
			word = power.Variable + " " + power.Address
		case power.Variable != "":
			word = power.Variable
		case power.Key == "model.name":
			word = "the model " + strings.TrimPrefix(power.Text, "sends the conversation to the model ")
		}
		if !slices.Contains(files, power.Source) {
			files = append(files, power.Source)
		}
		if !slices.Contains(words[power.Source], word) {
			words[power.Source] = append(words[power.Source], word)
		}
	}
	parts := make([]string, len(files))
	for i, file := range files {
		parts[i] = strings.Join(words[file], ", ") + " (" + file + ")"
	}
	return strings.Join(parts, "; ")
}

// switchNotices say which settings of the project switch tools, servers, agents or
// skills off.
func switchNotices(c *config.Config) []string {
	switches, err := c.ProjectSwitches()
	if err != nil || len(switches) == 0 {
		return nil
	}
	words := make([]string, len(switches))
	for i, s := range switches {
		words[i] = s.String()
	}
	return []string{"The project switches tools off: " + strings.Join(words, ", ") + "."}
}
