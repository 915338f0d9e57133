package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// curve is work whose size varies.
type curve struct {
	name      string
	unit      string // of the size
	plot      string // key of its plot
	sizes     []int
	dominates string // what takes the time of the largest sizes
	// prepare creates the state for a size, in a directory of its own, outside of the measured time.
	prepare func(ctx context.Context, dir string, n int) (work, error)
}

// work is prepared work.
type work struct {
	run   func(ctx context.Context) error
	reset func() error // before each run; nil: nothing
	close func() error // nil: nothing
}

// point is the least processor time of a size.
type point struct {
	n    int
	time time.Duration
}

// measured is a curve with its points.
type measured struct {
	curve
	points []point
}

// Runs of one size.
const (
	leastRuns = 3
	mostRuns  = 200
)

// measure measures the sizes up to most, each for about the given time.
func measure(ctx context.Context, dir string, c curve, most int, each time.Duration) (measured, error) {
	m := measured{curve: c}
	for _, n := range c.sizes {
		if n > most {
			continue
		}
		p, err := measureOne(ctx, dir, c, n, each)
		if err != nil {
			return m, fmt.Errorf("%d %s: %w", n, c.unit, err)
		}
		m.points = append(m.points, p)
	}
	return m, nil
}

func measureOne(ctx context.Context, dir string, c curve, n int, each time.Duration) (p point, err error) {
	own, err := os.MkdirTemp(dir, "size-")
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(own)) }()
	w, err := c.prepare(ctx, own, n)
	if err != nil {
		return p, err
	}
	if w.close != nil {
		defer func() { err = errors.Join(err, w.close()) }()
	}
	p = point{n, math.MaxInt64}
	began := time.Now()
	for i := 0; i < mostRuns && (i < leastRuns || time.Since(began) < each); i++ {
		if w.reset != nil {
			if err := w.reset(); err != nil {
				return p, err
			}
		}
		runtime.GC()
		start := used()
		if err := w.run(ctx); err != nil {
			return p, err
		}
		p.time = min(p.time, used()-start)
	}
	return p, nil
}

// fitted are the decades of sizes, from the largest downwards, to which the exponent is fitted.
// Smaller sizes show fixed costs.
const fitted = 1000

// exponent returns the slope of the line through the largest sizes, by least squares on logarithms:
// the e of time = c·nᵉ. It is NaN for fewer than two points.
func (m measured) exponent() float64 {
	if len(m.points) == 0 {
		return math.NaN()
	}
	largest := m.points[len(m.points)-1].n
	var n, sx, sy, sxx, sxy float64
	for _, p := range m.points {
		if p.n < largest/fitted {
			continue
		}
		x, y := math.Log(float64(p.n)), math.Log(float64(max(p.time, 1)))
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// steep is the exponent above which growth is worse than n·log n: over three decades up to a million,
// n·log n is fitted by 1.1.
const steep = 1.15

// writeFile writes a file and its directory.
func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
