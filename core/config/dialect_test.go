package config_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// ED-03, ED-04: no declaration and no line of the system prompt names an edit tool that is not registered.
func TestTextsNameRegisteredEditTools(t *testing.T) {
	t.Parallel()
	for _, dialects := range [][]string{nil, {file.SafePatch}, {file.ApplyPatch}, {file.TextEditor}, {file.AutoDialect}, {file.SafePatch, file.ApplyPatch}} {
		s := configtest.New(t, func(p *config.Parameters) { p.Tools.EditDialect = dialects })
		registry, err := s.ToolRegistry()
		require.NoError(t, err)
		declared, err := json.Marshal(registry.Declarations())
		require.NoError(t, err)
		prompt, err := s.SystemPrompt(t.Context())
		require.NoError(t, err)
		for _, name := range file.EditDialects() {
			if _, err := registry.Lookup(name); err == nil {
				require.Contains(t, string(declared), name)
				require.Contains(t, prompt, name)
				continue
			}
			require.NotContains(t, string(declared), name)
			require.NotContains(t, prompt, name)
		}
	}
}
