//go:build unix

package plan_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools/plan"
)

// A pipe without a writer is rejected and not waited for.
func TestPlanIsAPipe(t *testing.T) {
	s := newSession(t, in(policy.ModePlan))
	require.NoError(t, os.MkdirAll(s.Path(".fettle/plans"), 0o755))
	require.NoError(t, syscall.Mkfifo(s.Path(".fettle/plans/a.md"), 0o644))
	r := s.Call(plan.ExitPlanMode, args{"plan_filename": "a.md"})
	require.Equal(t, fault.NotARegularFile, r.Result.Error.Code)
	require.Empty(t, s.Confirmations())
}
