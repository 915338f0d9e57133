package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/process"
)

// SB-04: yolo mode confines single commands only if the user has set the sandbox.
func TestConfinable(t *testing.T) {
	for _, tt := range []struct {
		mode      policy.ApprovalMode
		tool      string
		byDefault bool
		want      string
	}{
		{policy.ModeAuto, "run_shell_command", true, policy.Namespaces},
		{policy.ModeYolo, "run_shell_command", true, ""},
		{policy.ModeYolo, "run_shell_command", false, policy.Namespaces},
		{policy.ModeAuto, "write_file", true, ""},
	} {
		var p Parameters
		p.Tools.Shell = Commands{Confinement: process.Confinement{Kind: process.Namespaces, PerCommand: true}, byDefault: tt.byDefault}
		c := &Config{}
		c.filled.Store(&p)
		call := policy.Call{Tool: tt.tool, Mode: tt.mode}
		c.confine(&call)
		require.Equal(t, tt.want, call.Confinable)
		require.Empty(t, call.Confined)
	}
}
