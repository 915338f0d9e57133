package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/stretchr/testify/require"
)

// The user's own variables may have contained a protection as well.
func TestUnreadVariables(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		for _, dir := range []string{"home/.fettle", "project"} {
			require.NoError(t, os.MkdirAll(filepath.Join(top, dir), 0o755))
		}
		require.NoError(t, os.WriteFile(filepath.Join(top, "home/.fettle/.env"), []byte("FETTLE_SANDBOX=landlock"), 0))
	})
	if !ok {
		return
	}
	names := layout.Fettle()
	names.SystemDir = ""
	c, err := config.New(config.Parameters{TargetDir: filepath.Join(top, "project"), Environment: config.Environment{HomeDir: filepath.Join(top, "home"), Layout: names},
		Settings: &settings.Options{}, Policy: config.Policy{AllowedTools: []string{"run_shell_command"}}})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Initialize(t.Context()))
	require.Equal(t, policy.AskUser, verdict(t, c, "run_shell_command", `{"command": "git status"}`).Decision)
}
