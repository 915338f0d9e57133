package filestate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// RC-22: the recently used files, as compaction lists them.
func TestRecent(t *testing.T) {
	var c FileReadCache
	require.Empty(t, c.Recent())
	c.recordRead("/read", fullReading(infoAt(1, 10), "a"), 1)
	c.recordRead("/partly", firstHalf(infoAt(2, 10), "b"), 2)
	c.RecordWrite("/written", infoAt(3, 10), Sum([]byte("c")), 3, 1, noon)
	c.recordUnseenWrite("/unseen", infoAt(4, 10), Sum([]byte("d")), 1, noon)
	c.Track("/tracked", &Snapshot{Info: infoAt(5, 10), SHA256: Sum([]byte("e")), Stable: true})
	c.recordRead("/z-alias", fullReading(infoAt(6, 10), "f"), 4)
	c.recordRead("/alias", fullReading(infoAt(6, 10), "f"), 5)
	require.Equal(t, []string{"/alias", "/written", "/read"}, c.Recent())

	c.recordRead("/read", firstHalf(infoAt(1, 10), "a"), 6)
	require.Equal(t, []string{"/read", "/alias", "/written"}, c.Recent(), "a slice of a file that is known is a use of it")
	c.Check("/written", infoAt(3, 10))
	require.Equal(t, []string{"/read", "/alias", "/written"}, c.Recent(), "a look is none")
	c.disqualify("/read", infoAt(1, 10))
	require.Equal(t, []string{"/alias", "/written"}, c.Recent())
	require.NoError(t, c.invariants())
	c.Clear()
	require.Empty(t, c.Recent())
}
