package patch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// run reads, corrects and applies a diff.
func run(base, diff string) (string, *Change, error) {
	d, err := Parse(diff)
	if err != nil {
		return "", nil, err
	}
	c, err := Correct(base, d)
	if err != nil {
		return "", nil, err
	}
	got, err := ApplyStrict(base, c)
	return got, c, err
}

func TestSmoke(t *testing.T) {
	got, c, err := run("a\nb\nc\n", "@@ -7,3 +7,3 @@\n a\n-b\n+x\n c\n")
	require.NoError(t, err)
	require.Equal(t, "a\nx\nc\n", got)
	t.Log(c.Corrections, c.Unified("a/f", "b/f"))
}
