package process_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/process"
)

// TO-17: fifty background processes can run at once.
func TestManyInTheBackground(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	for range 50 {
		start(t, s, `exec sleep 1000`)
	}
	require.Len(t, s.List(), 50)
	require.NoError(t, s.Close())
}

// A process that leaves the session is found by its environment, which is incomplete while it
// executes another program.
func TestDaemonsAreSeenWhileTheyStart(t *testing.T) {
	t.Parallel()
	s, dir := newService(t, process.Options{}), t.TempDir()
	for range 50 {
		r, err := s.Run(t.Context(), process.Command{Line: `setsid sleep 1000 >/dev/null 2>&1 </dev/null &`, Dir: dir})
		require.NoError(t, err)
		require.Len(t, r.Background, 1)
	}
}
