package main

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every curve runs at two small sizes, and is drawn.
func TestCurves(t *testing.T) {
	var all []measured
	for _, c := range curves() {
		c.sizes = []int{100, 200}
		m, err := measure(t.Context(), t.TempDir(), c, math.MaxInt, 0)
		require.NoError(t, err, c.name)
		require.Len(t, m.points, 2)
		require.False(t, math.IsNaN(m.exponent()), c.name)
		all = append(all, m)
	}
	dir := t.TempDir()
	require.NoError(t, writePlots(dir, all))
	pictures, err := filepath.Glob(filepath.Join(dir, "curve-*.svg"))
	require.NoError(t, err)
	require.Len(t, pictures, 7)
}

// The exponent is that of the largest three decades, and marked if it is worse than n log n.
func TestExponent(t *testing.T) {
	m := measured{curve: curve{name: "square", unit: "things"}}
	for n := 1; n <= 100_000; n *= 10 {
		m.points = append(m.points, point{n, 100*time.Microsecond + time.Duration(n)*time.Duration(n)*time.Microsecond})
	}
	require.InDelta(t, 2, m.exponent(), 0.01)
	require.Contains(t, table([]measured{m}), "**2.00**")
	for i := range m.points {
		n := float64(m.points[i].n)
		m.points[i].time = time.Duration(n * math.Log(n+1) * 1000)
	}
	require.Less(t, m.exponent(), steep)
	require.NotContains(t, table([]measured{m}), "**")
}
