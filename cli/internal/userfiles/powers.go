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

// ProjectIn returns the Parameters to inspect the project in a directory.
func ProjectIn(g *program.Flags, dir string) config.Parameters {
	names, _ := layout.Named(g.Layout) // the flag accepts no other name
	there := *g
	there.Cwd = dir
	given := there.GivenSettings()
	return config.Parameters{TargetDir: dir, Environment: config.Environment{Layout: names}, Settings: &given}
}

// PowersOf lists what the project in a directory could do if the directory were
// trusted.
func PowersOf(ctx context.Context, g *program.Flags, dir string) ([]settings.Power, error) {
	return config.ProjectPowers(ctx, ProjectIn(g, dir))
}

// IsOutside reports whether a power is about a directory outside of the project.
func IsOutside(power settings.Power) bool { return power.Outside != "" }

// OutsideOf returns the directories outside of the project that powers include.
func OutsideOf(powers []settings.Power) []string {
	var all []string
	for _, power := range powers {
		if power.Outside != "" && !slices.Contains(all, power.Outside) {
			all = append(all, power.Outside)
		}
	}
	return all
}

// ListPowers formats powers for the user, one per line.
func ListPowers(powers []settings.Power) string {
	var b strings.Builder
	for _, power := range powers {
		fmt.Fprintf(&b, "  - %s\n", display.Line(power.String()))
	}
	return b.String()
}

// Approve records the directories outside of a project that the project may include,
// and the settings of git among its powers.
func Approve(ctx context.Context, g *program.Flags, dir string, powers []settings.Power, outside []string) error {
	project := ProjectIn(g, dir)
	var digests []string
	for _, power := range powers {
		if power.Digest != "" {
			digests = append(digests, power.Digest)
		}
	}
	if err := config.ApproveGit(ctx, project, digests); err != nil {
		return err
	}
	return config.ApproveOutside(ctx, project, outside)
}
