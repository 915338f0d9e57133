package layout

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// CR-27: two presets, and no other.
func TestNamed(t *testing.T) {
	for name, want := range map[string]Layout{"": Fettle(), "fettle": Fettle(), "gemini": Gemini()} {
		got, ok := Named(name)
		require.True(t, ok, name)
		require.Equal(t, want, got)
	}
	_, ok := Named("Gemini")
	require.False(t, ok)

	require.Equal(t, ".fettle", Fettle().Dir)
	require.Equal(t, "FETTLE_", Fettle().EnvPrefix)
	require.Empty(t, Fettle().ToolNames)
	require.Equal(t, ".gemini", Gemini().Dir)
	require.Equal(t, "GEMINI.md", Gemini().ContextFile)
	require.Equal(t, "replace", Gemini().ToolNames["edit"])
}
