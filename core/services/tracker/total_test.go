package tracker_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The instruction files of a session are bounded in total. Files above the limit are named, once.
// ClearSession resets the limit.
func TestInstructionsAreBounded(t *testing.T) {
	f := newFixture(t)
	line := strings.Repeat("x", 1023) + "\n"
	f.write("AGENTS.md", strings.Repeat(line, 200))
	f.write("a/AGENTS.md", strings.Repeat(line, 100))
	f.write("a/b/AGENTS.md", "short")
	f.write("a/b/x.go", "x")
	lengths := func() (lines []int) {
		f.Accessed(t.Context(), f.path("a/b/x.go"))
		for _, d := range f.LoadedByAccess() {
			lines = append(lines, strings.Count(d.Text, line))
		}
		return lines
	}
	for range 2 { // the second access loads nothing
		require.Equal(t, []int{200, 56, 0}, lengths(), "256 KiB, in whole lines")
	}
	given := f.LoadedByAccess()
	require.NotContains(t, given[0].Text, "omitted")
	for _, d := range given[1:] {
		require.Contains(t, d.Text, "[The remainder of "+d.Path+" is omitted")
	}
	require.NotContains(t, given[2].Text, "short")
	f.ForgetLoadedByAccess()
	require.Equal(t, []int{200, 56, 0}, lengths())
	f.ClearSession()
	require.Equal(t, []int{200, 56, 0}, lengths())
}
