package markdown

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A code block marked as a diff is coloured, with and without file headers and also
// when it arrives in pieces; the next block is not.
func TestDiffBlock(t *testing.T) {
	const names, hunk = "--- a/f\n+++ b/f\n", "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"
	coloured := func(diff string) string { return Render("```diff\n"+diff+"```\n\n```\n-two\n```\n", 40, sixteen) }
	for _, diff := range []string{names + hunk, hunk, "-two\n+TWO\n"} {
		got := coloured(diff)
		require.Contains(t, got, "  "+sixteen.Removed.Render("-two")+"\n")
		require.Contains(t, got, "  "+sixteen.Added.Render("+TWO")+"\n")
		require.Contains(t, got, "  "+sixteen.Code.Render("-two")+"\n")
	}
	require.Contains(t, coloured(names+hunk), sixteen.Strong.Render("--- a/f"))
	require.Contains(t, coloured(hunk), sixteen.Hunk.Render("@@ -1,2 +1,2 @@"))

	s := NewStream(40, sixteen, nil)
	final := s.Add("```patch\n" + names)
	require.Contains(t, s.Open()+final, sixteen.Strong.Render("+++ b/f"))
	require.Contains(t, s.Add(hunk)+s.End(), sixteen.Removed.Render("-two"))
}
