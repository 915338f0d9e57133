package bus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
)

// AR-21: outcomes are distinct wherever they are offered, cancel is last, and an outcome that is kept in later sessions
// also applies in this one.
func TestOutcomes(t *testing.T) {
	taken := map[string]bus.Outcome{}
	all := bus.Outcomes()
	for _, o := range all {
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
