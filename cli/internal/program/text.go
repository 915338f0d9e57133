package program

import (
	"fmt"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// TierOf returns the name of a rule's tier.
func TierOf(r policy.Rule) string {
	if r.Session {
		return "session"
	}
	return r.Tier.String()
}

// RefusalText describes a path that is not restored, in one line.
func RefusalText(r checkpoint.Refusal) string {
	return fmt.Sprintf("Cannot be restored: %s: %s", r.Path.Shown(), display.Line(r.Detail))
}
