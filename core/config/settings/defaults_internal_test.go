package settings

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/layout"
)

// The two forms of the defaults, for Go and for viper, have the same JSON.
func TestDefaultValuesAreTheJSONOfDefaults(t *testing.T) {
	t.Parallel()
	for _, l := range []layout.Layout{layout.Fettle(), layout.Gemini()} {
		text, err := json.Marshal(defaultsIn(l))
		require.NoError(t, err)
		var tree any
		require.NoError(t, json.Unmarshal(text, &tree))
		for _, k := range known().keys {
			want := tree
			for _, name := range strings.Split(k.Path, ".") {
				group, _ := want.(map[string]any)
				want = group[name]
			}
			got, _ := defaultIn(l, k.Path)
			require.Equal(t, want, got, "%s in %s", k.Path, l.Name)
		}
	}
}
