package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
)

// CR-24: the hooks of each layer are returned with their positions; a wrong hook
// or group is dropped alone.
func TestHookLayers(t *testing.T) {
	m := newMachine(t)
	m.user(`{"hooks": {"BeforeTool": [
  {"hooks": 1},
  {"matcher": "x",
   "hooks": [{"type": "runtime", "command": "a"}, {"type": "command", "command": "b"}]}]}}`)
	m.project(`{"hooks": {"AfterTool": [{"hooks": [{"type": "command", "command": "c"}]}]}}`)
	m.Trusted = true
	r := m.load()
	layers := r.HookLayers()
	require.Len(t, layers, 2)
	require.Equal(t, settings.LayerUser, layers[0].Layer)
	require.Equal(t, 3, layers[0].Line("BeforeTool", 0), "the group before it is gone")
	require.Zero(t, layers[0].Line("BeforeTool", 1))
	require.Equal(t, map[string]any{"BeforeTool": []any{map[string]any{
		"matcher": "x", "hooks": []any{map[string]any{"type": "command", "command": "b"}},
	}}}, layers[0].Events)
	require.Equal(t, settings.LayerProject, layers[1].Layer)
	require.Equal(t, 1, layers[1].Line("AfterTool", 0))

	m.Trusted = false
	layers = m.load().HookLayers()
	require.False(t, layers[0].Refused)
	require.True(t, layers[1].Refused, "EX-11")
}

// CM-01: entries of gemini-cli's files that are not events are skipped, and the
// events count.
func TestHooksOfTheOtherProgram(t *testing.T) {
	m := newMachine(t)
	m.user(`{"hooks": {"enabled": true, "disabled": ["x"], "notifications": false,
  "BeforeTool": [{"hooks": [{"type": "command", "command": "c"}]}]}}`)
	r := m.load()
	require.Empty(t, r.Problems)
	require.Len(t, r.HookLayers(), 1)
	require.Len(t, r.HookLayers()[0].Events, 1)
	require.Equal(t, 2, r.HookLayers()[0].Line("BeforeTool", 0))
}
