package position_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/position"
)

// Numbers of TOML include infinite ones and NaN, each with and without a sign.
func TestParseTOMLNumbers(t *testing.T) {
	table, err := position.ParseTOML([]byte("a = nan\nb = +nan\nc = -nan\nd = +inf\ne = -inf\nf = -1_0.5\n"))
	require.NoError(t, err)
	for _, key := range []string{"a", "b", "c"} {
		n, ok := table.Find(key).Number()
		require.True(t, ok && math.IsNaN(n), key)
	}
	for key, want := range map[string]float64{"d": math.Inf(1), "e": math.Inf(-1), "f": -10.5} {
		n, ok := table.Find(key).Number()
		require.True(t, ok, key)
		require.Equal(t, want, n, key)
	}
}
