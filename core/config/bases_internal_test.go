package config

import (
	"encoding/json"
	"fmt"
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
	base := func(c *Config) *byte {
		s, err := c.own("test")
		require.NoError(t, err)
		data, ok := s.state.Base(filestate.Sum([]byte(strings.Repeat("line\n", 1000))))
		if !ok {
			return nil
		}
		return &data[0]
	}
	require.Nil(t, base(c))
	readIn(c)
	require.NotNil(t, base(c))
	child, err := c.Derive(DeriveParameters{})
	require.NoError(t, err)
	defer func() { require.NoError(t, child.Close()) }()
	require.Nil(t, base(child))
	readIn(child)
	require.Same(t, base(c), base(child))

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
	require.Nil(t, base(asking))
}

// ST-01: a base that no longer fits into memory is stored with the checkpoints, and
// a change of it still carries over. The content of an ignored file is dropped.
func TestRebaseOfASpilledBase(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	c, err := New(Parameters{
		TargetDir: dir, Environment: Environment{HomeDir: t.TempDir()}, Policy: Policy{ApprovalMode: policy.ModeYolo},
		Session: Session{StaleEdits: staleRebase, Checkpoints: new(true), Limits: filestate.Limits{Lines: 100_000, Bytes: 1 << 30, ResultBytes: -1}},
	})
	require.NoError(t, err)
	require.NoError(t, c.Initialize(t.Context()))
	defer func() { require.NoError(t, c.Close()) }()
	calls, err := c.Scheduler()
	require.NoError(t, err)
	s, err := c.own("test")
	require.NoError(t, err)
	read := func(name string) {
		p, err := c.shared.workspace.Resolve(name)
		require.NoError(t, err)
		r, err := s.state.Read(t.Context(), filestate.ReadRequest{Path: p})
		require.NoError(t, err)
		require.NotNil(t, r.State.SHA256)
	}
	patch := func(name, base string) scheduler.Status {
		args, err := json.Marshal(map[string]string{"file_path": name, "unified_diff": "@@ @@\n-7\n+seven\n", "base_content_sha256": filestate.Sum([]byte(base))})
		require.NoError(t, err)
		return calls.Run(t.Context(), scheduler.Request{CallID: name, Tool: "safe_patch", Args: args}).Status
	}
	now := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return string(data)
	}

	base := map[string]string{"a.txt": "1\n2\n3\n4\n5\n6\n7\na\n", "b.txt": "1\n2\n3\n4\n5\n6\n7\nb\n"}
	write(".gitignore", "b.txt\n")
	for name, text := range base {
		write(name, text)
		read(name)
	}
	for i := range 5 {
		name := fmt.Sprintf("large%d.txt", i)
		write(name, strings.Repeat(strings.Repeat(fmt.Sprint(i), 999)+"\n", 15_000))
		read(name)
	}
	for name, text := range base {
		write(name, "0\n"+text)
	}
	require.Equal(t, scheduler.StatusSuccess, patch("a.txt", base["a.txt"]))
	require.Equal(t, "0\n1\n2\n3\n4\n5\n6\nseven\na\n", now("a.txt"))
	require.Equal(t, scheduler.StatusError, patch("b.txt", base["b.txt"]))
	require.Equal(t, "0\n"+base["b.txt"], now("b.txt"))
}
