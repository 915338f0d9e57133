package bus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
)

// AR-21: every outcome is told from the others wherever it is offered, cancel is the
// last, and what is kept in later sessions is no less than what lasts in this one.
func TestOutcomes(t *testing.T) {
	taken := map[string]bus.Outcome{}
	all := bus.Outcomes()
	for _, o := range all {
		require.True(t, o.Outcome.Valid())
		for _, answer := range []string{"outcome " + string(o.Outcome), "typed " + o.Key, "typed " + o.Word, "form " + o.Name} {
			require.NotContains(t, taken, answer)
			taken[answer] = o.Outcome
		}
		require.Contains(t, o.Label, "["+o.Key+"]")
		require.False(t, o.Kept && o.Until == "")
		info, ok := o.Outcome.Info()
		require.True(t, ok)
		require.Equal(t, o, info)
	}
	require.Equal(t, bus.Cancel, all[len(all)-1].Outcome)
	_, ok := bus.Outcome("unknown").Info()
	require.False(t, ok)
}
