package userfiles

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
)

// ProjectIn are the parameters that say what the project in a directory would do.
func ProjectIn(g *program.Flags, folder string) config.Parameters {
	names, _ := layout.Named(g.Layout) // the flag takes no other name
	there := *g
	there.Cwd = folder
	given := there.GivenSettings()
	return config.Parameters{TargetDir: folder, Layout: names, Settings: &given}
}

// PowersOf lists what the project in a directory would do if the directory were trusted.
func PowersOf(ctx context.Context, g *program.Flags, folder string) ([]settings.Power, error) {
	return config.ProjectPowers(ctx, ProjectIn(g, folder))
}

// OutsideOf returns the directories outside of the project among some powers.
func OutsideOf(powers []settings.Power) []string {
	var all []string
	for _, power := range powers {
		if power.Outside != "" && !slices.Contains(all, power.Outside) {
			all = append(all, power.Outside)
		}
	}
	return all
}

// ListPowers is what a user reads of powers, one a line.
func ListPowers(powers []settings.Power) string {
	var b strings.Builder
	for _, power := range powers {
		fmt.Fprintf(&b, "  - %s\n", display.Line(power.String()))
	}
	return b.String()
}

// ApproveOutside records which directories outside of a directory its project may
// include.
func ApproveOutside(ctx context.Context, g *program.Flags, folder string, directories []string) error {
	return config.ApproveOutside(ctx, ProjectIn(g, folder), directories)
}
