package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// Pace determines how long cases are measured.
type Pace struct {
	Time     time.Duration // for all turns of one case; at least MinTurns are made
	MinTurns int
	MaxTurns int // 0: as many as fit into Time
}

const (
	// shortTurn is the minimum duration of a turn of short work. It makes the cost of reading the
	// clock negligible.
	shortTurn = 200 * time.Microsecond
	// collected is the minimum duration of work for which the garbage of the previous contestant is
	// collected before the turn.
	collected = time.Millisecond
	mostCalls = 1 << 20
)

// entrant is a contestant while its case is measured.
type entrant struct {
	*Prepared
	out    *Outcome
	calls  int
	values []float64
}

// measure lets the contestants of a case take turns. It returns an error only if ctx ended or if
// closing a contestant failed. The failure of a contestant is in the Result.
func measure(ctx context.Context, lab *Lab, c Case, pace Pace) (result Result, err error) {
	result = Result{Case: c, Outcomes: make([]Outcome, len(c.Contestants))}
	var entrants []*entrant
	defer func() {
		for _, e := range slices.Backward(entrants) {
			if e.Close != nil {
				if closing := e.Close(); closing != nil {
					err = errors.Join(err, fmt.Errorf("%s, %s: %w", c.ID, e.out.Name, closing))
				}
			}
		}
	}()
	for i, contestant := range c.Contestants {
		out := &result.Outcomes[i]
		*out = Outcome{Name: contestant.Name, Role: contestant.Role, Allocated: -1, Allocations: -1}
		p, err := contestant.Prepare(ctx, lab)
		if err == nil {
			entrants = append(entrants, &entrant{Prepared: p, out: out, calls: 1})
			continue
		}
		if ctx.Err() != nil {
			return result, ctx.Err()
		}
		out.drop(err)
		if out.Role == Ours {
			result.Skipped, result.Failed = out.Skipped, out.Failed
			return result, nil
		}
	}
	running, err := takeTurns(ctx, c, entrants, pace)
	if err != nil {
		return result, err
	}
	for _, e := range entrants {
		if e.out.Failed != "" && e.out.Role == Ours {
			result.Failed = e.out.Failed
			return result, nil
		}
	}
	for _, e := range running {
		e.out.Turns, e.out.Calls, e.out.Stats = len(e.values), e.calls, summed(e.values)
		if e.InProcess && c.unit() == Time {
			if err := e.countAllocations(ctx); err != nil {
				return result, err
			}
		}
	}
	result.compare(lab.Full)
	return result, nil
}

// drop records the error of a contestant that is left out.
func (o *Outcome) drop(err error) {
	if reason, ok := absence(err); ok {
		o.Skipped = reason
		return
	}
	o.Failed = err.Error()
}

func (c *Case) unit() Unit {
	if c.Unit == "" {
		return Time
	}
	return c.Unit
}

// takeTurns measures the entrants by turns and returns those that did not fail. Each round begins
// with the next entrant. It ends if fettle's contestant fails.
func takeTurns(ctx context.Context, c Case, all []*entrant, pace Pace) ([]*entrant, error) {
	var running []*entrant
	for _, e := range all {
		err := e.warm(ctx, c.unit(), pace)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			e.out.drop(err)
			if e.out.Role == Ours {
				return nil, nil
			}
			continue
		}
		running = append(running, e)
	}
	least, most := pace.MinTurns, pace.MaxTurns
	if most == 0 {
		most = 100_000
	}
	if c.Turns > 0 {
		least, most = min(least, c.Turns), min(most, c.Turns)
	}
	for round, began := 0, time.Now(); round < most && (round < least || time.Since(began) < pace.Time); round++ {
		for i := range running {
			e := running[(round+i)%len(running)]
			v, err := e.turn(ctx, c.unit())
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				e.out.drop(err)
				if e.out.Role == Ours {
					return nil, nil
				}
				continue
			}
			e.values = append(e.values, v)
		}
		running = slices.DeleteFunc(running, func(e *entrant) bool { return e.out.Failed != "" || e.out.Skipped != "" })
	}
	return running, nil
}

// warm does the work twice and determines how often a turn repeats it. Work that takes long or is
// not timed is not repeated for the warm-up.
func (e *entrant) warm(ctx context.Context, unit Unit, pace Pace) error {
	if unit != Time {
		return nil
	}
	began := time.Now()
	if _, err := e.turn(ctx, unit); err != nil || time.Since(began) > max(pace.Time, time.Second) {
		return err
	}
	for e.Reset == nil && e.calls < mostCalls {
		began := time.Now()
		m, err := e.repeat(ctx)
		took := time.Since(began)
		if err != nil || m.Elapsed > 0 || took >= shortTurn {
			return err
		}
		e.calls = min(mostCalls, max(2*e.calls, int(float64(e.calls)*float64(shortTurn)/float64(max(took, 1)))))
	}
	return nil
}

// turn measures one turn, in the unit of the case.
func (e *entrant) turn(ctx context.Context, unit Unit) (float64, error) {
	if e.Reset != nil {
		if err := e.Reset(ctx); err != nil {
			return 0, err
		}
	}
	if e.InProcess && len(e.values) > 0 && unit == Time && e.values[len(e.values)-1]*float64(e.calls) >= float64(collected) {
		runtime.GC()
	}
	began := time.Now()
	m, err := e.repeat(ctx)
	took := time.Since(began)
	switch {
	case err != nil:
		return 0, err
	case unit != Time:
		return m.Value, nil
	case m.Elapsed > 0:
		return float64(m.Elapsed), nil
	}
	return float64(took) / float64(e.calls), nil
}

// repeat does the work as often as a turn requires.
func (e *entrant) repeat(ctx context.Context) (m Measured, err error) {
	for range e.calls {
		if m, err = e.Run(ctx); err != nil {
			return m, err
		}
	}
	return m, nil
}

// countAllocations measures the allocations of a call. It takes the minimum of three tries, because
// concurrent work is counted, too.
func (e *entrant) countAllocations(ctx context.Context) error {
	const tries, calls = 3, 4
	for try := range tries {
		var bytes, objects uint64
		for range calls {
			if e.Reset != nil {
				if err := e.Reset(ctx); err != nil {
					return err
				}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := e.Run(ctx); err != nil {
				return err
			}
			runtime.ReadMemStats(&after)
			bytes, objects = bytes+after.TotalAlloc-before.TotalAlloc, objects+after.Mallocs-before.Mallocs
		}
		if b := float64(bytes) / calls; try == 0 || b < e.out.Allocated {
			e.out.Allocated = b
		}
		if n := float64(objects) / calls; try == 0 || n < e.out.Allocations {
			e.out.Allocations = n
		}
	}
	return nil
}
