package display

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFold(t *testing.T) {
	for name, tt := range map[string]struct {
		text, hang string
		want       string
	}{
		"short":             {"one two\n", "", "one two\n"},
		"at blanks":         {"one two three four\nx\n", "", "one two\nthree four\nx\n"},
		"exact":             {"12345 7890\n", "", "12345 7890\n"},
		"indented, hanging": {"  [a] any calls\n", "    ", "  [a] any\n      calls\n"},
		"a long word":       {"a 123456789012 b\n", "", "a\n123456789012\nb\n"},
		"blanks stay":       {"a  b\n\n  code\nlonger  than  ten ", "", "a  b\n\n  code\nlonger\nthan  ten "},
		"colours":           {"\x1b[1m[y]\x1b[0mes \x1b[1m[n]\x1b[0mo > ", "", "\x1b[1m[y]\x1b[0mes \x1b[1m[n]\x1b[0mo\n> "},
		"wide letters":      {"ääää öööö\n", "", "ääää öööö\n"},
		"nothing":           {"", "", ""},
	} {
		require.Equal(t, tt.want, Fold(tt.text, tt.hang, 10), name)
	}
	long := strings.Repeat("word ", 50)
	for line := range strings.Lines(Fold(long, "", 40)) {
		require.LessOrEqual(t, len(strings.TrimRight(line, " \n")), 40)
	}
}
