package replace

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// occurrences finds the same as a regular expression in which each line break matches both kinds.
func TestOccurrences(t *testing.T) {
	pieces := []string{"a", "b", "\n", "\r\n", "a\n"}
	random := rand.New(rand.NewPCG(1, 2))
	text := func(most int) string {
		var b strings.Builder
		for range 1 + random.IntN(most) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		return b.String()
	}
	found := 0
	for range 20_000 {
		text, old := text(12), text(3)
		pattern := strings.ReplaceAll(strings.ReplaceAll(old, "\r\n", "\n"), "\n", `\r?\n`)
		want := regexp.MustCompile(pattern).FindAllStringIndex(text, -1)
		got := occurrences(text, old)
		same := len(got) == len(want)
		for i := range got {
			same = same && got[i] == [2]int(want[i])
		}
		if !same {
			t.Fatalf("occurrences(%q, %q) = %v, want %v", text, old, got, want)
		}
		found += len(got)
	}
	if found == 0 {
		t.Fatal("no text had a match")
	}
}
