package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// AR-27, CF-09: autoEdit does not cover protected files, by whatever path or
// redirection; the plans directory is not protected.
func TestProtected(t *testing.T) {
	e, err := policy.NewEngine(policy.Options{
		PlansDir: "/w/.fettle/plans", Protected: []policy.ProtectedPath{{Names: []string{"/home/u/.own", "NOTES.md", "docs/steer.md"}, What: "own", Why: "it does"}},
		Rules: []policy.Rule{{Tools: []string{"run_shell_command"}, CommandPrefix: []string{"echo"}, Decision: policy.Allow, Tier: policy.TierUser}},
	})
	require.NoError(t, err)
	real := map[string]string{"/w/link": "/w/.git/hooks", "/w/link/x": "/w/.git/hooks/x", "/w/plain": "/w/plain"}
	for path, want := range map[string]policy.Verdict{
		"a.txt":                 policy.Allow,
		".gitignore":            policy.Allow,
		".github/ci.yml":        policy.Allow,
		"environment":           policy.Allow,
		".env":                  policy.AskUser,
		".env.example":          policy.AskUser,
		".fettle/policies.toml": policy.AskUser,
		"sub/../.Fettle/x":      policy.AskUser,
		"/w/sub/.git/config":    policy.AskUser,
		"link/x":                policy.AskUser,
		"/home/u/.own/x.toml":   policy.AskUser,
		"sub/notes.md":          policy.AskUser,
		"sub/docs/steer.md":     policy.AskUser,
		"steer.md":              policy.Allow,
		".fettle/plans/a.md":    policy.Allow,
		".fettle/plans/a.toml":  policy.AskUser,
	} {
		args, _ := json.Marshal(map[string]string{"file_path": path})
		call, _ := policy.WellKnown("write_file")
		call.Params, call.Mode, call.Dir, call.Roots, call.RealPaths = args, policy.ModeAutoEdit, "/w", []string{"/w"}, real
		d := e.Decide(call)
		require.Equal(t, want, d.Decision, "%s: %s", path, d.Reason)
		if want == policy.AskUser {
			require.Contains(t, d.Reason, "decides what runs later")
			require.NotContains(t, d.Remedy, "auto_edit")
		}
		require.NotEmpty(t, e.Paths(call))
		call.Mode = policy.ModeYolo
		require.Equal(t, policy.Allow, e.Decide(call).Decision, path)
	}
	shell, _ := policy.WellKnown("run_shell_command")
	shell.Mode, shell.Dir, shell.Roots, shell.RealPaths = policy.ModeAutoEdit, "/w", []string{"/w"}, real
	for line, want := range map[string]policy.Verdict{
		"echo x > a.txt": policy.Allow, "echo x > .git/hooks/pre-commit": policy.AskUser, "cd .git && echo x > config": policy.AskUser, "echo x >> link/x": policy.AskUser,
	} {
		shell.Params, _ = json.Marshal(map[string]string{"command": line})
		require.Equal(t, want, e.Decide(shell).Decision, line)
	}
}

// AR-27: a rule that allows a command's outputs does not cover protected files,
// in any mode; one about such files themselves does.
func TestProtectedFromRedirections(t *testing.T) {
	for name, tt := range map[string]struct {
		rules []policy.Rule
		want  policy.Verdict
	}{
		"a command": {[]policy.Rule{{Tools: []string{"run_shell_command"}, CommandPrefix: []string{"echo"}, AllowRedirection: true, Decision: policy.Allow}}, policy.AskUser},
		"the tool":  {[]policy.Rule{{Tools: []string{"run_shell_command"}, AllowRedirection: true, Decision: policy.Allow}}, policy.AskUser},
		"the file": {[]policy.Rule{
			{Tools: []string{"run_shell_command"}, CommandPrefix: []string{"echo"}, Decision: policy.Allow},
			{Tools: []string{"write_file"}, ArgsPattern: `hooks/`, Decision: policy.Allow},
		}, policy.Allow},
	} {
		for i := range tt.rules {
			tt.rules[i].Tier, tt.rules[i].Priority, tt.rules[i].Source = policy.TierUser, 100, "test"
		}
		e, err := policy.NewEngine(policy.Options{Rules: tt.rules})
		require.NoError(t, err)
		for _, mode := range []policy.ApprovalMode{policy.ModeDefault, policy.ModeAutoEdit} {
			d := decide(t, e, "echo x > .git/hooks/pre-commit", mode)
			require.Equal(t, tt.want, d.Decision, "%s in %s mode: %s", name, mode, d.Reason)
		}
		if tt.want == policy.AskUser {
			require.Equal(t, policy.Allow, decide(t, e, "echo x > a.txt", policy.ModeDefault).Decision, name)
			require.Contains(t, decide(t, e, "echo x > .git/hooks/pre-commit", policy.ModeDefault).Reason, ".git/hooks", name)
		}
		require.Equal(t, policy.Allow, decide(t, e, "echo x > .git/hooks/pre-commit", policy.ModeYolo).Decision, name)
	}
}

// AR-27: the page on policy has the table of protected paths, row by row.
func TestProtectedPathsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/policy-commands.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "<!-- protected paths -->")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\nA last `*`")
	var want strings.Builder
	want.WriteString("\n\n| names | what | why |\n|---|---|---|\n")
	for _, row := range policy.ProtectedPaths() {
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", strings.Join(row.Names, "`, `"), row.What, row.Why)
	}
	documented := strings.Split(strings.TrimRight(table, "\n"), "\n")
	require.Equal(t, strings.TrimRight(want.String(), "\n"), strings.Join(documented[:len(documented)-1], "\n"), "the last row is that of the session")
}

// AR-27: the names of the table are found at any depth, in any spelling that a
// file system may treat as equal, and no others.
func TestProtectedNames(t *testing.T) {
	e := engine(t)
	ask := func(path string) policy.Verdict {
		args, err := json.Marshal(map[string]string{"file_path": path})
		require.NoError(t, err)
		call, _ := policy.WellKnown("write_file")
		call.Params, call.Mode, call.Dir, call.Roots = args, policy.ModeAutoEdit, "/src/lib.git/.claude/worktrees/w", []string{"/src/lib.git/.claude/worktrees/w"}
		return e.Decide(call).Decision
	}
	for _, row := range policy.ProtectedPaths() {
		for _, name := range row.Names {
			name = strings.ReplaceAll(name, "*", "x")
			for _, path := range []string{name, strings.ToUpper(name), "a/b/" + name, name + "/x/y", "a/../" + name, "./" + name, strings.Replace(name, "i", "\u200di", 1)} {
				require.Equal(t, policy.AskUser, ask(path), path)
			}
		}
	}
	for _, path := range []string{"a.go", ".gitignore", ".gitattributes", "git", "agents.go", "env", ".github/CODEOWNERS", "workflows/x.yml", "config/fish/x", "Makefile", "package.json", "src/ssh/x", "jenkins", "claude/x"} {
		require.Equal(t, policy.Allow, ask(path), path)
	}
}

// AR-27: for a tool of kind edit with other parameters, any text may be a path.
func TestProtectedOfOtherTools(t *testing.T) {
	e := engine(t)
	for args, want := range map[string]policy.Verdict{
		`{"target":".git/config"}`:                  policy.AskUser,
		`{"files":["a",".husky/x"]}`:                policy.AskUser,
		`{"edits":[{"to":"AGENTS.md"}]}`:            policy.AskUser,
		`{"target":"a.go","text":"see .gitignore"}`: policy.Allow,
		`{"file_path":"a.go","content":".envrc"}`:   policy.Allow,
		`{"paths":[".envrc"]}`:                      policy.AskUser,
	} {
		c := policy.Call{Tool: "other_edit", Kind: "edit", Mutates: true, Effects: []string{"write_files"}, Params: json.RawMessage(args), Mode: policy.ModeAutoEdit, Dir: "/w", Roots: []string{"/w"}}
		require.Equal(t, want, e.Decide(c).Decision, args)
	}
}
