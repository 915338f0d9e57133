package patch

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// bigPatch returns a text of n lines, about 40 bytes each, and a diff with ten hunks spread over
// it, with 10 lines of context each and correct numbers.
func bigPatch(n int) (base, diff string) {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("\tline %06d of the file with some text\n", i)
		if i%7 == 0 {
			lines[i] = "}\n"
		}
	}
	var b strings.Builder
	b.WriteString("--- a/f\n+++ b/f\n")
	for k := range 10 {
		at := n/20 + k*(n/10)
		fmt.Fprintf(&b, "@@ -%d,21 +%d,22 @@\n", at-9, at-9+k)
		for i := at - 10; i < at; i++ {
			b.WriteString(" " + lines[i])
		}
		b.WriteString("-" + lines[at] + "+changed\n+added\n")
		for i := at + 1; i <= at+10; i++ {
			b.WriteString(" " + lines[i])
		}
	}
	return strings.Join(lines, ""), b.String()
}

// Ten hunks in 50,000 lines: at most as long as `git apply` as a process, and at most six times the
// file in memory.
func BenchmarkSafePatch50k(b *testing.B) {
	base, diff := bigPatch(50_000)
	b.Run("fettle", func(b *testing.B) {
		b.SetBytes(int64(len(base)))
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := run(base, diff); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("fettle, no numbers", func(b *testing.B) {
		bare := strings.NewReplacer("@@ -", "@@ x").Replace(diff)
		b.SetBytes(int64(len(base)))
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := run(base, bare); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("fettle, white space wrong", func(b *testing.B) {
		wrong := strings.ReplaceAll(diff, " \tline", "     line")
		b.SetBytes(int64(len(base)))
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := run(base, wrong); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("git apply", func(b *testing.B) {
		git, err := exec.LookPath("git")
		if err != nil {
			b.Skip("there is no git program here")
		}
		dir := b.TempDir()
		file := filepath.Join(dir, "f")
		for b.Loop() {
			b.StopTimer()
			if err := os.WriteFile(file, []byte(base), 0o600); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			cmd := exec.Command(git, "apply", "-")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
			cmd.Stdin = strings.NewReader(diff)
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
}

func BenchmarkBetween50k(b *testing.B) {
	base, diff := bigPatch(50_000)
	want, _, err := run(base, diff)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		Between(base, want)
	}
}

// However often lines repeat, the time is limited: the result is a refusal then, never a guess.
func TestRepetitiveTextIsBounded(t *testing.T) {
	const bound = time.Minute // it takes about 0.1 s; the machine may be busy
	hunks := func(n, lines int, header string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, header, i+1)
			b.WriteString(strings.Repeat(" a\n", lines/2) + "-a\n+b\n" + strings.Repeat(" a\n", lines/2))
		}
		return b.String()
	}
	equal := strings.Repeat("a\n", 50_000)
	for name, tt := range map[string]struct{ base, diff string }{
		"one long hunk":             {equal, hunks(1, 1000, "@@ -%d @@\n")},
		"one long hunk, no numbers": {equal, hunks(1, 1000, "@@ %d\n")},
		"many short hunks":          {equal, hunks(10_000, 2, "@@ -%d @@\n")},
		"many long hunks":           {equal, hunks(200, 1000, "@@ -%d @@\n")},
		"nearly equal":              {strings.Repeat("a\n", 25_000) + "x\n" + strings.Repeat("a\n", 25_000), hunks(50, 1000, "@@ %d\n")},
		"other white space":         {equal, strings.ReplaceAll(hunks(200, 1000, "@@ %d\n"), " a\n", "  a\n")},
		"a line left out":           {strings.Repeat("a\nb\nc\n", 20_000), strings.Repeat("@@\n"+strings.Repeat(" a\n b\n c\n", 300)+" a\n c\n-b\n+x\n", 50)},
		"absent":                    {equal, strings.Repeat("@@\n a\n a\n-z\n+b\n", 5000)},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, _, err := run(tt.base, tt.diff)
			took := time.Since(start)
			require.Error(t, err)
			require.True(t, refused(err), "%v", err)
			require.Less(t, took, bound)
			t.Logf("%v %s", took, fault.CodeOf(err))
		})
	}
}

// A change keeps only its own lines: it does not retain the memory of a big file.
func TestChangeIsSmall(t *testing.T) {
	base, diff := bigPatch(5000)
	c := corrected(t, base, diff)
	lines := 0
	for _, f := range c.fragments {
		lines += len(f.Lines)
	}
	require.Equal(t, 10*(3+1+2+3), lines)
	require.Empty(t, c.Corrections)
	got, err := ApplyStrict(base, c)
	require.NoError(t, err)
	require.Equal(t, 10, bytes.Count([]byte(got), []byte("changed\nadded\n")))
}
