package filestate

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// FS-16: each pair of bytes is an interval; coverage must equal a slice with a bool for each line.
func FuzzCoverage(f *testing.F) {
	f.Add([]byte{0, 3, 6, 9, 3, 6}, uint8(9))
	f.Add([]byte{5, 5, 2, 1, 0, 0}, uint8(4))
	f.Add([]byte{0, 2, 3, 5, 1, 4}, uint8(3))
	f.Add([]byte{0, 3, 6, 9}, uint8(3))
	f.Add([]byte{}, uint8(0))
	f.Fuzz(func(t *testing.T, intervals []byte, lines uint8) {
		const most = 64
		total := int(lines) % most
		var (
			c     coverage
			plain [most]bool
		)
		for ; len(intervals) >= 2; intervals = intervals[2:] {
			from, to := int(intervals[0])%most, int(intervals[1])%most
			before := c
			kept := slices.Clone(before.spans)
			c.add(from, to)
			require.Equal(t, kept, before.spans, "a copy must not move")
			for i := from; i < to; i++ {
				plain[i] = true
			}
		}
		for i, s := range c.spans {
			require.Less(t, s[0], s[1])
			require.True(t, i == 0 || c.spans[i-1][1] < s[0], "spans must be sorted and apart: %v", c.spans)
		}
		require.Equal(t, !slices.Contains(plain[:total], false), c.whole(total), "spans %v, total %d", c.spans, total)
		var gaps [most]bool
		for _, g := range c.missing(total) {
			require.Less(t, g[0], g[1])
			for i := g[0]; i < g[1]; i++ {
				require.False(t, gaps[i])
				gaps[i] = true
			}
		}
		for i := range plain {
			require.Equal(t, i < total && !plain[i], gaps[i], "line %d of %d, spans %v", i, total, c.spans)
		}
	})
}
