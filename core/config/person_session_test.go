package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// A command of the user runs without approval, and a denied one does not run.
func TestRunCommand(t *testing.T) {
	c := newConfig(t, config.Parameters{
		Policy: config.Policy{Rules: []policy.Rule{{Tools: []string{"run_shell_command"}, CommandPrefix: []string{"rm"}, Decision: policy.Deny, Priority: 500, Tier: policy.TierUser}}},
	})
	require.NoError(t, c.Initialize(t.Context()))
	var printed string
	r, err := c.RunCommand(t.Context(), "echo hello; pwd", func(chunk string) { printed += chunk })
	require.NoError(t, err)
	require.Equal(t, "hello\n"+c.TargetDir()+"\n", r.Text)
	require.Equal(t, r.Text, printed)

	_, err = c.RunCommand(t.Context(), "true && rm -rf x", nil)
	require.Equal(t, fault.PolicyViolation, fault.CodeOf(err))
}

func TestAddDirectory(t *testing.T) {
	c := newConfig(t, config.Parameters{})
	require.NoError(t, c.Initialize(t.Context()))
	more := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(more, "a.txt"), []byte("a\n"), 0o600))
	ws, err := c.Workspace()
	require.NoError(t, err)
	_, err = ws.Resolve(filepath.Join(more, "a.txt"))
	require.Error(t, err)
	require.NoError(t, c.AddDirectory(t.Context(), more))
	_, err = ws.Resolve(filepath.Join(more, "a.txt"))
	require.NoError(t, err)
	engine, err := c.Policy().Decide(policy.Call{Tool: "read_file", Kind: "read", Params: []byte(`{"file_path":"` + filepath.Join(more, "a.txt") + `"}`)})
	require.NoError(t, err)
	require.Equal(t, policy.Allow, engine.Decision)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(c.AddDirectory(t.Context(), filepath.Join(more, "none"))))
}

func TestInstructionFilesAreReadAgain(t *testing.T) {
	c := newConfig(t, config.Parameters{})
	require.NoError(t, c.Initialize(t.Context()))
	path := filepath.Join(c.TargetDir(), layout.Fettle().ContextFile)
	require.NoError(t, os.WriteFile(path, []byte("one"), 0o600))
	docs, err := c.Instructions().Files(t.Context())
	require.NoError(t, err)
	require.Len(t, docs, 1)
	require.Equal(t, "one", docs[0].Text)
	require.NoError(t, os.WriteFile(path, []byte("two"), 0o600))
	docs, err = c.Instructions().Files(t.Context())
	require.NoError(t, err)
	require.Equal(t, "one", docs[0].Text)
	require.NoError(t, c.Instructions().Reload())
	docs, err = c.Instructions().Files(t.Context())
	require.NoError(t, err)
	require.Equal(t, "two", docs[0].Text)
}
