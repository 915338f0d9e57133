package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSummed(t *testing.T) {
	s := summed([]float64{5, 1, 4, 2, 3, 9, 6, 8, 7, 10, 11})
	require.Equal(t, 1.0, s.Least)
	require.Equal(t, 6.0, s.Median)
	require.Equal(t, 2.0, s.P10)
	require.Equal(t, 10.0, s.P90)
	require.InDelta(t, 8.0/12, s.Spread(), 1e-9)
	require.InDelta(t, 7.5/5.5, summed([]float64{5, 8, 6, 7}).Self, 1e-9, "5 and 6 against 8 and 7")
	require.InDelta(t, 7.5/5.5, summed([]float64{8, 5, 7, 6}).Self, 1e-9, "whichever half is the slower one")

	one := summed([]float64{3})
	require.Equal(t, Stats{Least: 3, Median: 3, P10: 3, P90: 3}, one)
	require.Zero(t, one.Spread())
	require.Equal(t, 2.5, summed([]float64{2, 3}).Median)
	require.Zero(t, summed([]float64{0, 0, 0, 0}).Spread(), "no division by nothing")
}

func result(budget Budget, ours, other Stats) Result {
	return Result{Case: Case{ID: "read/1kb", Title: "A", Budgets: []Budget{budget}}, Outcomes: []Outcome{
		{Name: "fettle", Role: Ours, Turns: 3, Stats: ours, Allocations: -1},
		{Name: "by hand", Role: Floor, Turns: 3, Stats: other, Allocations: -1},
		{Name: "elsewhere", Role: Peer, Skipped: "elsewhere is not installed"},
	}}
}

func TestRatiosAndBudgets(t *testing.T) {
	ours, other := Stats{Least: 30, Median: 60}, Stats{Least: 20, Median: 30}
	for name, tt := range map[string]struct {
		budget Budget
		full   bool
		found  Ratios
		met    Met
	}{
		"ratio met":        {Budget{Kind: Ratio, Most: 2, Against: "by hand"}, false, Ratios{1.5, 2}, MetYes},
		"ratio by least":   {Budget{Kind: Ratio, Most: 1.6, Against: "by hand"}, false, Ratios{1.5, 2}, MetLeast},
		"ratio missed":     {Budget{Kind: Ratio, Most: 1.4, Against: "by hand"}, false, Ratios{1.5, 2}, MetNo},
		"absolute met":     {Budget{Kind: Absolute, Most: 60}, false, Ratios{30, 60}, MetYes},
		"absolute missed":  {Budget{Kind: Absolute, Most: 29}, false, Ratios{30, 60}, MetNo},
		"difference least": {Budget{Kind: Difference, Most: 10, Against: "by hand"}, false, Ratios{10, 30}, MetLeast},
		"difference met":   {Budget{Kind: Difference, Most: 30, Against: "by hand"}, false, Ratios{10, 30}, MetYes},
		"who is absent":    {Budget{Kind: Ratio, Most: 9, Against: "elsewhere"}, false, Ratios{}, MetUndecided},
		"small":            {Budget{Kind: Absolute, Most: 99, Full: true}, false, Ratios{30, 60}, MetUndecided},
		"full":             {Budget{Kind: Absolute, Most: 99, Full: true}, true, Ratios{30, 60}, MetYes},
	} {
		t.Run(name, func(t *testing.T) {
			r := result(tt.budget, ours, other)
			r.compare(tt.full)
			require.Len(t, r.Verdicts, 1)
			require.Equal(t, tt.met, r.Verdicts[0].Met)
			require.Equal(t, tt.found, r.Verdicts[0].Found)
			require.Equal(t, Ratios{1.5, 2}, r.Outcomes[1].Ratio)
			require.Equal(t, Ratios{1, 1}, r.Outcomes[0].Ratio)
			require.Zero(t, r.Outcomes[2].Ratio)
			require.Equal(t, tt.met == MetUndecided, r.Verdicts[0].Note != "")
		})
	}
}

func TestMedianAlone(t *testing.T) {
	r := result(Budget{Kind: Ratio, Most: 1, Against: "by hand"}, Stats{Least: 3, Median: 4}, Stats{Least: 2, Median: 5})
	r.compare(false)
	require.Equal(t, MetMedian, r.Verdicts[0].Met)
}

func TestFigures(t *testing.T) {
	for want, got := range map[string]string{
		"12 ns": figure(12, Time), "1.23 µs": figure(1_234, Time), "12.3 ms": figure(12_345_678, Time), "2 s": figure(2e9, Time),
		"1.00 ms": figure(999_999, Time), "−5 µs": figure(-5_000, Time), "25 MB": figure(25e6, Bytes), "1.50 kB": figure(1_500, Bytes), "150": figure(150, Count),
		"0 B": figure(0, Bytes), "0.02 ns": figure(0.02, Time), "0.0123 ×": times(0.01234), "0.0000304 ×": times(0.00003041), "0.00003 ×": times(0.00003), "1.50 ×": times(1.5), "1 ×": times(1), "123 ×": times(123.4), "–": times(0),
		"<1 %": percent(0.004), "0 %": percent(0), "12 %": percent(0.123), "10,000": thousands(10_000), "1,234,567": thousands(1_234_567), "999": thousands(999),
	} {
		require.Equal(t, want, got)
	}
}

// decoded rejects keys that v does not have.
func decoded[T any](t *testing.T, line []byte) T {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal(line, &v))
	again, err := json.Marshal(v)
	require.NoError(t, err)
	require.JSONEq(t, string(line), string(again), "every key is known")
	return v
}
