package rules_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/internal/rules"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// place is a workspace of one directory.
type place string

func (p place) Target() string                       { return string(p) }
func (p place) Directories() []string                { return []string{string(p)} }
func (p place) RealDirectories() []string            { return nil }
func (p place) RealPath(path string) (string, error) { return workspace.RealPath(path) }

// repository creates a repository with a configuration, and rules that allow git.
func repository(t testing.TB, config string) (string, *rules.Rules) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range []string{".git/objects", ".git/refs", "src"} {
		require.NoError(t, os.MkdirAll(filepath.Join(top, dir), 0o755))
	}
	require.NoError(t, os.WriteFile(top+"/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o600))
	require.NoError(t, os.WriteFile(top+"/.git/config", []byte(config), 0o600))
	r, err := rules.Open(t.Context(), rules.Options{
		Workspace: place(top), ProjectDir: filepath.Join(top, ".fettle"), AdminDir: filepath.Join(top, "none"),
		Own: []policy.Rule{{Tools: []string{"run_shell_command"}, CommandPrefix: []string{"git", "make"}, Decision: policy.Allow, Tier: policy.TierUser, Priority: 1}},
	})
	require.NoError(t, err)
	return top, r
}

func call(t testing.TB, r *rules.Rules, dir, line string) policy.Call {
	t.Helper()
	c, _ := policy.WellKnown("run_shell_command")
	c.Params, _ = json.Marshal(map[string]string{"command": line})
	c.Dir, c.Roots = dir, r.Roots()
	require.True(t, r.Follow(&c))
	return c
}

// PB-02, PB-03: the facts about a repository decide: its keys, and its top directory.
func TestRepositories(t *testing.T) {
	top, r := repository(t, "[core]\n\tbare = false\n")
	link := filepath.Join(top, "src", "out")
	require.NoError(t, os.Symlink("/", link))
	for line, want := range map[string]policy.Verdict{
		"git status":                policy.Allow,
		"make && git -C src status": policy.Allow,
		`cd "$(git rev-parse --show-toplevel)" && make`:            policy.Allow,
		`cd "$(git rev-parse --show-toplevel)/src" && make`:        policy.Allow,
		`cd "$(git rev-parse --show-toplevel)/src" && git status`:  policy.Allow,
		`cd "$(git rev-parse --show-toplevel)/src/out" && make`:    policy.AskUser,
		`cd "$(git rev-parse --show-toplevel)/.." && make`:         policy.AskUser,
		`for d in src src/out; do (cd $d && make); done`:           policy.AskUser,
		`cd .git && cd "$(git rev-parse --show-toplevel)" && make`: policy.AskUser,
	} {
		d := r.Decide(call(t, r, top, line))
		require.Equal(t, want, d.Decision, "%s: %s", line, d.Reason)
	}
	top, r = repository(t, "[core]\n\tpager = ./x\n")
	for _, line := range []string{"git status", "git -C src log", `cd "$(git rev-parse --show-toplevel)" && make`} {
		d := r.Decide(call(t, r, top, line))
		require.Equal(t, policy.AskUser, d.Decision, line)
		require.Contains(t, d.Reason, `core.pager = "./x"`)
	}
}

// PB-06: a decision with the facts about a known repository.
func BenchmarkDecideGit(b *testing.B) {
	top, r := repository(b, "[core]\n\tbare = false\n")
	for name, line := range map[string]string{"git": "git status --short", "other": "make all"} {
		b.Run(name, func(b *testing.B) {
			c := call(b, r, top, line)
			for b.Loop() {
				c.Repositories, c.Found = nil, nil
				r.Decide(c)
			}
		})
	}
}
