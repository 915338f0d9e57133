package replace

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// texts returns a function that returns random texts of up to a number of pieces.
func texts() func(most int) string {
	pieces := []string{"a", "b", "\n", "\r\n", "a\n"}
	random := rand.New(rand.NewPCG(1, 2))
	return func(most int) string {
		var b strings.Builder
		for range 1 + random.IntN(most) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		return b.String()
	}
}

// occurrences finds the same as a regular expression in which each line break matches both kinds.
func TestOccurrences(t *testing.T) {
	text := texts()
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

// A Count of 1 is accepted if the text begins in exactly one place of the file.
func TestOnePlace(t *testing.T) {
	text := texts()
	accepted, overlap := 0, 0
	for range 20_000 {
		text, old := text(12), text(3)
		places := 0
		plain, from := strings.ReplaceAll(text, "\r\n", "\n"), strings.ReplaceAll(old, "\r\n", "\n")
		for at := range plain {
			if strings.HasPrefix(plain[at:], from) {
				places++
			}
		}
		_, _, err := Replacement{From: old, To: "new", Count: 1}.Apply("f", text)
		if (err == nil) != (places == 1) {
			t.Fatalf("%q has %d places in %q: %v", old, places, text, err)
		}
		if err == nil {
			accepted++
		} else if strings.Contains(err.Message, "overlap") {
			overlap++
		}
	}
	if accepted == 0 || overlap == 0 {
		t.Errorf("%d accepted, %d with overlap", accepted, overlap)
	}
}
