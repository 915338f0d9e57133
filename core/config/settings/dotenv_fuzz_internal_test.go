package settings

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
)

// Values of a .env file can be in an environment, reported lines are in the text,
// and parsing is idempotent for the plainest form.
func FuzzDotenv(f *testing.F) {
	fuzzseed.Add(f)
	for _, seed := range []string{
		"", "A=1", "export A = 'x\ny' # c\r\nB=\"\\\"\\n\\\\\"", "A=`b`\n=c\nD", "\ufeffA=1\n\nA=2", "A='", "A=\"b\\", "A.b-c=#d", "A=1\x00", "A=\"\\\\n\"", "\rA=1\r\rB=2",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values, _, odd := parseDotenv(text)
		lines := strings.Count(text, "\n") + 1
		for i, line := range odd {
			require.True(t, 1 <= line && line <= lines, "line %d of %d", line, lines)
			require.True(t, i == 0 || odd[i-1] < line, "%v", odd)
		}
		var plain strings.Builder
		for _, name := range slices.Sorted(maps.Keys(values)) {
			require.NotContains(t, values[name], "\x00")
			require.NotContains(t, name, "=")
			plain.WriteString(name + `="` + strings.NewReplacer("\\", `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(values[name]) + "\"\n")
		}
		again, _, none := parseDotenv(plain.String())
		require.Empty(t, none)
		require.Equal(t, values, again, "%q", plain.String())
	})
}
