package checker

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// FuzzAllowedPath: an allowed path leads, as the system resolves it, to a
// location in the workspace outside of the guarded directories, and adding a
// second path never loosens.
func FuzzAllowedPath(f *testing.F) {
	top, err := filepath.EvalSymlinks(f.TempDir())
	require.NoError(f, err)
	ws := filepath.Join(top, "ws")
	for _, dir := range []string{"ws/a", "ws/.git", "out"} {
		require.NoError(f, os.MkdirAll(filepath.Join(top, dir), 0o755))
	}
	for name, target := range map[string]string{"out": "../out", "git": ".git", "in": "a", "up": ".."} {
		if err := os.Symlink(target, filepath.Join(ws, name)); err != nil {
			f.Skip("no links here:", err)
		}
	}
	for _, seed := range []string{"a", "a/b", "..", "out/x", "git/x", "in/../git", "up/ws/a", ".git", ".GIT./x", "a\\.git", "%2e%2e/out", "file:///etc", "~/x", "/", "a/.env:x", ".vscode", "\x00", "\xff", ""} {
		f.Add(seed, "a")
		f.Add("a", seed)
	}
	r := New(Options{Dir: ws, RealPath: RealPath})
	check := func(t *testing.T, args map[string]string) policy.Verdict {
		params, err := json.Marshal(args)
		require.NoError(t, err)
		verdict, reason, err := r.Check(t.Context(), policy.Checker{Name: AllowedPath}, policy.Call{Params: params})
		require.NoError(t, err)
		require.NotEmpty(t, reason)
		return verdict
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		first := check(t, map[string]string{"path": one})
		both := check(t, map[string]string{"path": one, "source": two})
		require.Equal(t, both, policy.Stricter(first, both), "a second path loosens")
		if first == policy.Deny || one == "" {
			return
		}
		one = strings.ToValidUTF8(one, "\ufffd") // as in JSON
		path := one
		if !filepath.IsAbs(path) {
			path = filepath.Join(ws, path)
		}
		real, err := RealPath(t.Context(), path)
		require.NoError(t, err)
		rel, err := filepath.Rel(ws, real)
		require.NoError(t, err)
		require.True(t, filepath.IsLocal(rel), "%q leads to %q", one, real)
		for _, segment := range strings.Split(rel, string(filepath.Separator)) {
			require.NotContains(t, []string{".git", ".env", "node_modules"}, strings.ToLower(segment))
		}
	})
}

// FuzzVerdict: an answer is a verdict with a reason, or an error that denies.
func FuzzVerdict(f *testing.F) {
	for _, seed := range []string{`{"decision":"allow"}`, `{"decision":"deny","reason":"x"}`, `{"decision":"deny"}`, `null`, `[]`, `{}x`, ``, `{"decision":"allow","error":"x"}`, `{"decision":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, output []byte) {
		verdict, reason, err := verdictOf(output)
		if err != nil {
			require.Equal(t, policy.Deny, verdict)
			return
		}
		require.True(t, json.Valid(output))
		require.Contains(t, []policy.Verdict{policy.Allow, policy.Deny, policy.AskUser}, verdict)
		require.NotEmpty(t, reason)
	})
}
