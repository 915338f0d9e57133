package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The tree that this process, started again, is to search, and the call.
const searchTreeVariable, searchCallVariable = "FETTLE_BENCH_TREE", "FETTLE_BENCH_CALL"

// TestSearchOnce is the process that BenchmarkSearchMemory measures.
func TestSearchOnce(t *testing.T) {
	top := os.Getenv(searchTreeVariable)
	if top == "" {
		t.Skip("BenchmarkSearchMemory runs it")
	}
	require.NoError(t, searchOnce(t.Context(), top, os.Getenv(searchCallVariable)))
}

// Budget: 64 MB at most for a whole process, of which the one that does
// nothing shows how much the tests' own parts are.
func BenchmarkSearchMemory(b *testing.B) {
	top, _ := searchTree(b)
	require.NoError(b, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	self, err := os.Executable()
	require.NoError(b, err)
	b.Setenv(searchTreeVariable, top)
	for name := range searchCalls {
		b.Run(name, func(b *testing.B) {
			b.Setenv(searchCallVariable, name)
			var most int64
			for b.Loop() {
				most = max(most, peakBytes(b, top, []string{self, "-test.run=^TestSearchOnce$"}))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(most)/1e6, "MB-RSS")
		})
	}
}
