package filestate

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// FS-01, TE-01
func TestCounterStartsRisesRestarts(t *testing.T) {
	for range 2 {
		var s SessionStateService
		require.Zero(t, s.Current())
		for want := int64(1); want <= 3; want++ {
			require.Equal(t, want, s.NextVersion())
			require.Equal(t, want, s.Current())
		}
	}
}

// FS-02
func TestCounterNeitherRepeatsNorSkips(t *testing.T) {
	const callers, calls = 100, 100
	var (
		s   SessionStateService
		wg  sync.WaitGroup
		got [callers][calls]int64
	)
	for i := range callers {
		wg.Go(func() {
			for j := range calls {
				got[i][j] = s.NextVersion()
			}
		})
	}
	wg.Wait()
	var all []int64
	for i := range got {
		require.True(t, slices.IsSorted(got[i][:]), "one caller's versions must rise")
		all = append(all, got[i][:]...)
	}
	slices.Sort(all)
	for i, v := range all {
		require.Equal(t, int64(i+1), v)
	}
	require.Equal(t, int64(callers*calls), s.Current())
}

// AR-04, KH-13
func TestCounterRaise(t *testing.T) {
	var s SessionStateService
	s.raise(9)
	require.Equal(t, int64(10), s.NextVersion())
	s.raise(3)
	require.Equal(t, int64(11), s.NextVersion(), "raising never lowers")
	s.reset()
	require.Equal(t, int64(1), s.NextVersion())
}
