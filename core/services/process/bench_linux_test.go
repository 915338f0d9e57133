package process_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/process"
)

// BenchmarkTrue measures the shortest command against os/exec, in turns, and reports the medians
// and their ratio (target: at most 1.5).
func BenchmarkTrue(b *testing.B) {
	dir := b.TempDir()
	s := newService(b, process.Options{})
	var service, bare []time.Duration
	for b.Loop() {
		begun := time.Now()
		_, err := s.Run(b.Context(), process.Command{Line: "true", Dir: dir})
		service = append(service, time.Since(begun))
		require.NoError(b, err)
		begun = time.Now()
		cmd := exec.Command("bash", "-c", "true")
		cmd.Dir = dir
		err = cmd.Run()
		bare = append(bare, time.Since(begun))
		require.NoError(b, err)
	}
	slices.Sort(service)
	slices.Sort(bare)
	one, other := service[len(service)/2], bare[len(bare)/2]
	b.ReportMetric(float64(one.Microseconds()), "µs/run")
	b.ReportMetric(float64(other.Microseconds()), "µs/bare")
	b.ReportMetric(float64(one)/float64(other), "ratio")
}

// BenchmarkTerminal measures the shortest command at a terminal.
func BenchmarkTerminal(b *testing.B) {
	dir := b.TempDir()
	s := newService(b, process.Options{})
	for b.Loop() {
		_, err := s.Run(b.Context(), process.Command{Line: "true", Dir: dir, PTY: true})
		require.NoError(b, err)
	}
}

// BenchmarkProgram measures the shortest program.
func BenchmarkProgram(b *testing.B) {
	dir := b.TempDir()
	s := newService(b, process.Options{})
	for b.Loop() {
		_, err := s.Program(b.Context(), process.Program{Path: "true", Dir: dir})
		require.NoError(b, err)
	}
}

// BenchmarkOutput measures 100 MB of output, saved whole.
func BenchmarkOutput(b *testing.B) {
	const size = 100_000_000
	dir := b.TempDir()
	b.SetBytes(size)
	s := newService(b, process.Options{SaveDir: b.TempDir()})
	for b.Loop() {
		r, err := s.Run(b.Context(), process.Command{Line: "head -c 100000000 /dev/zero", Dir: dir})
		require.NoError(b, err)
		require.Equal(b, int64(size), r.Bytes)
		require.NoError(b, os.Remove(r.SavedPath))
	}
}
