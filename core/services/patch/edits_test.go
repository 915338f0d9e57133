package patch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/patch"
)

// CM-15: the places of a change, inserted into the old text, produce the new one.
func TestEditsMakeTheNewText(t *testing.T) {
	texts := []string{"", "a\n", "a", "a\nb\nc\n", "a\nx\nc\n", "x\na\nb\nc", "b\nc\nd\ne\nf\ng\nh\ni\nj\nk\n", "b\nC\nd\ne\nf\ng\nh\ni\nJ\nk\nl\n", "\n\n\n", "c\nb\na\n"}
	for _, before := range texts {
		for _, after := range texts {
			lines := []string{}
			for l := range strings.Lines(before) {
				lines = append(lines, l)
			}
			var b strings.Builder
			at := 0
			for _, e := range patch.Between(before, after).Edits() {
				require.LessOrEqual(t, at, e.Start)
				b.WriteString(strings.Join(lines[at:e.Start], "") + strings.Join(e.Lines, ""))
				at = e.End
			}
			b.WriteString(strings.Join(lines[at:], ""))
			require.Equal(t, after, b.String(), "from %q", before)
		}
	}
}
