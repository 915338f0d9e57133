package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// instructed returns the system prompt of a session in top/workspace, whose home
// directory is top/home, after the change.
func instructed(t *testing.T, top, workspace string, change ...func(*config.Parameters)) string {
	t.Helper()
	p := config.Parameters{TargetDir: filepath.Join(top, workspace), Environment: config.Environment{HomeDir: filepath.Join(top, "home")}}
	for _, f := range change {
		f(&p)
	}
	c, err := config.New(p)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Initialize(t.Context()))
	text, err := c.SystemPrompt(t.Context())
	require.NoError(t, err)
	return text
}

// putting returns a function that writes files below top; "->" begins a link's
// target.
func putting(t *testing.T, top string) func(name, text string) {
	return func(name, text string) {
		t.Helper()
		path := filepath.Join(top, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(text, "->"); ok {
			require.NoError(t, os.Symlink(target, path))
			return
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// A link in place of an instruction file shows nothing that read_file would not:
// nothing that policy denies, and outside of the workspace directory, such as
// above it in the repository, only Markdown; the same applies to imports.
func TestInstructionsThatAreLinks(t *testing.T) {
	top := t.TempDir()
	put := putting(t, top)
	put("repo/.git/HEAD", "x")
	put("repo/FETTLE.md", "the repository's\n@key.txt\n@notes.md")
	put("repo/AGENTS.md", "->key.txt")
	put("repo/key.txt", "above-hidden")
	put("repo/notes.md", "above-notes")
	put("repo/ws/AGENTS.md", "->private/key.md")
	put("repo/ws/FETTLE.md", "->shown.txt")
	put("repo/ws/shown.txt", "inside-shown")
	put("repo/ws/private/key.md", "inside-hidden")
	deny := func(p *config.Parameters) {
		p.Policy.Rules = append(p.Policy.Rules, policy.Rule{Tools: []string{"read_file"}, ArgsPattern: `/private/`, Decision: policy.Deny, Tier: policy.TierAdmin})
	}
	text := instructed(t, top, "repo/ws", deny)
	require.Contains(t, text, "the repository's")
	require.Contains(t, text, "above-notes")
	require.Contains(t, text, "inside-shown")
	require.NotContains(t, text, "above-hidden")
	require.NotContains(t, text, "inside-hidden")
	require.Contains(t, instructed(t, top, "repo/ws"), "inside-hidden", "without the rule")
}

// The upward search from a workspace directory does not leave the home directory.
func TestBoundaryEndsAtHome(t *testing.T) {
	top := t.TempDir()
	put := putting(t, top)
	put(".git/HEAD", "x")
	put("AGENTS.md", "above-home")
	put("home/AGENTS.md", "in-home")
	put("home/ws/AGENTS.md", "in-ws")
	text := instructed(t, top, "home/ws")
	require.Contains(t, text, "in-ws")
	require.NotContains(t, text, "above-home")
	require.NotContains(t, text, "in-home")
	put("home/.git/HEAD", "x")
	require.Contains(t, instructed(t, top, "home/ws"), "in-home", "a repository of the whole home directory")
}

// Instructions are read from an undecided directory, because they can loosen
// nothing, but not from an untrusted one (FT-20).
func TestInstructionsByTrust(t *testing.T) {
	for state, want := range map[trust.State]bool{trust.Trusted: true, trust.Undecided: true, trust.Untrusted: false} {
		s := configtest.New(t, func(p *config.Parameters) { p.Policy.Trust = state })
		s.Write("AGENTS.md", "the-project's")
		text, err := s.SystemPrompt(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, strings.Contains(text, "the-project's"), "%v", state)
	}
}
