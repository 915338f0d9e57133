// Package extensioncheck checks the files of an extension as a session reads them.
package extensioncheck

import (
	"context"

	"github.com/fettle-dev/fettle/core/config/internal/contributions"
	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
)

// ExcludedTool reports that an entry of a list of excluded tools denies more than it
// states, because the commands in its brackets cannot be parsed. It returns nil for
// other entries. The error has code invalid_config.
func ExcludedTool(text string) error { return toolrules.CheckExcluded(text) }

// Rules returns the problems in the rules of an extension. Paths are absolute.
func Rules(ctx context.Context, e extensions.Extension) []fault.Problem {
	return contributions.CheckRules(ctx, e)
}

// Hooks returns the problems in the hooks of an extension. Paths are absolute, and
// lines are those of the user's file.
func Hooks(e extensions.Extension) []fault.Problem { return contributions.CheckHooks(e) }

// Plugin returns the problems in the commands, agents and skills of a plugin of Claude
// Code, and nil for any other extension. Paths are absolute. The error is that of ctx.
func Plugin(ctx context.Context, e extensions.Extension) ([]fault.Problem, error) {
	return contributions.PluginProblems(ctx, e)
}
