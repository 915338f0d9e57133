package patch

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// cases returns the number of cases of a property test.
func cases(normal, full int) uint64 {
	if os.Getenv("FETTLE_FULL") == "1" {
		return uint64(full)
	}
	return uint64(normal)
}

// refused reports whether err is a refusal that a model can act on.
func refused(err error) bool {
	e := fault.As(err)
	return e != nil && (e.Code == fault.InvalidDiff || e.Code == fault.AmbiguousDiff) &&
		strings.HasPrefix(e.Message, "Invalid Diff: ") && e.Remedy != "" &&
		(e.Code != fault.AmbiguousDiff || strings.Contains(e.Message, "ambiguous"))
}

// FS-31, FS-33, FS-36: a diff whose stated lines are exact is never refused, however often they, or
// its result, occur in the file, unless it has a hunk without an old line.
func TestExactNeverRefused(t *testing.T) {
	tried := 0
	for seed := range cases(4000, 150_000) {
		s := newScenario(rand.New(rand.NewPCG(seed, 3)))
		if s.want == s.text() || slices.ContainsFunc(s.diff.hunks, func(h draftHunk) bool { return h.oldCount == 0 }) {
			continue
		}
		tried++
		got, c, err := run(s.text(), s.diff.String())
		require.NoError(t, err, "seed %d\nbase %q\n%s", seed, s.text(), s.diff)
		require.Equal(t, s.want, got, "seed %d\nbase %q\n%s", seed, s.text(), s.diff)
		require.Empty(t, c.Corrections, "seed %d\nbase %q\n%s", seed, s.text(), s.diff)
	}
	t.Logf("%d exact diffs applied", tried)
	require.Positive(t, tried)
}

// FS-31 to FS-37, FS-67 to FS-70, KH-14: random base, line ending, final newline and edit, with the
// mistakes of models, one at a time and in pairs: the result is the expected text or a refusal.
func TestMistakes(t *testing.T) {
	tallies := map[string]*tally{}
	n := cases(6000, 800_000)
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 2))
		s := newScenario(r)
		first := mistakes[int(seed)%len(mistakes)]
		names, described := first.name, first.name
		d, ok := first.make(r, &s, s.diff.clone())
		if ok && seed/uint64(len(mistakes))%3 == 2 {
			second := mistakes[r.IntN(len(mistakes))]
			names, described = "pairs", first.name+" and "+second.name
			d, ok = second.make(r, &s, d)
		}
		if !ok || s.anotherEdit(d) {
			continue
		}
		text := d.String()
		got, _, err := run(s.text(), text)
		c := tallies[names]
		if c == nil {
			c = &tally{}
			tallies[names] = c
		}
		if s.unique() {
			c.unique++
			if err != nil {
				c.refusedUnique++
			}
		} else {
			c.other++
			if err != nil {
				c.refusedOther++
			}
		}
		switch {
		case err != nil && !refused(err):
			t.Fatalf("seed %d, %s: %v\n%s", seed, names, err, text)
		case err == nil && got != s.want:
			t.Fatalf("seed %d, %s:\nbase %q\ndiff\n%s\nright diff\n%s\ngot  %q\nwant %q", seed, described, s.text(), text, s.diff, got, s.want)
		}
	}
	total := &tally{}
	for _, m := range append(slices.Clone(mistakes), mistake{name: "pairs"}) {
		c := tallies[m.name]
		if c == nil {
			continue
		}
		t.Logf("%-36s %v", m.name, c)
		total.add(c)
		if m.safe && c.unique >= 50 {
			require.LessOrEqual(t, c.refusedUnique, 2+c.unique/50, "%s: a safe mistake is refused too often", m.name)
		}
	}
	t.Logf("%-36s %v", "all", total)
}
