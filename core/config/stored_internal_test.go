package config

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// A Config keeps every field of the Parameters, and no memory of parts that are zero.
func TestStored(t *testing.T) {
	none := new(Parameters).store()
	require.Same(t, &unset().Tools, none.Tools)
	require.True(t, reflect.ValueOf(none.parameters()).IsZero())

	given := Parameters{
		TargetDir: "d", IncludeDirs: []string{"i"}, Settings: &settings.Options{}, Environment: Environment{HomeDir: "h"}, Session: Session{ID: "s"},
		Tools: Tools{DiscoveryCommand: "d"}, Policy: Policy{NoYolo: true}, Calls: Calls{reload: func() {}}, Conversation: Conversation{Model: "m"},
		Agents: Agents{Disabled: true}, Extensions: Extensions{Disabled: true}, Skills: Skills{Disabled: true}, Instructions: Instructions{Names: []string{"n"}},
		MCP: MCP{Later: true}, Hooks: Hooks{TrustAll: true}, variables: func(string) (string, bool) { return "v", false },
		checkpointing: checkpointing{talking: true}, unread: []fault.Problem{{Path: "p"}},
	}
	kept := given.store()
	got := kept.parameters()
	of, again := reflect.ValueOf(given), reflect.ValueOf(got)
	for i := range of.NumField() {
		name := of.Type().Field(i).Name
		require.False(t, of.Field(i).IsZero(), "%s is part of this test", name)
		require.False(t, again.Field(i).IsZero(), "%s is kept", name)
	}
	got.Tools.DiscoveryCommand, given.Policy.NoYolo = "", false
	require.Equal(t, "d", kept.Tools.DiscoveryCommand, "it is a copy")
	require.True(t, kept.Policy.NoYolo, "it is a copy")
	require.Zero(t, unset().Environment.HomeDir)
	require.True(t, reflect.ValueOf(unset()).Elem().IsZero())
}
