package program

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/commit"
)

// A notice names the file, the record with both versions, and how to end the notice.
func TestLeftoverNotice(t *testing.T) {
	left := commit.Leftover{Path: "/w/a.go", Record: "/home/x/1.recovery", State: commit.LeftoverUnresolved, Detail: "/w/a.go was changed since."}
	notice := LeftoverNotice(left)
	for _, part := range []string{left.Detail, "Both versions are in /home/x/1.recovery:", "remove that record to end this notice"} {
		require.Contains(t, notice, part)
	}
	left.Path, left.Detail = "", "it is damaged"
	notice = LeftoverNotice(left)
	for _, part := range []string{"it is damaged. ", "To end this notice, move /home/x/1.recovery away."} {
		require.Contains(t, notice, part)
	}
	left.State, left.Detail = commit.LeftoverFinished, "/w/a.go is complete now."
	require.Equal(t, left.Detail, LeftoverNotice(left))
	left.State = commit.LeftoverClean
	require.Empty(t, LeftoverNotice(left))
}
