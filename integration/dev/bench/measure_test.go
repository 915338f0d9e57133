package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// contestant returns a contestant with this preparation or error.
func contestant(name string, role Role, p *Prepared, err error) Contestant {
	return Contestant{name, role, func(context.Context, *Lab) (*Prepared, error) { return p, err }}
}

// takes returns a contestant that reports this time.
func takes(d time.Duration, note func()) *Prepared {
	return &Prepared{Run: func(context.Context) (Measured, error) { note(); return Measured{Elapsed: d}, nil }}
}

func TestContestantsTakeTurns(t *testing.T) {
	var order strings.Builder
	note := func(s string) func() { return func() { order.WriteString(s) } }
	c := Case{ID: "read/x", Turns: 3, Contestants: []Contestant{
		contestant("a", Ours, takes(3*time.Millisecond, note("a")), nil),
		contestant("b", Floor, takes(2*time.Millisecond, note("b")), nil),
		contestant("c", Peer, takes(6*time.Millisecond, note("c")), nil),
	}}
	r, err := measure(t.Context(), newLab(t), c, Pace{MinTurns: 3})
	require.NoError(t, err)
	require.Equal(t, "abc"+"bca"+"cab", order.String()[order.Len()-9:], "each round begins with another one")
	require.Equal(t, []int{3, 3, 3}, []int{r.Outcomes[0].Turns, r.Outcomes[1].Turns, r.Outcomes[2].Turns})
	require.Equal(t, Stats{Least: 2e6, Median: 2e6, P10: 2e6, P90: 2e6}, r.Outcomes[1].Stats)
	require.Equal(t, Ratios{1.5, 1.5}, r.Outcomes[1].Ratio)
	require.Equal(t, Ratios{0.5, 0.5}, r.Outcomes[2].Ratio)
	require.Equal(t, -1.0, r.Outcomes[0].Allocations)
}

// Short work is repeated within a turn, and its allocations are counted. The clock is that of the
// bubble, so that a busy machine does not make the work long.
func TestShortWorkIsRepeated(t *testing.T) {
	lab := newLab(t)
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		var kept []byte
		p := &Prepared{InProcess: true, Run: timed(func(context.Context) error {
			runs++
			kept = make([]byte, 4096)
			time.Sleep(shortTurn / 8)
			return nil
		})}
		r, err := measure(t.Context(), lab, Case{ID: "read/x", Contestants: []Contestant{contestant("a", Ours, p, nil)}}, Pace{MinTurns: 4})
		require.NoError(t, err)
		o := r.Outcomes[0]
		require.Equal(t, 4, o.Turns)
		require.Equal(t, 8, o.Calls)
		require.GreaterOrEqual(t, runs, o.Turns*o.Calls)
		require.GreaterOrEqual(t, o.Allocated, 4096.0)
		require.GreaterOrEqual(t, o.Allocations, 1.0)
		require.Len(t, kept, 4096)
	})
}

// Work with Reset is not repeated within a turn, because Reset comes before each run.
func TestReset(t *testing.T) {
	ready := false
	p := &Prepared{
		Reset: func(context.Context) error { ready = true; return nil },
		Run: timed(func(context.Context) error {
			if !ready {
				return errors.New("not put back")
			}
			ready = false
			return nil
		}),
	}
	r, err := measure(t.Context(), newLab(t), Case{ID: "read/x", Contestants: []Contestant{contestant("a", Ours, p, nil)}}, Pace{MinTurns: 3})
	require.NoError(t, err)
	require.Equal(t, 1, r.Outcomes[0].Calls)
	require.Equal(t, 3, r.Outcomes[0].Turns)
}

// An absent contestant is skipped by name, and a failed one is reported with its error. The others
// continue, and every prepared one is closed.
func TestSkippedAndFailed(t *testing.T) {
	var closed []string
	ends := func(name string, p *Prepared) *Prepared {
		p.Close = func() error { closed = append(closed, name); return nil }
		return p
	}
	lab := newLab(t)
	turn := 0
	c := Case{ID: "read/x", Title: "X", Budgets: []Budget{{Kind: Ratio, Most: 1, Against: "absent"}}, Contestants: []Contestant{
		contestant("fettle", Ours, ends("fettle", takes(time.Millisecond, func() {})), nil),
		{"absent", Peer, func(_ context.Context, lab *Lab) (*Prepared, error) {
			_, err := lab.Program("no-such-program-anywhere", "nor-this")
			return nil, err
		}},
		contestant("broken", Peer, nil, errors.New("cannot be prepared")),
		contestant("later", Peer, ends("later", &Prepared{Run: func(context.Context) (Measured, error) {
			if turn++; turn > 3 {
				return Measured{}, errors.New("gave up")
			}
			return Measured{Elapsed: time.Second}, nil
		}}), nil),
		contestant("runs", Floor, ends("runs", takes(time.Millisecond, func() {})), nil),
	}}
	r, err := measure(t.Context(), lab, c, Pace{MinTurns: 6})
	require.NoError(t, err)
	require.Equal(t, "no-such-program-anywhere is not installed", r.Outcomes[1].Skipped)
	require.Equal(t, "cannot be prepared", r.Outcomes[2].Failed)
	require.Equal(t, "gave up", r.Outcomes[3].Failed)
	require.False(t, r.Outcomes[3].Measured())
	require.Equal(t, 6, r.Outcomes[4].Turns)
	require.Equal(t, MetUndecided, r.Verdicts[0].Met)
	slices.Sort(closed)
	require.Equal(t, []string{"fettle", "later", "runs"}, closed)

	require.Equal(t, []string{"read/x, broken: cannot be prepared", "read/x, later: gave up"}, failures([]Result{r}))
	require.Equal(t, []string{"absent: no-such-program-anywhere is not installed"}, missing([]Result{r}))
	var out strings.Builder
	require.NoError(t, printTable(&out, []Result{r}))
	require.Contains(t, out.String(), "skipped: absent: no-such-program-anywhere is not installed")
	require.Contains(t, out.String(), "failed: gave up")

	for name, err := range map[string]error{"skipped": absent("not here"), "failed": errors.New("broken")} {
		r, done := measure(t.Context(), lab, Case{ID: "read/y", Contestants: []Contestant{contestant("fettle", Ours, nil, err)}}, Pace{MinTurns: 1})
		require.NoError(t, done)
		require.Equal(t, map[string][2]string{"skipped": {"not here", ""}, "failed": {"", "broken"}}[name], [2]string{r.Skipped, r.Failed})
		require.Empty(t, r.Verdicts)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	closed := false
	p := takes(time.Millisecond, stop)
	p.Close = func() error { closed = true; return nil }
	_, err := measure(ctx, newLab(t), Case{ID: "read/x", Contestants: []Contestant{contestant("a", Ours, p, nil)}}, Pace{MinTurns: 2})
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, closed)
}

// A fixture is created once, its error is kept, and the last one is closed first.
func TestShared(t *testing.T) {
	lab, err := NewLab(false, func(string, ...any) {})
	require.NoError(t, err)
	var ended []string
	made := 0
	get := func(key string, err error) (int, error) {
		return Shared(t.Context(), lab, key, func(context.Context) (int, func() error, error) {
			made++
			return made, func() error { ended = append(ended, key); return nil }, err
		})
	}
	one, err := get("one", nil)
	require.NoError(t, err)
	_, err = get("two", absent("no"))
	require.Error(t, err)
	again, err := get("one", nil)
	require.NoError(t, err)
	require.Equal(t, one, again)
	_, err = get("two", nil)
	reason, ok := absence(err)
	require.True(t, ok)
	require.Equal(t, "no", reason)
	require.Equal(t, 2, made)
	require.NoError(t, lab.Close())
	require.Equal(t, []string{"two", "one"}, ended)
	require.NoDirExists(t, lab.Dir)
}
