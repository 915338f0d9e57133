package markdown

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Sources designed to consume time or memory consume little of either.
func TestHostile(t *testing.T) {
	part := 20
	if os.Getenv("FETTLE_FULL") != "" {
		part = 1
	}
	each := func(n int, line func(i int) string) string {
		var b strings.Builder
		for i := range n / part {
			b.WriteString(line(i))
		}
		return b.String()
	}
	for name, source := range map[string]string{
		"quotes in each other":   strings.Repeat(">", 10_000/part) + "a",
		"quotes in each other 2": strings.Repeat("> ", 10_000/part) + "a\n\nb",
		"lists in each other":    strings.Repeat("- ", 10_000/part) + "a",
		"numbers in each other":  strings.Repeat("1. ", 10_000/part) + "a",
		"both":                   strings.Repeat("> - 1) ", 5_000) + "a",
		"deeper each line":       each(1_000, func(i int) string { return strings.Repeat("  ", i) + "- a\n" }),
		"quotes, a line each":    each(1_000, func(i int) string { return strings.Repeat(">", min(i, 99)) + " a\n" }),
		"brackets":               strings.Repeat("[", 100_000/part),
		"begun links":            strings.Repeat("[a](", 50_000/part),
		"begun images":           strings.Repeat("![[]()", 30_000/part),
		"emphasis":               strings.Repeat("*a **a ", 30_000/part),
		"stars":                  strings.Repeat("*", 100_000/part) + "a",
		"ticks":                  each(1_000, func(i int) string { return "a" + strings.Repeat("`", i%300) }),
		"tags":                   strings.Repeat("<a ", 50_000/part),
		"entities":               strings.Repeat("&#x1b;", 50_000/part),
		"many columns":           strings.Repeat("|a", 5_000) + "|\n" + strings.Repeat("|-", 5_000) + "|\n" + strings.Repeat("|b", 5_000),
		"a long word":            strings.Repeat("漢", 300_000/part),
		"one line":               strings.Repeat("word ", 200_000/part),
		"one line of code":       "```\n" + strings.Repeat("code ", 200_000/part),
		"one paragraph":          strings.Repeat("word word\n", 100_000/part),
		"one list":               each(50_000, func(i int) string { return fmt.Sprintf("%d. item\n\n", i) }),
		"one comment":            "<!--" + strings.Repeat("\n\na", 100_000/part),
		"definitions":            each(20_000, func(i int) string { return fmt.Sprintf("[a%d]: b\n\n", i) }),
		"combining":              "a" + strings.Repeat("\u0301", 100_000/part),
		"many headings":          strings.Repeat("# a\n", 30_000/part),
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			for _, columns := range []int{0, 80} {
				safe(t, Render(source, columns, sixteen), max(columns, minColumns))
			}
			took := time.Since(begun)
			t.Logf("%d bytes: %s", len(source), took)
			require.Less(t, took, time.Minute)
		})
	}
}

// Verbatim text is complete.
func TestCostlyIsShown(t *testing.T) {
	deep := strings.Repeat("> ", 200) + "bottom"
	require.Equal(t, deep, strings.ReplaceAll(Render(deep, 40, sixteen), "\n", ""))
	for source, want := range map[string]bool{
		deep: true, strings.Repeat("- ", 101) + "a": true, strings.Repeat("[a](", 20_000): true,
		strings.Repeat("-", 200): false, strings.Repeat("* ", 200): false, strings.Repeat("> ", 100) + "a": false,
		"a " + strings.Repeat("> ", 200): false, strings.Repeat("[a](b) ", 1000): false, strings.Repeat("1.", 300) + "\n": true,
	} {
		require.Equal(t, want, costly([]byte(source)), source)
	}
}

// BenchmarkStream renders an answer of 1 MB that arrives in 10,000 pieces, and reads
// the open part after each.
func BenchmarkStream(b *testing.B) {
	block := "## A heading\n\nA paragraph with **strong** words, `code` and a [link](http://example.com),\nthat goes on for a line or two more.\n\n" +
		"1. one\n2. two\n   - three\n\n```go\nfunc main() {\n\tprintln(1)\n}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
	for name, source := range map[string]string{
		"answer":    strings.Repeat(block, 1_000_000/len(block)+1)[:1_000_000],
		"paragraph": strings.Repeat("word word\n", 100_000),
		"code":      "```\n" + strings.Repeat("code code\n", 100_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(source)))
			for b.Loop() {
				s := NewStream(80, sixteen, nil)
				for i := 0; i < len(source); i += 100 {
					s.Add(source[i:min(i+100, len(source))])
					if name != "paragraph" {
						s.Open()
					}
				}
				s.End()
			}
		})
	}
}
