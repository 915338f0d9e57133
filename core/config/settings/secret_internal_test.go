package settings

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The short way of IsProviderKey accepts the same names as the expression.
func TestShortWayOfProviderKeys(t *testing.T) {
	pieces := []string{"_", "KEY", "key", "TOKEN", "token", "Key", "\u212aEY", "to\u212aen", "\u017f", "S", "API", "ADMIN", "2", "OPENAI", "openai", "HF", "GEMINI", "AWS_BEARER_TOKEN_BEDROCK", "x", "é", "\xff"}
	r := rand.New(rand.NewPCG(1, 2))
	keys := 0
	for range 200_000 {
		var b strings.Builder
		for range 1 + r.IntN(7) {
			b.WriteString(pieces[r.IntN(len(pieces))])
			if r.IntN(2) == 0 {
				b.WriteByte('_')
			}
		}
		name := strings.TrimSuffix(b.String(), "_")
		want := providerKeys().MatchString(name)
		require.Equal(t, want, IsProviderKey(name), "%q", name)
		if want {
			keys++
		}
	}
	require.Greater(t, keys, 100)
}
