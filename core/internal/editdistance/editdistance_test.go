package editdistance_test

import (
	"testing"

	"github.com/fettle-dev/fettle/core/internal/editdistance"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0},
		{"abc", "abd", 1}, {"abc", "ab", 1}, {"abc", "xabc", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2}, {"ä", "a", 1},
	} {
		if got := editdistance.Of([]rune(tt.a), []rune(tt.b)); got != tt.want {
			t.Errorf("Of(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
