package patch

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

func corrected(t *testing.T, base, diff string) *Change {
	t.Helper()
	d, err := Parse(diff)
	require.NoError(t, err)
	c, err := Correct(base, d)
	require.NoError(t, err)
	return c
}

func TestApplyIsStrict(t *testing.T) {
	const diff = "@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n"
	requireFails := func(t *testing.T, base string, c *Change) {
		t.Helper()
		got, err := ApplyStrict(base, c)
		require.Empty(t, got)
		e := fault.As(err)
		require.NotNil(t, e)
		require.Equal(t, fault.PatchApplyFailed, e.Code)
		// FS-39
		require.Equal(t, "Internal Error: The corrected patch failed to apply. Please review the diff for subtle errors.", e.Message)
		require.NotEmpty(t, e.Remedy)
		require.Error(t, errors.Unwrap(e))
	}
	t.Run("shifted by a line", func(t *testing.T) { // FS-38, CR-10
		for _, by := range []int64{-1, 1} {
			c := corrected(t, poem, "@@ -6,3 +6,3 @@\n six\n-seven\n+7\n eight\n")
			c.fragments[0].OldPosition += by
			requireFails(t, poem, c)
		}
	})
	t.Run("another context byte", func(t *testing.T) {
		requireFails(t, strings.Replace(poem, "two", "two ", 1), corrected(t, poem, diff))
	})
	t.Run("another ending", func(t *testing.T) {
		requireFails(t, strings.ReplaceAll(poem, "\n", "\r\n"), corrected(t, poem, diff))
	})
	t.Run("too short a text", func(t *testing.T) {
		requireFails(t, "one\ntwo\n", corrected(t, poem, diff))
	})
	t.Run("a line without line feed in the middle", func(t *testing.T) {
		c := corrected(t, poem, diff)
		for i, l := range c.fragments[0].Lines {
			if l.Op == gitdiff.OpAdd {
				c.fragments[0].Lines[i].Line = "3"
			}
		}
		requireFails(t, poem, c)
	})
}

// An insertion needs a context line: without an old line the library's applier places it one line
// too early.
func TestFragmentsHaveAnOldLine(t *testing.T) {
	for seed := range cases(1000, 20_000) {
		s := newScenario(rand.New(rand.NewPCG(seed, 11)))
		for _, c := range []*Change{between(s.text(), s.want, 0)} {
			for _, f := range c.fragments {
				require.Positive(t, f.OldLines)
				require.NoError(t, f.Validate())
			}
		}
	}
	c := corrected(t, poem, "@@ -4,1 +4,2 @@\n four\n+four and a half\n")
	require.Len(t, c.fragments, 1)
	require.EqualValues(t, 6, c.fragments[0].OldLines, "three lines of context on either side")
}

func TestNeighboursShareAFragment(t *testing.T) {
	const far = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	c := corrected(t, far, "@@ -1 +1 @@\n-1\n+a\n@@ -8 +8 @@\n-8\n+b\n")
	require.Len(t, c.fragments, 1, "six unchanged lines between")
	c = corrected(t, far, "@@ -1 +1 @@\n-1\n+a\n@@ -9 +9 @@\n-9\n+b\n")
	require.Len(t, c.fragments, 2, "seven unchanged lines between")
	require.Equal(t, "--- f\n+++ f\n@@ -1,4 +1,4 @@\n-1\n+a\n 2\n 3\n 4\n@@ -6,5 +6,5 @@\n 6\n 7\n 8\n-9\n+b\n 10\n", c.Unified("f", "f"))
}

func TestLineSource(t *testing.T) {
	for _, text := range []string{"", "a", "a\n", "a\nb", "a\n\nb\n", "\n"} {
		s := newLineSource(text)
		lines := splitLines(text)
		for from := range len(lines) + 2 {
			for n := range len(lines) + 2 {
				got := make([][]byte, n)
				read, err := s.ReadLinesAt(got, int64(from))
				want := lines[min(from, len(lines)):min(from+n, len(lines))]
				require.Len(t, want, read)
				for i := range want {
					require.Equal(t, want[i], string(got[i]))
				}
				if read < n {
					require.Equal(t, io.EOF, err, "bare, as the applier compares it")
				} else {
					require.NoError(t, err)
				}
			}
		}
	}
}

func TestStat(t *testing.T) {
	c := corrected(t, "a\nbé\r\nc", "@@ -1,3 +1,2 @@\n a\n-bé\n-c\n"+noNewline+"\n+xyz\n"+noNewline+"\n")
	require.Equal(t, Stat{AddedLines: 1, RemovedLines: 2, AddedChars: 3, RemovedChars: 3}, c.Stat())
}
