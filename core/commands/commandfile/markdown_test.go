package commandfile_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/commands/commandfile"
	"github.com/fettle-dev/fettle/core/fault"
)

// markdown loads one command from a Markdown file.
func markdown(t testing.TB, s *shell, f files, text string) (*commands.Set, []fault.Problem) {
	t.Helper()
	dir := write(t, t.TempDir(), map[string]string{"git/do.md": text})
	set, problems, err := commands.Assemble(t.Context(), commandfile.New(commandfile.Options{
		Dirs: []commandfile.Dir{{Path: dir, Markdown: true, Namespace: "kit", Variables: map[string]string{"CLAUDE_PLUGIN_ROOT": "/a kit"}}}, Shell: s, Files: f,
	}))
	require.NoError(t, err)
	return set, problems
}

// run runs a line.
func run(t testing.TB, set *commands.Set, line string) (commands.Result, error) {
	t.Helper()
	return set.Parse(line).Run(t.Context(), &commands.Context{UI: &ui{}})
}

// UI-07: what a prompt in Markdown is expanded to.
func TestMarkdown(t *testing.T) {
	for name, tt := range map[string]struct{ text, args, want string }{
		"arguments":           {"Fix $ARGUMENTS now.", "a b", "Fix a b now."},
		"no front matter":     {"Fix it.", "", "Fix it."},
		"numbered":            {"---\ndescription: d\n---\n$2 before $1.", `one "two three"`, "two three before one."},
		"from zero":           {"$0 and $1", "a b", "a and b"},
		"indexed":             {"$ARGUMENTS[1]", "a b", "b"},
		"a price":             {"costs $100 and \\$1", "", "costs $100 and \\$1"},
		"missing":             {"[$1][$2]", "a", "[a][]"},
		"without marks":       {"Do it.", "soon", "Do it.\n\nARGUMENTS: soon"},
		"command":             {"See: !`git status`", "", "See: <git status>"},
		"block":               {"See:\n```!\ngit log\n```\n.", "", "See:\n<git log>\n."},
		"arguments in one":    {"See !`git log $1 -- \"$ARGUMENTS\"`", "a;b", `See <git log 'a;b' -- "a;b">`},
		"inserted text":       {"$ARGUMENTS", "!`rm x` @f.go $1", "!`rm x` @f.go $1"},
		"not a command":       {"wow!`x` and `!`y", "", "wow!`x` and `!`y"},
		"root":                {"Run ${CLAUDE_PLUGIN_ROOT}/x", "", "Run /a kit/x"},
		"root in a command":   {"!`$CLAUDE_PLUGIN_ROOT/x`", "", "<'/a kit'/x>"},
		"file":                {"Read @f.go, please.", "", "Read FILE, please."},
		"file as argument":    {"Read @$1.", "f.go", "Read FILE."},
		"not a file":          {"me@f.go @decorator @a@b.c", "", "me@f.go @decorator @a@b.c"},
		"no such file":        {"Read @gone.go", "", "Read @gone.go"},
		"covered":             {"---\nallowed-tools: Read, Bash(git log:*)\n---\n!`git log -1`", "", "<git log -1>"},
		"covered by a list":   {"---\nallowed-tools: [\"Bash(${CLAUDE_PLUGIN_ROOT}/x.sh:*)\"]\n---\n!`\"${CLAUDE_PLUGIN_ROOT}/x.sh\" go`", "", `<"/a kit/x.sh" go>`},
		"covered by the tool": {"---\nallowed-tools: Bash\n---\n!`rm x`", "", "<rm x>"},
	} {
		t.Run(name, func(t *testing.T) {
			set, _ := markdown(t, &shell{}, files{"f.go": "FILE"}, tt.text)
			line := "/kit:git:do"
			if tt.args != "" {
				line += " " + tt.args
			}
			require.Equal(t, tt.want, prompt(t, set, line))
		})
	}
}

// UI-07: a command that allowed-tools does not list is not run, in any form.
func TestMarkdownLimit(t *testing.T) {
	for allowed, line := range map[string]string{
		"Read":                          "git log",
		"Bash(git log:*)":               "git push",
		"Bash(git log:*), Bash(echo:*)": "git log && rm x",
		"Bash(git:*)":                   "git log > f",
		"Bash(ls:*)":                    "ls $(rm x)",
		"Bash(echo:*), Bash(cat":        "head x",
		"Bash(/g.t/)":                   "git log",
		"[]":                            "git log",
	} {
		s := &shell{}
		set, _ := markdown(t, s, nil, "---\nallowed-tools: "+allowed+"\n---\n!`"+line+"`")
		_, err := run(t, set, "/kit:git:do")
		require.ErrorIs(t, err, &fault.Error{Code: fault.PolicyViolation}, allowed)
		require.Empty(t, s.ran)
	}
}

// UI-07: a command whose restrictions are not understood is not loaded, and the reason is
// reported with its line.
func TestMarkdownRestrictions(t *testing.T) {
	for front, line := range map[string]int{
		"description: d\nallowed-tools: {a: b}": 3, "allowed-tools: [[Read]]": 2, "disallowed-tools: Bash": 2, "permissionMode: plan": 2,
		"hooks: {}": 2, "agent: Explore": 2, "allowed-tools: [": 2, "Tools: x": 2,
		"denied_tools: Bash": 2, "sandbox_mode: strict": 2, "allowed-tools: Read\nallowed_tools: Bash": 3,
	} {
		set, problems := markdown(t, &shell{}, nil, "---\n"+front+"\n---\nDo it.")
		require.Empty(t, set.List(), front)
		require.Len(t, problems, 1, front)
		require.True(t, problems[0].IsError())
		require.Equal(t, line, problems[0].Line, front)
		require.Equal(t, "do.md", filepath.Base(problems[0].Path))
	}
	set, problems := markdown(t, &shell{}, nil, "---\nargument-hint: [path]\ndescription: Does: it\nmodel: opus\ncolour: red\n---\nDo it.")
	require.Equal(t, "Does: it [path]", set.List()[0].Description)
	require.Len(t, problems, 3)
	for _, p := range problems {
		require.Equal(t, fault.SeverityNotice, p.Severity)
	}
}

// UI-07: hints and descriptions that are not valid YAML are texts, and the restrictions
// next to them apply.
func TestMarkdownUnquoted(t *testing.T) {
	for front, want := range map[string]string{
		"argument-hint: [a] [b]\ndescription: d":            "d [a] [b]",
		"argument-hint: [a] | --full\ndescription: d":       "d [a] | --full",
		"argument-hint: | --a | --b\ndescription: d":        "d | --a | --b",
		"description: d\nargument-hint: --data='{}' [--x='": "d --data='{}' [--x='",
	} {
		s := &shell{}
		set, problems := markdown(t, s, nil, "---\n"+front+"\nallowed-tools: Bash(ls *)\n---\nDo it: !`rm x`")
		require.Len(t, set.List(), 1, "%s: %v", front, problems)
		require.Equal(t, want, set.List()[0].Description)
		_, err := run(t, set, "/kit:git:do")
		require.Error(t, err, front)
	}
}

// UI-07: no prompt in Markdown panics, and no argument becomes a command or a file.
func FuzzMarkdown(f *testing.F) {
	f.Add("---\nallowed-tools: Bash(ls:*)\n---\nA !`ls $1` @$1 ```!\nls\n```", "x y")
	f.Fuzz(func(t *testing.T, text, args string) {
		s := &shell{}
		set, _ := markdown(t, s, files{}, text)
		if len(set.List()) == 0 {
			return
		}
		_, _ = run(t, set, "/kit:git:do "+args)
		with := len(s.ran)
		s.ran = nil
		_, _ = run(t, set, "/kit:git:do")
		if with > len(s.ran) {
			t.Errorf("%q with %q runs %d commands, and without %d", text, args, with, len(s.ran))
		}
	})
}
