package process_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/process"
)

// TO-17: fifty in the background at once are none too many.
func TestManyInTheBackground(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	for range 50 {
		start(t, s, `exec sleep 1000`)
	}
	require.Len(t, s.List(), 50)
	require.NoError(t, s.Close())
}
