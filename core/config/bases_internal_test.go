package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
)

// ST-01, PR-29: the content of read files is kept once for a Config and those
// derived from it; nothing is kept before the first read, and nothing of a file
// that read_file may show only with approval.
func TestBasesAreOfTheFamily(t *testing.T) {
	c := newForAgents(t)
	name := filepath.Join(c.TargetDir(), "a.txt")
	require.NoError(t, os.WriteFile(name, []byte(strings.Repeat("line\n", 1000)), 0o644))
	readIn := func(c *Config) {
		s, err := c.Scheduler()
		require.NoError(t, err)
		r := s.Run(t.Context(), scheduler.Request{CallID: "1", Tool: "read_file", Args: []byte(`{"file_path":"a.txt"}`)})
		require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
	}
	require.Zero(t, c.shared.bases.Size())
	readIn(c)
	size := c.shared.bases.Size()
	require.Greater(t, size, int64(5000))
	child, err := c.Derive(DeriveParameters{})
	require.NoError(t, err)
	defer func() { require.NoError(t, child.Close()) }()
	readIn(child)
	require.Equal(t, size, c.shared.bases.Size())

	asking, err := New(Parameters{TargetDir: c.TargetDir(), Environment: Environment{HomeDir: t.TempDir()}, Policy: Policy{Rules: []policy.Rule{
		{Tools: []string{"read_file"}, Decision: policy.AskUser, Priority: 100, Tier: policy.TierUser},
	}}})
	require.NoError(t, err)
	require.NoError(t, asking.Initialize(t.Context()))
	defer func() { require.NoError(t, asking.Close()) }()
	s, err := asking.own("test")
	require.NoError(t, err)
	p, err := asking.shared.workspace.Resolve("a.txt")
	require.NoError(t, err)
	_, err = s.state.Read(t.Context(), filestate.ReadRequest{Path: p})
	require.NoError(t, err)
	require.Zero(t, asking.shared.bases.Size())
}
