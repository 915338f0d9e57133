package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// bigPatch returns a text of n lines and what ten hunks spread over it make of
// it, with the diffs there and back as git writes them.
func bigPatch(n int) (texts, diffs [2]string) {
	olds := make([]string, n)
	for i := range olds {
		olds[i] = fmt.Sprintf("\tline %06d of the file, with some text\n", i)
		if i%7 == 0 {
			olds[i] = "}\n"
		}
	}
	news := append([]string(nil), olds...)
	var there, back strings.Builder
	for _, b := range []*strings.Builder{&there, &back} {
		b.WriteString("--- a/f\n+++ b/f\n")
	}
	for k := range 10 {
		at := n/20 + k*(n/10) + 1
		now := fmt.Sprintf("\tline %06d, changed\n", at)
		for b, change := range map[*strings.Builder][2]string{&there: {olds[at], now}, &back: {now, olds[at]}} {
			fmt.Fprintf(b, "@@ -%d,21 +%d,21 @@\n", at-9, at-9)
			for i := at - 10; i < at; i++ {
				b.WriteString(" " + olds[i])
			}
			b.WriteString("-" + change[0] + "+" + change[1])
			for i := at + 1; i <= at+10; i++ {
				b.WriteString(" " + olds[i])
			}
		}
		news[at] = now
	}
	return [2]string{strings.Join(olds, ""), strings.Join(news, "")}, [2]string{there.String(), back.String()}
}

// Budget: 1 × git apply as a process on the same patch and file, and 6 × the
// file in memory. safe_patch flushes what it writes to the disk; git does not.
func BenchmarkSafePatch50kLines(b *testing.B) {
	git, err := exec.LookPath("git")
	if err != nil {
		b.Skip("there is no git program here")
	}
	texts, diffs := bigPatch(50_000)
	s := newSession(b, filestate.Limits{})
	path := s.write("f", texts[0])
	sums := [2]string{}
	for i, text := range texts {
		sum := sha256.Sum256([]byte(text))
		sums[i] = hex.EncodeToString(sum[:])
	}
	at := 0
	ours := func() {
		var report file.Report
		r := s.run(request("safe_patch", file.SafePatchParams{FilePath: "f", UnifiedDiff: diffs[at], BaseContentSHA256: sums[at]}))
		at = 1 - at
		if err := json.Unmarshal([]byte(r.Result.LLMContent.String()), &report); err != nil || *report.LatestFileState.SHA256 != sums[at] {
			b.Fatal(err, r.Result.LLMContent)
		}
	}

	other := b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(other, "f"), []byte(texts[0]), 0o644))
	names := [2]string{filepath.Join(other, "there"), filepath.Join(other, "back")}
	for i, name := range names {
		require.NoError(b, os.WriteFile(name, []byte(diffs[i]), 0o644))
	}
	gitAt := 0
	floor := func() {
		cmd := exec.CommandContext(b.Context(), git, "apply", names[gitAt])
		cmd.Dir = other
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatal(err, string(out))
		}
		gitAt = 1 - gitAt
	}
	beside(b, floor, ours)
	perCall := allocated(ours)
	b.ReportMetric(perCall/float64(len(texts[0])), "×size-alloc")
	for dir, now := range map[string]int{path: at, filepath.Join(other, "f"): gitAt} {
		content, err := os.ReadFile(dir)
		require.NoError(b, err)
		require.Equal(b, texts[now], string(content))
	}
}
