package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveVariable); dir != "" {
		if err := serve(context.Background(), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func needsShell(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil || runtime.GOOS == "windows" {
		t.Skip("needs bash")
	}
}

// RC-26, KH-13: a few rounds of all traffic lose nothing and leave nothing behind.
func TestSoak(t *testing.T) {
	needsShell(t)
	o := options{time: time.Millisecond, rounds: 4, warm: 1, fill: 3, workers: 1, seed: 7, parts: allParts()}
	if testing.Short() || raceDetector { // several times slower
		o.rounds = 2
	}
	r, err := soakIt(t.Context(), o)
	require.NoError(t, err)
	t.Log("\n" + r.table())
	// A goroutine that has not ended at the last of four samples is no growth, if none is left after the end.
	for _, problem := range r.problems {
		require.Contains(t, problem, "goroutines grew by 1.0,")
	}
	require.LessOrEqual(t, r.end.Goroutines, r.baseline.Goroutines)
	require.Len(t, r.samples, o.rounds)
	for _, p := range o.parts {
		require.Equal(t, o.rounds+o.warm, r.done[p.name], p.name)
	}
	for _, status := range []string{"success", "error", "denied", "cancelled"} {
		require.NotZero(t, r.calls[status], status)
	}
	page := filepath.Join(t.TempDir(), "page.md")
	require.Error(t, write(page, r.table()))
	require.NoError(t, os.WriteFile(page, []byte("# Page\n"+begin+"old\n"+end+"rest\n"), 0o600))
	require.NoError(t, write(page, "new\n"))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, "# Page\n"+begin+"\nnew\n\n"+end+"rest\n", string(text))
	require.NoError(t, xml.Unmarshal([]byte(r.svg()), new(struct{})))
}

// The purpose of a run: all growth from round to round is reported.
func TestSoakFindsLeaks(t *testing.T) {
	needsShell(t)
	if runtime.GOOS != "linux" {
		t.Skip("descriptors and processes are counted on Linux alone")
	}
	var kept [][]byte
	var open []io.Closer
	var running []*exec.Cmd
	stop := make(chan struct{})
	leak := part{"leaks", func(ctx context.Context, s *soak, _ *rand.Rand) error {
		kept = append(kept, bytes.Repeat([]byte("x"), 1<<20))
		go func() { <-stop }()
		f, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		open = append(open, f)
		sleep := exec.CommandContext(context.WithoutCancel(ctx), "sleep", "1000")
		if err := sleep.Start(); err != nil {
			return err
		}
		running = append(running, sleep)
		for i := range 2 {
			if err := os.WriteFile(s.path(fmt.Sprintf("left-%d-%d", len(kept), i)), nil, 0o600); err != nil {
				return err
			}
		}
		return nil
	}}
	t.Cleanup(func() {
		close(stop)
		for _, c := range open {
			_ = c.Close()
		}
		for _, c := range running {
			_ = c.Process.Kill()
			_ = c.Wait() // killed
		}
	})
	r, err := soakIt(t.Context(), options{time: time.Millisecond, rounds: 8, workers: 1, parts: []part{leak}})
	require.NoError(t, err)
	require.NotEmpty(t, kept)
	for _, name := range []string{"live heap", "goroutines", "descriptors", "children", "files"} {
		require.True(t, strings.Contains(strings.Join(r.problems, "\n"), name+" grew"), "%s: %v", name, r.problems)
	}
	require.Contains(t, r.table(), "**grew**")
}

// A lost byte and a failing part are reported.
func TestSoakFindsLoss(t *testing.T) {
	lose := part{"loses", func(_ context.Context, s *soak, _ *rand.Rand) error {
		return os.WriteFile(filepath.Join(s.long.dir, s.files[3].name), []byte("fir"), 0o600)
	}}
	fail := part{"fails", func(context.Context, *soak, *rand.Rand) error { return io.ErrUnexpectedEOF }}
	r, err := soakIt(t.Context(), options{time: time.Millisecond, rounds: 2, workers: 1, parts: []part{lose, fail}})
	require.NoError(t, err)
	require.Contains(t, r.problems, `accounts: f03.txt contains "fir", want "first\n"`)
	require.Contains(t, r.problems, "fails: unexpected EOF")
}

// Growth is distinguished from noise.
func TestJudge(t *testing.T) {
	make := func(heap func(i int) int64, goroutines func(i int) int) (samples []sample) {
		for i := range 200 {
			samples = append(samples, sample{Seconds: float64(i), Heap: heap(i), Goroutines: goroutines(i), RSS: -1})
		}
		return samples
	}
	noise := func(i int) int64 { return 20<<20 + int64(i*7919%13)<<16 }
	three := func(int) int { return 3 }
	end := sample{Heap: 1 << 20, Goroutines: 3, RSS: -1}
	wrong := func(samples []sample, end sample) (all []string) {
		for _, j := range judge(samples, sample{Heap: 1 << 20, Goroutines: 3, RSS: -1}, end) {
			require.True(t, j.name != "resident" || samples == nil, "what cannot be had is not judged")
			if j.wrong != "" {
				all = append(all, j.wrong)
			}
		}
		return all
	}
	require.Empty(t, wrong(make(noise, three), end))
	require.Empty(t, wrong(make(func(i int) int64 { return noise(i) + int64(i%40/39)<<30 }, three), end), "peaks are no growth")
	require.Empty(t, wrong(make(func(i int) int64 { return noise(i) + int64(min(i, 50))<<20 }, three), end), "caches that fill first are none")
	require.Equal(t, []string{"live heap grew by 5.82 MiB, from 20.00 MiB to 20.00 MiB"}, wrong(make(func(i int) int64 {
		if i == 50 || i == 199 { // the first and the last look normal
			return 20 << 20
		}
		return noise(i) + int64(i)*40<<10
	}, three), end))
	require.Equal(t, []string{"goroutines grew by 1.8, from 4.0 to 6.0"}, wrong(make(noise, func(i int) int { return 4 + i/80 }), end))
	require.Equal(t, []string{"goroutines: 4.0 are left after the run; there were 3.0 before"}, wrong(make(noise, three), sample{Heap: 1 << 20, Goroutines: 4, RSS: -1}))
	require.Contains(t, wrong(nil, end), "live heap: too few samples")
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{{"-for", "0s"}, {"-workers", "0"}, {"more"}, {"-unknown"}} {
		var out bytes.Buffer
		require.Equal(t, 2, run(t.Context(), args, io.Discard, &out))
		require.NotEmpty(t, out.String())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, 130, run(ended, nil, io.Discard, io.Discard))
}
