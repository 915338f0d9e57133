package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// AR-26: a rule that allows by path covers the file: neither a detour in the text
// nor a link evades it. One that denies applies to every path of the file.
func TestPathsInPatterns(t *testing.T) {
	const relative, absolute = `"file_path":"docs/`, `"file_path":"/w/docs/`
	for name, tt := range map[string]struct {
		path    string
		pattern string
		real    map[string]string
		allow   bool
		deny    bool
	}{
		"as given":                          {"docs/a.md", relative, nil, true, true},
		"not cleaned":                       {"./docs//a.md", relative, nil, true, true},
		"absolute, by a relative pattern":   {"/w/docs/a.md", relative, nil, true, true},
		"relative, by an absolute pattern":  {"docs/a.md", absolute, nil, true, true},
		"back to the directory":             {"../w/docs/a.md", relative, nil, true, true},
		"out by ..":                         {"docs/../src/evil.go", relative, nil, false, true},
		"out by .., absolute":               {"/w/docs/../src/evil.go", absolute, nil, false, true},
		"out of the workspace by ..":        {"docs/../../etc/x", relative, nil, false, true},
		"in by ..":                          {"src/../docs/a.md", relative, nil, true, true},
		"elsewhere":                         {"src/a.go", relative, nil, false, false},
		"a link out":                        {"docs/link.md", relative, map[string]string{"/w/docs/link.md": "/w/src/main.go"}, false, true},
		"a link out, absolute":              {"/w/docs/link.md", absolute, map[string]string{"/w/docs/link.md": "/etc/x"}, false, true},
		"a link in":                         {"src/link", relative, map[string]string{"/w/src/link": "/w/docs/a.md"}, false, true},
		"a link within":                     {"docs/link.md", relative, map[string]string{"/w/docs/link.md": "/w/docs/b.md"}, true, true},
		"the workspace is a link":           {"docs/a.md", relative, map[string]string{"/w": "/real/w", "/w/docs/a.md": "/real/w/docs/a.md"}, true, true},
		"the workspace is a link, absolute": {"docs/a.md", absolute, map[string]string{"/w": "/real/w", "/w/docs/a.md": "/real/w/docs/a.md"}, true, true},
		"a link out of a linked workspace":  {"docs/a.md", relative, map[string]string{"/w": "/real/w", "/w/docs/a.md": "/real/w/src/a"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			for verdict, match := range map[policy.Verdict]bool{policy.Allow: tt.allow, policy.Deny: tt.deny} {
				r := policy.Rule{Name: "it", Tools: []string{"write_file"}, ArgsPattern: tt.pattern, Decision: verdict, Tier: policy.TierUser}
				c := called(t, "write_file", `{"content":"","file_path":"`+tt.path+`"}`)
				c.RealPaths = tt.real
				e := engine(t, r)
				for path := range tt.real {
					require.Contains(t, e.Paths(c), path)
				}
				require.Equal(t, match, e.Decide(c).Rule == "it", verdict)
			}
		})
	}

	lists := policy.Rule{Tools: []string{"read_many_files"}, ArgsPattern: `"paths":\["docs/`, Decision: policy.Allow, Priority: 950, Tier: policy.TierUser}
	e := engine(t, askAll, lists)
	require.Equal(t, policy.Allow, e.Decide(called(t, "read_many_files", `{"paths":["docs/**","docs/..a"]}`)).Decision)
	require.Equal(t, policy.AskUser, e.Decide(called(t, "read_many_files", `{"paths":["docs/../.env"]}`)).Decision)
	require.Equal(t, policy.AskUser, e.Decide(called(t, "read_many_files", `{"include":"../x","paths":["docs/a"]}`)).Decision)

	line := policy.Rule{Tools: []string{"run_shell_command"}, ArgsPattern: `"dir_path":"docs`, Decision: policy.Allow, Tier: policy.TierUser}
	for dir, want := range map[string]policy.Verdict{"docs": policy.Allow, "docs/..": policy.AskUser, "docs/link": policy.AskUser} {
		c := called(t, "run_shell_command", `{"command":"make","dir_path":"`+dir+`"}`)
		c.RealPaths = map[string]string{"/w/docs/link": "/w/src"}
		require.Equal(t, want, engine(t, line).Decide(c).Decision, dir)
	}
}

// An approval of a file ends when its path becomes a link, and a path with a link
// is not remembered.
func TestApprovedPathBecomesLink(t *testing.T) {
	e := engine(t)
	c := called(t, "write_file", `{"file_path":"notes.txt"}`)
	approved(t, e, c, policy.ScopeSaved)
	require.Contains(t, e.Paths(c), "/w/notes.txt")
	c.RealPaths = map[string]string{"/w/notes.txt": "/w/.git/hooks/pre-commit"}
	require.Equal(t, policy.AskUser, e.Decide(c).Decision)
	_, err := engine(t).Narrow(c, policy.ScopeSession)
	require.ErrorContains(t, err, "leads to /w/.git/hooks/pre-commit")
	c.RealPaths = map[string]string{"/w/notes.txt": "/real/notes.txt", "/w": "/real"}
	approved(t, engine(t), c, policy.ScopeSession)
}

// A directory contains the files in it, however its path is written, but not
// paths that merely have the same prefix.
func TestBeneathRoots(t *testing.T) {
	for root, want := range map[string]policy.Verdict{"/w": policy.AskUser, "/w/": policy.AskUser, "/": policy.Allow, "/wx/": policy.Allow} {
		c := command(t, "echo > /wx/a", policy.ModeAutoEdit)
		c.Roots = []string{root}
		require.Equal(t, want, engine(t, shellRule(policy.Allow, 1, "echo")).Decide(c).Decision, root)
	}
}

// A redirection leads to the file that the system opens: .. after a link is the
// parent of the link's target.
func TestRedirectionBehindLink(t *testing.T) {
	e := engine(t, shellRule(policy.Allow, 1, "echo"))
	for line, want := range map[string]policy.Verdict{
		"echo > link/../x": policy.AskUser, "cd a/.. && echo > x": policy.Allow, "echo > a/../x": policy.Allow,
		"cd inner && echo > ../x": policy.AskUser, "cd a && echo > ../x": policy.Allow,
	} {
		c := command(t, line, policy.ModeAutoEdit)
		paths := e.Paths(c)
		for path, real := range map[string]string{"/w/src/link": "/outside/deep", "/w/src/inner": "/w"} {
			if strings.Contains(line, path[len("/w/src/"):]) {
				require.Contains(t, paths, path, line)
			}
			if c.RealPaths == nil {
				c.RealPaths = map[string]string{}
			}
			c.RealPaths[path] = real
		}
		d := e.Decide(c)
		require.Equal(t, want, d.Decision, "%s: %+v", line, d)
	}
}

// A rule that allows a git command also covers it in another directory of the
// workspace, but not outside.
func TestGitInAnotherDirectory(t *testing.T) {
	e := engine(t, policy.Rule{Tools: []string{"run_shell_command"}, CommandPrefix: []string{"git status", "git log", "git -C named push"}, Decision: policy.Allow, Tier: policy.TierUser})
	for line, want := range map[string]policy.Verdict{
		"git -C src status":                  policy.Allow,
		"git -C ./src/../lib log --oneline":  policy.Allow,
		"git -C /w/src status":               policy.Allow,
		"git --no-pager -C src log":          policy.Allow,
		"cd src && git -C ../lib status":     policy.Allow,
		"git -C named push":                  policy.Allow,
		"git -C src push":                    policy.AskUser,
		"git -C .. status":                   policy.AskUser,
		"git -C /etc status":                 policy.AskUser,
		"git -C ~ status":                    policy.AskUser,
		"git -C link status":                 policy.AskUser,
		"git -C link/../src status":          policy.AskUser,
		"git -C src -C .. status":            policy.AskUser,
		"git -C .git log":                    policy.AskUser,
		"git -C src/.git/hooks status":       policy.AskUser,
		"git -C \"$x\" status":               policy.AskUser,
		"git -C src -c core.pager=x log":     policy.AskUser,
		"git -Csrc status":                   policy.AskUser,
		"git -C src log --output=../.bashrc": policy.AskUser,
		"git -C status":                      policy.AskUser,
		"cd \"$x\" && git -C src status":     policy.AskUser,
	} {
		c := command(t, line, policy.ModeAutoEdit)
		c.Dir, c.Roots = "/w", []string{"/w"}
		require.Subset(t, []string{"/w", "/w/src", "/w/lib", "/", "/etc", "/w/link", "/w/named", "/w/.git", "/w/src/.git/hooks", "/.bashrc", "/w/.bashrc", "/w/status"}, e.Paths(c), line)
		c.RealPaths = map[string]string{"/w/link": "/elsewhere"}
		d := e.Decide(c)
		require.Equal(t, want, d.Decision, "%s: %s", line, d.Reason)
	}
}
