package program

import (
	"fmt"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// TierOf names the layer that a rule belongs to.
func TierOf(r policy.Rule) string {
	if r.Session {
		return "session"
	}
	return r.Tier.String()
}

// LeftText is a path that is not restored, in a line.
func LeftText(r checkpoint.Refusal) string {
	return fmt.Sprintf("Cannot be restored: %s: %s", r.Path.Shown(), display.Line(r.Why))
}
