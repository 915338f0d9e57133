package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkCommand starts an unconfined and a confined command in turn, and reports the medians and
// the minima of both in microseconds.
func BenchmarkCommand(b *testing.B) {
	if err := Probe(); err != nil {
		b.Skip(err)
	}
	home, temp, ws := b.TempDir(), b.TempDir(), b.TempDir()
	if err := os.Mkdir(filepath.Join(ws, ".git"), 0o700); err != nil {
		b.Fatal(err)
	}
	s := New(Options{Home: home})
	defer s.Close()
	var plain, confined []time.Duration
	measure := func(all *[]time.Duration, start func(cmd *exec.Cmd) error) {
		cmd := exec.Command("bash", "-c", "true")
		cmd.Dir = ws
		begun := time.Now()
		if err := start(cmd); err != nil {
			b.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		*all = append(*all, time.Since(begun))
	}
	rules := Rules{Writable: []string{ws}, Temp: temp, Protected: []string{filepath.Join(ws, ".git")}}
	for b.Loop() {
		measure(&plain, (*exec.Cmd).Start)
		measure(&confined, func(cmd *exec.Cmd) error { return s.Start(cmd, rules) })
	}
	for name, all := range map[string][]time.Duration{"plain": plain, "confined": confined} {
		slices.Sort(all)
		b.ReportMetric(float64(all[0].Microseconds()), name+"-min-µs")
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), name+"-median-µs")
	}
}
