package config

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/internal/apply"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/process"
)

// SB-04: in auto mode input to a background process needs no approval if that process
// is confined by mounts.
func TestConfinedInput(t *testing.T) {
	all := []process.Info{{ID: "p1", PID: 7, Confined: process.Namespaces}, {ID: "p2", Confined: process.Landlock}, {ID: "p3"}}
	e, err := policy.NewEngine(policy.Options{})
	require.NoError(t, err)
	for _, tt := range []struct {
		id        string
		mode      policy.ApprovalMode
		untrusted bool
		want      policy.Verdict
	}{
		{"p1", policy.ModeAuto, false, policy.Allow},
		{"p1", policy.ModeAuto, true, policy.AskUser},
		{"p1", policy.ModeAutoEdit, false, policy.AskUser},
		{"7", policy.ModeAuto, false, policy.AskUser},
		{"p2", policy.ModeAuto, false, policy.AskUser},
		{"p3", policy.ModeAuto, false, policy.AskUser},
		{"p4", policy.ModeAuto, false, policy.AskUser},
	} {
		call, _ := policy.WellKnown("write_background_input")
		call.Params, call.Mode, call.Untrusted, call.Sealed = []byte(`{"id":"`+tt.id+`","input":"x\n"}`), tt.mode, tt.untrusted, true
		confineInput(&call, all)
		d := e.Decide(call)
		require.Equal(t, tt.want, d.Decision, "%+v", tt)
		if tt.want == policy.Allow {
			require.Equal(t, policy.Namespaces, d.Confined)
			require.Equal(t, "auto", d.Rule)
		}
	}
}

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
		c.filled.Store(p.store())
		call := policy.Call{Tool: tt.tool, Mode: tt.mode}
		c.confine(&call, &shared{site: &site{}})
		require.Equal(t, tt.want, call.Confinable)
		require.Empty(t, call.Confined)
	}
}

// BE-03: the kernel is asked for its support of a sandbox by the first command, not by the start of
// a session.
func TestSandboxIsFoundLate(t *testing.T) {
	asked := 0
	p := place(t)
	p.Settings = nil
	p.Tools.Shell.auto = sync.OnceValue(func() process.Confinement {
		asked++
		return process.Confinement{}
	})
	c, err := New(p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.NoError(t, c.Initialize(t.Context()))
	for _, tool := range []string{"read_file", "write_file"} {
		c.confine(&policy.Call{Tool: tool}, c.shared)
		require.Zero(t, asked, tool)
	}
	_, err = c.session.processes.Run(t.Context(), process.Command{Line: "true", Dir: p.TargetDir})
	require.NoError(t, err)
	require.Equal(t, 1, asked)
}

// The settings leave the sandbox to the machine without asking the kernel.
func TestSandboxOfSettingsIsFoundLate(t *testing.T) {
	p := place(t)
	b, err := begin(t, p)
	require.NoError(t, err)
	require.NotNil(t, b.params.Tools.Shell.auto)
	require.Equal(t, process.Unconfined, b.params.Tools.Shell.Confinement.Kind)
	require.Equal(t, apply.Confinement(settings.Sandbox{}, false).Kind, b.params.Tools.Shell.confinement().Kind)
}
