package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
)

// A secret of the program is not inherited by commands, whatever the source of
// their environment.
func TestWithheldVariables(t *testing.T) {
	t.Setenv("SHELF_TOKEN", "hidden")
	t.Setenv("SHELF_TOKEN_NAME", "shown")
	for name, environ := range map[string]func() []string{
		"the process's": nil,
		"its own":       func() []string { return []string{"PATH=/usr/bin:/bin", "SHELF_TOKEN=hidden", "SHELF_TOKEN_NAME=shown"} },
	} {
		t.Run(name, func(t *testing.T) {
			s := configtest.New(t, func(p *config.Parameters) {
				p.Tools.Shell.Environ, p.Tools.Shell.Withheld = environ, []string{"SHELF_TOKEN"}
			})
			out := s.Call("run_shell_command", map[string]any{"command": "env"}).Result.LLMContent.String()
			require.Contains(t, out, "SHELF_TOKEN_NAME=shown")
			require.NotContains(t, out, "hidden")
		})
	}
}
