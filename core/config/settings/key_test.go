package settings_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
)

// Every key states which values a project may set and how layers are merged, and no
// two differ only in case, which viper ignores (KH-25).
func TestKeys(t *testing.T) {
	rules := []settings.ProjectRule{
		settings.ProjectFree, settings.ProjectTrusted, settings.ProjectNever, settings.ProjectTrue, settings.ProjectFalse, settings.ProjectAdd,
		settings.ProjectWithin, settings.ProjectLower, settings.ProjectStricter, settings.ProjectLandlock,
	}
	var folded []string
	for _, k := range settings.Keys() {
		require.Contains(t, rules, k.Project, k.Path)
		require.Contains(t, []settings.Merge{settings.Replace, settings.Concat, settings.Union, settings.Shallow}, k.Merge, k.Path)
		require.NotContains(t, folded, strings.ToLower(k.Path))
		folded = append(folded, strings.ToLower(k.Path))
	}
	require.Greater(t, len(folded), 80)
}

// Every key accepts its default, and a value of its kind, from any layer.
func TestEveryKeyTakesItsValues(t *testing.T) {
	m := newMachine(t)
	for _, k := range settings.Keys() {
		sample := map[string]any{
			"true or false": true, "a text": "x", "a text that is not empty": "x", "a list of texts": []any{"x"}, "an object": map[string]any{},
		}[k.Expected]
		defaults := (&settings.Result{}).Origins(k.Path)
		if len(defaults) > 0 {
			sample = defaults[0].Value
		}
		require.NotNil(t, sample, k.Path)
		m.Flags = map[string]any{k.Path: sample}
		r := m.clean()
		got := r.Value(k.Path)
		if k.Merge == settings.Union && len(defaults) > 0 {
			require.Subset(t, got, sample)
			continue
		}
		require.Equal(t, sample, got, k.Path)
		require.True(t, slices.ContainsFunc(r.Origins(k.Path), func(o settings.Origin) bool { return o.Layer == settings.LayerFlags }))
	}
}
