package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain runs the test binary as one of the processes whose memory is measured, if childVariable
// is set.
func TestMain(m *testing.M) {
	done, err := runChild(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if done {
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func newLab(tb testing.TB) *Lab {
	tb.Helper()
	lab, err := NewLab(false, func(string, ...any) {})
	require.NoError(tb, err)
	lab.Quick = true
	tb.Cleanup(func() {
		require.NoError(tb, lab.Close())
		require.NoDirExists(tb, lab.Dir)
	})
	return lab
}

// BenchmarkCases runs every case a few times at the smallest size, as a test that it works. The
// command measures the time.
func BenchmarkCases(b *testing.B) {
	lab := newLab(b)
	cases, err := allCases()
	require.NoError(b, err)
	for _, c := range cases {
		name := strings.ReplaceAll(c.ID, "/", ":") // -bench splits patterns at slashes
		b.Run(name, func(b *testing.B) {
			r, err := measure(b.Context(), lab, c, Pace{MinTurns: 2, MaxTurns: max(2, min(b.N, 1000)), Time: time.Duration(b.N) * time.Millisecond})
			require.NoError(b, err)
			for _, o := range r.Outcomes {
				require.Empty(b, o.Failed, "%s, %s", c.ID, o.Name)
				if o.Skipped != "" {
					b.Logf("%s is skipped: %s", o.Name, o.Skipped)
				}
			}
			if r.Skipped != "" {
				b.Skip(r.Skipped)
			}
			b.ReportMetric(0, "ns/op") // the time of the preparation is meaningless
			ours := r.ours()
			b.ReportMetric(ours.Stats.Least, string(r.unit())+"/least")
			for _, o := range r.Outcomes {
				if o.Role != Ours && o.Measured() {
					b.ReportMetric(o.Ratio.Least, "×"+strings.ReplaceAll(o.Name, " ", "-"))
				}
			}
		})
	}
}
