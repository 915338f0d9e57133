package patch

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// GO-05: the change between two texts applies strictly to the first and produces the second; if an
// edit keeps the file's line endings, its rendering can be parsed.
func TestBetween(t *testing.T) {
	for seed := range cases(1500, 60_000) {
		r := rand.New(rand.NewPCG(seed, 21))
		s := newScenario(r)
		old, want := s.text(), s.want
		switch r.IntN(10) {
		case 0: // unrelated
			other := newScenario(r)
			want = other.text()
		case 1:
			old = ""
		case 2:
			want = ""
		}
		c := between(old, want, 0)
		require.Equal(t, betweenLines(splitLines(old), splitLines(want), 0), c, "seed %d", seed)
		got, err := ApplyStrict(old, c)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, want, got, "seed %d", seed)
		require.Equal(t, old == want, c.empty())
		if want != s.want || old != s.text() || s.endings || c.empty() {
			continue // Correct gives added lines the endings of a file that has one kind
		}
		d, err := Parse(c.Unified("a/f", "b/f"))
		require.NoError(t, err, "seed %d\n%s", seed, c.Unified("a/f", "b/f"))
		if again, err := Correct(old, d); err == nil {
			got, err = ApplyStrict(old, again)
			require.NoError(t, err)
			require.Equal(t, want, got, "seed %d", seed)
		}
	}
}

// More different lines than there are characters before the surrogates: no two lines are confused.
func TestBetweenManyLines(t *testing.T) {
	const lines = 60_000
	text := func(word string) string {
		var b strings.Builder
		for i := range lines {
			if i == 1 || i == lines-2 {
				b.WriteString(word)
			}
			fmt.Fprintln(&b, i)
		}
		return b.String()
	}
	old, want := text("before "), text("after ")
	c := between(old, want, 0)
	got, err := ApplyStrict(old, c)
	require.NoError(t, err)
	require.True(t, want == got)
	require.Equal(t, 2, c.Stat().AddedLines)
	require.Equal(t, 2, c.Stat().RemovedLines)
}

func TestBetweenGolden(t *testing.T) {
	c := between("a\nb\nc\nd\ne\nf\ng\n", "a\nb\nX\nd\ne\nf\ng\nh", 0)
	require.Equal(t, `--- a/f
+++ b/f
@@ -1,7 +1,8 @@
 a
 b
-c
+X
 d
 e
 f
 g
+h
\ No newline at end of file
`, c.Unified("a/f", "b/f"))
	require.Equal(t, "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n", between("", "a\nb\n", 0).Unified("/dev/null", "b/f"))
	require.Equal(t, "--- a/f\n+++ b/f\n@@ -1,2 +0,0 @@\n-a\n-b\n", between("a\nb\n", "", 0).Unified("a/f", "b/f"))
	require.Equal(t, "--- \"a/\\\"q\\\"\\011\"\n+++ \"b/\\\"q\\\"\\011\"\n@@ -1 +1 @@\n-a\n+b\n", between("a\n", "b\n", 0).Unified("a/\"q\"\t", "b/\"q\"\t"))
}

// git parses the output of Unified, and produces the same bytes.
func TestUnifiedByGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git program here")
	}
	apply := func(old, diff string) (string, error) {
		dir := t.TempDir()
		file := filepath.Join(dir, "f")
		require.NoError(t, os.WriteFile(file, []byte(old), 0o600))
		cmd := exec.Command(git, "apply", "--whitespace=nowarn", "-")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		cmd.Stdin = strings.NewReader(diff)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
		got, err := os.ReadFile(file)
		return string(got), err
	}
	n := 0
	for seed := range cases(120, 3000) {
		r := rand.New(rand.NewPCG(seed, 22))
		s := newScenario(r)
		c := between(s.text(), s.want, 0)
		if seed%2 == 0 {
			d, err := Parse(s.diff.String())
			require.NoError(t, err)
			if c, err = Correct(s.text(), d); err != nil {
				continue
			}
		}
		n++
		got, err := apply(s.text(), c.Unified("a/f", "b/f"))
		require.NoError(t, err, "seed %d\n%s", seed, c.Unified("a/f", "b/f"))
		require.Equal(t, s.want, got, "seed %d", seed)
	}
	t.Logf("%d diffs", n)
}

func TestBetweenIsBounded(t *testing.T) {
	shuffled := func(seed uint64, n int) string {
		r := rand.New(rand.NewPCG(seed, 23))
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "line %d\n", r.IntN(n))
		}
		return b.String()
	}
	for name, n := range map[string]int{"unrelated": 20_000, "more lines than go-diff takes": diffLines/2 + 1} {
		t.Run(name, func(t *testing.T) {
			old, want := shuffled(1, n), shuffled(2, n)
			start := time.Now()
			c := Between(old, want)
			took := time.Since(start)
			got, err := ApplyStrict(old, c)
			require.NoError(t, err)
			require.True(t, want == got)
			t.Logf("%d lines: %v", n, took)
			limit := 50 * diffTime // generous, for a busy machine; unbounded it is three times as much at least
			if testing.Short() {   // with the race detector
				limit *= 6
			}
			require.Less(t, took, limit)
		})
	}
}
