package filestate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// RC-22: the recently used files, as compaction lists them.
func TestRecent(t *testing.T) {
	var c FileReadCache
	require.Empty(t, c.Recent())
	c.RecordRead("/read", reading(infoAt(1, 10), "a"), 1)
	c.RecordRead("/partly", firstHalf(infoAt(2, 10), "b"), 2)
	c.RecordWrite("/written", infoAt(3, 10), Sum([]byte("c")), 3, 1, noon)
	c.recordUnseenWrite("/unseen", infoAt(4, 10), Sum([]byte("d")), 1, noon)
	c.Track("/tracked", reading(infoAt(5, 10), "e"))
	c.RecordRead("/z-alias", reading(infoAt(6, 10), "f"), 4)
	c.RecordRead("/alias", reading(infoAt(6, 10), "f"), 5)
	require.Equal(t, []string{"/alias", "/written", "/read"}, c.Recent())

	c.RecordRead("/read", firstHalf(infoAt(1, 10), "a"), 6)
	require.Equal(t, []string{"/read", "/alias", "/written"}, c.Recent(), "a slice of a file that is known is a use of it")
	c.Check("/written", infoAt(3, 10))
	require.Equal(t, []string{"/read", "/alias", "/written"}, c.Recent(), "a look is none")
	c.disqualify("/read", infoAt(1, 10))
	require.Equal(t, []string{"/alias", "/written"}, c.Recent())
	require.NoError(t, c.invariants())
	c.Clear()
	require.Empty(t, c.Recent())
}
