package config_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// program writes a shell script into a directory and returns its path.
func program(t *testing.T, dir, name, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("scripts need a Unix shell")
	}
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755))
	return path
}

// TO-16: a project's own program declares tools and runs them; a problem in one
// is reported and affects no other.
func TestToolCommands(t *testing.T) {
	bin := t.TempDir()
	declare := program(t, bin, "declare", `echo '[{"name":"shout","description":"Shouts.","parametersJsonSchema":{"type":"object","properties":{"text":{"type":"string"}}}},
{"name":"broken","parametersJsonSchema":{"type":7}}]'`)
	run := program(t, bin, "run", `echo "$1 in $(basename $PWD): $(cat)"`)
	s := configtest.New(t, func(p *config.Parameters) {
		p.Tools.DiscoveryCommand, p.Tools.CallCommand = declare, run
		p.Tools.Discover = append(p.Tools.Discover, func(context.Context) ([]tools.DeclarativeTool, error) { return nil, os.ErrDeadlineExceeded })
	})
	require.Contains(t, names(t, s.Config), "discovered_tool_shout")
	require.NotContains(t, names(t, s.Config), "discovered_tool_broken")
	problems := s.DiscoveryProblems()
	require.Len(t, problems, 2)
	require.ErrorContains(t, problems[0], "broken")
	require.ErrorIs(t, problems[1], os.ErrDeadlineExceeded)

	child := derive(t, s.Config, config.DeriveParameters{})
	for _, c := range []*config.Config{s.Config, child} {
		r := call(t, c, "discovered_tool_shout", map[string]any{"text": "hey"})
		require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
		require.Contains(t, r.Result.LLMContent.String(), `shout in `+filepath.Base(s.Dir)+`: {"text":"hey"}`)
	}
	require.Len(t, s.Confirmations(), 2, "it is somebody's program, so it is asked about")
}

// A failed discovery leaves all other tools of a session.
func TestToolCommandsFail(t *testing.T) {
	for name, script := range map[string]string{"exits": "exit 3", "talks nonsense": "echo hello"} {
		s := configtest.New(t, func(p *config.Parameters) {
			p.Tools.DiscoveryCommand, p.Tools.CallCommand = program(t, t.TempDir(), "declare", script), "true"
		})
		require.Equal(t, defaultTools, names(t, s.Config), name)
		require.Len(t, s.DiscoveryProblems(), 1, name)
		require.Equal(t, fault.ExecutionFailed, fault.CodeOf(s.DiscoveryProblems()[0]), name)
	}
}
