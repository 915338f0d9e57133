package patch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BE-02: a diff in segments has the same lines as the diff of the whole, if changes are far apart.
func TestSegmentsAreTheWholeDiff(t *testing.T) {
	olds := numberedLines(5_000)
	news := slices.Clone(olds)
	news[4_500] = "replaced\n"
	news = slices.Insert(news, 3_000, "inserted 1\n", "inserted 2\n")
	news = slices.Delete(news, 2_000, 2_003)
	news[1_000], news[1_002] = "near 1\n", "near 2\n"
	require.Len(t, segments(olds, news), 4)
	require.Equal(t, diffLinesOf(olds, news, 0), diffSegments(olds, news, 0))
}

// Any change of a text with many equal lines is a diff that leads from one to the other.
func TestSegmentsProperty(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		kinds := []int{2, 5, 100, 100_000}[r.IntN(4)]
		olds := make([]string, 1_500+r.IntN(1_000))
		for i := range olds {
			olds[i] = fmt.Sprintf("line %d\n", r.IntN(kinds))
		}
		news := slices.Clone(olds)
		for range r.IntN(12) {
			at := r.IntN(len(news))
			end := min(len(news), at+r.IntN(100))
			switch r.IntN(3) {
			case 0:
				news = slices.Delete(news, at, end)
			case 1:
				news = slices.Insert(news, at, slices.Repeat([]string{"x\n"}, r.IntN(100))...)
			default:
				news = slices.Insert(news, at, slices.Clone(news[at:end])...)
			}
		}
		var got []string
		at := 0
		for _, e := range diffSegments(olds, news, 0) {
			require.LessOrEqual(t, at, e.start, "seed %d", seed)
			got = append(got, olds[at:e.start]...)
			for _, a := range e.added {
				got = append(got, a.text)
			}
			at = e.end
		}
		got = append(got, olds[at:]...)
		require.Equal(t, strings.Join(news, ""), strings.Join(got, ""), "seed %d", seed)
	}
}

// BE-02: a diff of texts in parts is that of all lines, whatever changes where, also at both ends and without a last
// line feed.
func TestPartsAreTheWholeDiff(t *testing.T) {
	inParts := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 2))
		kinds := []int{3, 100, 100_000}[r.IntN(3)]
		olds := make([]string, 900+r.IntN(2_000))
		for i := range olds {
			olds[i] = fmt.Sprintf("line %d\n", r.IntN(kinds))
		}
		news := slices.Clone(olds)
		for range r.IntN(12) {
			at := []int{0, r.IntN(len(news)), r.IntN(len(news)), len(news) - 1}[r.IntN(4)]
			end := min(len(news), at+r.IntN(40))
			switch r.IntN(5) {
			case 0:
				news = slices.Delete(news, at, end)
			case 1:
				news = slices.Insert(news, at, slices.Repeat([]string{"x\n"}, r.IntN(70))...)
			case 2:
				news = slices.Insert(news, at, slices.Clone(news[at:end])...)
			case 3:
				news = slices.Insert(news, at, "\n")
			default:
				news[at] = strings.ToUpper(news[at])
			}
		}
		oldText, newText := strings.Join(olds, ""), strings.Join(news, "")
		if r.IntN(3) == 0 {
			oldText = strings.TrimSuffix(oldText, "\n")
		}
		if r.IntN(3) == 0 {
			newText = strings.TrimSuffix(newText, "\n")
		}
		want := betweenLines(splitLines(oldText), splitLines(newText), 0)
		require.Equal(t, want, between(oldText, newText, 0), "seed %d", seed)
		if got, ok := betweenParts(oldText, newText, 0); ok {
			inParts++
			require.Equal(t, want, got, "seed %d", seed)
		}
	}
	require.Greater(t, inParts, 100)
}

func numberedLines(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("line %d\n", i)
	}
	return all
}
