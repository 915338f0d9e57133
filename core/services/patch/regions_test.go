package patch

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireRegions requires that regions, in place of the old lines that they name, produce the new
// text, and that they are numbered correctly in both, in order and disjoint.
func requireRegions(t *testing.T, oldText, newText string, c *Change) {
	t.Helper()
	olds := splitLines(oldText)
	var b strings.Builder
	at, line := 0, 0 // lines of the old and of the new text so far
	for i, r := range c.Regions() {
		gap := r.BaseLines[0] - 1 - at
		require.True(t, gap > 0 || i == 0 && gap == 0, "region %d begins %d lines after the one before", i, gap)
		b.WriteString(strings.Join(olds[at:at+gap], ""))
		line += gap
		require.Equal(t, line+1, r.Lines[0], "region %d", i)
		require.Len(t, splitLines(r.Content), r.Lines[1]-r.Lines[0]+1, "region %d", i)
		b.WriteString(r.Content)
		at, line = r.BaseLines[1], r.Lines[1]
	}
	b.WriteString(strings.Join(olds[at:], ""))
	require.Equal(t, newText, b.String())
}

// RC-10: the content that a conversation knew and the regions that it is shown produce the whole
// new text, whatever the line endings, for any two texts, and for diffs that had to be corrected.
func TestRegionsMakeTheNewText(t *testing.T) {
	for seed := range cases(1000, 40_000) {
		r := rand.New(rand.NewPCG(seed, 22))
		s := newScenario(r)
		old, want := s.text(), s.want
		if other := newScenario(r); r.IntN(5) == 0 {
			want = other.text()
		}
		requireRegions(t, old, want, between(old, want, 0))
		m := mistakes[int(seed)%len(mistakes)]
		d, ok := m.make(r, &s, s.diff.clone())
		if !ok {
			continue
		}
		parsed, err := Parse(d.String())
		if err != nil {
			continue
		}
		c, err := Correct(old, parsed)
		if err != nil {
			continue
		}
		got, err := ApplyStrict(old, c)
		require.NoError(t, err, "seed %d", seed)
		requireRegions(t, old, got, c)
	}
}

func TestRegions(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	for name, tt := range map[string]struct {
		old, new string
		want     []Region
	}{
		"nothing":              {"a\n", "a\n", []Region{}},
		"both empty":           {"", "", []Region{}},
		"one line":             {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nV\n6\n7\n8\n9\n", []Region{{[2]int{2, 8}, [2]int{2, 8}, "2\n3\n4\nV\n6\n7\n8\n"}}},
		"deleted":              {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n6\n7\n8\n9\n", []Region{{[2]int{2, 7}, [2]int{2, 8}, "2\n3\n4\n6\n7\n8\n"}}},
		"inserted at the head": {"1\n2\n3\n4\n5\n", "0\n1\n2\n3\n4\n5\n", []Region{{[2]int{1, 4}, [2]int{1, 3}, "0\n1\n2\n3\n"}}},
		"emptied":              {"1\n2\n", "", []Region{{[2]int{1, 0}, [2]int{1, 2}, ""}}},
		"filled":               {"", "1\n2\n", []Region{{[2]int{1, 2}, [2]int{1, 0}, "1\n2\n"}}},
		"no final newline":     {"1\n2\n", "1\n2", []Region{{[2]int{1, 2}, [2]int{1, 2}, "1\n2"}}},
		"CR LF":                {"1\r\n2\r\n", "1\r\nß→\r\n", []Region{{[2]int{1, 2}, [2]int{1, 2}, "1\r\nß→\r\n"}}},
		"a huge line":          {"1\n" + long, "0\n" + long, []Region{{[2]int{1, 2}, [2]int{1, 2}, "0\n" + long}}},
		"neighbours are one": {"a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n", []Region{
			{[2]int{1, 8}, [2]int{1, 8}, "A\n1\n2\n3\n4\n5\n6\nB\n"}}},
		"others are two": {"a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\nA\n1\n2\n3\n4\n5\n6\n7\nB\n", []Region{
			{[2]int{1, 5}, [2]int{1, 4}, "A\nA\n1\n2\n3\n"}, {[2]int{7, 10}, [2]int{6, 9}, "5\n6\n7\nB\n"}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := between(tt.old, tt.new, 0)
			require.Equal(t, tt.want, c.Regions())
			requireRegions(t, tt.old, tt.new, c)
		})
	}
}

// FuzzRegions checks that property for any two texts.
func FuzzRegions(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nX\nc")
	f.Add("", "\r\n\r\r\n")
	f.Add("a\n\n\n\n\n\n\n\n\nb", "\n\n\n\n\n\n\n\n\n")
	f.Fuzz(func(t *testing.T, oldText, newText string) {
		requireRegions(t, oldText, newText, between(oldText, newText, 0))
	})
}
