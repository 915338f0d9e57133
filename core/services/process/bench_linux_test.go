package process_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/process"
)

// BenchmarkTrue measures the shortest command beside the same by hand
// (design: at most 1.5 times).
func BenchmarkTrue(b *testing.B) {
	dir := b.TempDir()
	b.Run("service", func(b *testing.B) {
		s := newService(b, process.Options{})
		for b.Loop() {
			_, err := s.Run(b.Context(), process.Command{Line: "true", Dir: dir})
			require.NoError(b, err)
		}
	})
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("bash", "-c", "true")
			cmd.Dir = dir
			require.NoError(b, cmd.Run())
		}
	})
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
