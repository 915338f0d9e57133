package rulefile_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

func approval(prefix string) policy.Rule {
	return policy.Rule{
		Tools: []string{"run_shell_command"}, CommandPrefix: []string{prefix}, Decision: policy.Allow, Priority: 950,
		Modes: []policy.ApprovalMode{policy.ModeDefault, policy.ModeAutoEdit, policy.ModeYolo}, Tier: policy.TierUser,
	}
}

func add(t *testing.T, path string, rules ...policy.Rule) {
	t.Helper()
	backup, err := rulefile.Append(t.Context(), path, rules)
	require.NoError(t, err)
	require.Empty(t, backup)
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// onlyFiles checks that no other file is left in the directory.
func onlyFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var got []string
	for _, e := range entries {
		if e.Name() != ".policies.lock" {
			got = append(got, e.Name())
		}
	}
	require.Equal(t, names, got)
}

// CF-07: a new file, and a second approval.
func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "home", "policies", "auto-saved.toml")
	add(t, path, approval("git status"))
	first := `[[rule]]
decision = "allow"
priority = 950
toolName = "run_shell_command"
commandPrefix = "git status"
modes = ["default", "autoEdit", "yolo"]
`
	require.Equal(t, first, content(t, path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	info, err = os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	file := policy.Rule{
		Tools: []string{"read_file"}, ArgsPattern: `\x00"file_path":"/a'\\\\b"` + "\u2028é\t" + `\x00`, Decision: policy.Allow, Priority: 950, Tier: policy.TierUser,
	}
	server := policy.Rule{
		Tools: []string{"*"}, Server: "my server", Decision: policy.Allow, Priority: 950, Tier: policy.TierUser, AllowRedirection: true,
		Modes: []policy.ApprovalMode{policy.ModeYolo}, Session: true, Source: "elsewhere", Line: 7, Name: `a "name"`, Subagent: "re viewer",
	}
	several := approval("x")
	several.CommandPrefix = []string{"npm 'a b'", "ls", `grep "\\d"`}
	add(t, path, file, server, several)
	require.True(t, strings.HasPrefix(content(t, path), first+"\n[[rule]]\n"))
	got, problems := rulefile.Parse(path, []byte(content(t, path)), user)
	require.Empty(t, problems)
	require.Len(t, got.Rules, 4)
	file.Source, file.Line, file.Approval = path, 8, true
	require.Equal(t, file, got.Rules[1])
	server.Session, server.Source, server.Line, server.Approval = false, path, 14, true
	require.Equal(t, server, got.Rules[2])
	require.Equal(t, several.CommandPrefix, got.Rules[3].CommandPrefix)
	onlyFiles(t, filepath.Dir(path), "auto-saved.toml")
}

// AR-27: an allow rule in the file of saved approvals is marked as an approval. A deny
// rule is not, nor is a rule in a project's file of the same name.
func TestApproval(t *testing.T) {
	text := allow() + deny()
	for _, tt := range []struct {
		path string
		tier policy.Tier
		want bool
	}{
		{filepath.Join("home", "policies", rulefile.SavedApprovals), policy.TierUser, true},
		{filepath.Join("home", "policies", "mine.toml"), policy.TierUser, false},
		{filepath.Join("project", "policies", rulefile.SavedApprovals), policy.TierWorkspace, false},
	} {
		file, problems := rulefile.Parse(tt.path, []byte(text), rulefile.Options{Tier: tt.tier})
		require.Empty(t, problems)
		require.Equal(t, tt.want, file.Rules[0].Approval, tt.path)
		require.False(t, file.Rules[1].Approval, tt.path)
	}
}

// CF-07: all other bytes are preserved.
func TestAppendKeeps(t *testing.T) {
	block := "[[rule]]\ndecision = \"allow\"\npriority = 950\ntoolName = \"run_shell_command\"\ncommandPrefix = \"ls\"\nmodes = [\"default\", \"autoEdit\", \"yolo\"]\n"
	crlf := strings.ReplaceAll(block, "\n", "\r\n")
	odd := "# mine\n  [[ rule ]] # why\ndecision = \"deny\"\n\tpriority=1\ntoolName = 'glob'\nwhat = 5\n\n\n[rule.x]\na = [\n 1, # one\n]\n[[safety_checker]]\n"
	for name, tt := range map[string]struct{ before, after string }{
		"empty":            {"", block},
		"a mark alone":     {"\ufeff", "\ufeff" + block},
		"a mark":           {"\ufeffx = 1\n", "\ufeffx = 1\n\n" + block},
		"no end of line":   {"x = 1", "x = 1\n\n" + block},
		"a line":           {"x = 1\n", "x = 1\n\n" + block},
		"a blank line":     {"x = 1\n\n", "x = 1\n\n" + block},
		"CRLF":             {"x = 1\r\n", "x = 1\r\n\r\n" + crlf},
		"CRLF, no end":     {"x = 1\r\ny = 2", "x = 1\r\ny = 2\r\n\r\n" + crlf},
		"odd and mistaken": {odd, odd + "\n" + block},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, filepath.Join(t.TempDir(), "a.toml"), tt.before)
			add(t, path, approval("ls"))
			require.Equal(t, tt.after, content(t, path))
			add(t, path, approval("ls"))
			require.Equal(t, tt.after, content(t, path), "twice is once")
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o644), info.Mode().Perm(), "the mode stays")
		})
	}
}

// A rule for the same calls is widened in place, so that approvals do not accumulate
// (gemini-cli 22169, 17953).
func TestAppendMerges(t *testing.T) {
	wider := approval("ls")
	wider.AllowRedirection = true
	wider.Modes = []policy.ApprovalMode{policy.ModePlan, policy.ModeDefault}
	everywhere := approval("ls")
	everywhere.Modes = nil
	const rest = "\n# end\n[[rule]]\ntoolName = \"glob\"\ndecision = \"deny\"\npriority = 1\n"
	head := "# begin\n[[rule]] # mine\ncommandPrefix = \"ls\" # list\npriority = 950\ntoolName = \"run_shell_command\"\n"
	for name, tt := range map[string]struct {
		before string
		rule   policy.Rule
		after  string
	}{
		"modes and redirections": {
			head + "modes = [\n \"yolo\", # so\n] # and\ndecision = \"allow\" # last\n" + rest, wider,
			head + "modes = [\"yolo\", \"plan\", \"default\"] # and\ndecision = \"allow\" # last\nallowRedirection = true\n" + rest,
		},
		"a redirection that was not allowed": {
			head + "allowRedirection = false\nname = \"kept\"\ndecision = \"allow\"\n" + rest, wider,
			head + "allowRedirection = true\nname = \"kept\"\ndecision = \"allow\"\n" + rest,
		},
		"at the end of the file": {
			head + "modes = [\"yolo\"]\ndecision = \"allow\"", wider,
			head + "modes = [\"yolo\", \"plan\", \"default\"]\ndecision = \"allow\"\nallowRedirection = true",
		},
		"nothing to do":       {head + "decision = \"allow\"\n" + rest, approval("ls"), head + "decision = \"allow\"\n" + rest},
		"all modes, from all": {head + "decision = \"allow\"\n" + rest, everywhere, head + "decision = \"allow\"\n" + rest},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, filepath.Join(t.TempDir(), "a.toml"), tt.before)
			add(t, path, tt.rule)
			require.Equal(t, tt.after, content(t, path))
		})
	}
	for name, before := range map[string]string{
		"another decision":  head + "decision = \"deny\"\n",
		"another condition": head + "decision = \"allow\"\nsubagent = \"s\"\n",
		"another priority":  strings.Replace(head, "950", "949", 1) + "decision = \"allow\"\n",
		"another prefix":    strings.Replace(head, `"ls"`, `["ls", "cat"]`, 1) + "decision = \"allow\"\n",
		"an old spelling":   head + "decision = \"allow\"\nallow_redirection = false\n",
		"written inline":    "rule = []\n"[:0] + "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"allow\"\npriority = 950\ncommandPrefix = \"l\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, filepath.Join(t.TempDir(), "a.toml"), before)
			add(t, path, wider)
			require.True(t, strings.HasPrefix(content(t, path), before+"\n[[rule]]\n"))
		})
	}
	t.Run("to all modes", func(t *testing.T) {
		path := write(t, filepath.Join(t.TempDir(), "a.toml"), head+"modes = [\"yolo\"]\ndecision = \"allow\"\n")
		add(t, path, everywhere)
		file, _ := rulefile.Parse(path, []byte(content(t, path)), user)
		require.Len(t, file.Rules, 1)
		require.Empty(t, file.Rules[0].Modes)
	})
}

// A rule that TOML cannot express, or that has no position in the file, is refused and
// nothing is written.
func TestAppendRefuses(t *testing.T) {
	narrow := approval("ls")
	narrow.Effects = []string{"run_process"}
	bad := approval("ls")
	bad.CommandPrefix = []string{"ls \xff"}
	for name, tt := range map[string]struct {
		before string
		rule   policy.Rule
	}{
		"a condition that is not written": {"", narrow},
		"bytes that are no text":          {"", bad},
		"a list of another form":          {"rule = []\n", approval("ls")},
		"a single table":                  {"[rule]\nx = 1\n", approval("ls")},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, filepath.Join(t.TempDir(), "a.toml"), tt.before)
			_, err := rulefile.Append(t.Context(), path, []policy.Rule{approval("pwd"), tt.rule})
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
			require.Equal(t, tt.before, content(t, path))
			onlyFiles(t, filepath.Dir(path), "a.toml")
		})
	}
}

// A file with a syntax error is kept next to the new one; if the copy fails, nothing is
// written.
func TestAppendToBroken(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "a.toml"), "[[rule\n")
	backup, err := rulefile.Append(t.Context(), path, []policy.Rule{approval("ls")})
	require.NoError(t, err)
	require.Equal(t, path+".bak", backup)
	require.Equal(t, "[[rule\n", content(t, backup))
	require.Len(t, parse(t, content(t, path)).Rules, 1)

	write(t, path, "[[other\n")
	backup, err = rulefile.Append(t.Context(), path, []policy.Rule{approval("ls")})
	require.NoError(t, err)
	require.Equal(t, path+".bak.1", backup)
	require.Equal(t, "[[rule\n", content(t, path+".bak"))

	write(t, path, "[[rule\n")
	backup, err = rulefile.Append(t.Context(), path, []policy.Rule{approval("ls")})
	require.NoError(t, err)
	require.Equal(t, path+".bak", backup, "the same copy")
	onlyFiles(t, filepath.Dir(path), "a.toml", "a.toml.bak", "a.toml.bak.1")
}

// A link is followed, even to a missing file.
func TestAppendFollowsLinks(t *testing.T) {
	top := t.TempDir()
	target := filepath.Join(top, "dotfiles", "real.toml")
	link := filepath.Join(top, "home", "a.toml")
	require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o755))
	require.NoError(t, os.Symlink(filepath.Join("..", "dotfiles", "real.toml"), link))
	add(t, link, approval("ls"))
	add(t, link, approval("pwd"))
	require.Len(t, parse(t, content(t, target)).Rules, 2)
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())

	loop := filepath.Join(top, "loop")
	require.NoError(t, os.Symlink(loop, loop))
	_, err = rulefile.Append(t.Context(), loop, []policy.Rule{approval("ls")})
	require.Equal(t, fault.FileWriteFailure, fault.CodeOf(err))
}

func TestAppendCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "a.toml")
	_, err := rulefile.Append(ctx, path, []policy.Rule{approval("ls")})
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.NoFileExists(t, path)
}

// One process: concurrent calls.
func TestAppendAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.toml")
	const callers, each = 4, 5
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for j := range each {
				_, err := rulefile.Append(t.Context(), path, []policy.Rule{approval(fmt.Sprintf("tool-%d-%d", i, j))})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, parse(t, content(t, path)).Rules, callers*each)
	onlyFiles(t, filepath.Dir(path), "a.toml")
}

const appendTo = "FETTLE_TEST_APPEND"

// CF-07: concurrent processes lose no approval.
func TestAppendFromProcesses(t *testing.T) {
	processes, each := 4, 12
	switch {
	case os.Getenv("FETTLE_FULL") != "":
		processes, each = 8, 25
	case testing.Short():
		processes, each = 3, 10
	}
	if target := os.Getenv(appendTo); target != "" {
		for i := range each {
			add(t, target, approval(fmt.Sprintf("tool-%d-%d", os.Getpid(), i)), approval("shared"))
		}
		return
	}
	path := filepath.Join(t.TempDir(), "a.toml")
	write(t, path, "# mine\n")
	self, err := os.Executable()
	require.NoError(t, err)
	var started []*exec.Cmd
	for range processes {
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestAppendFromProcesses$", fmt.Sprintf("-test.short=%t", testing.Short()))
		cmd.Env = append(os.Environ(), appendTo+"="+path)
		require.NoError(t, cmd.Start())
		started = append(started, cmd)
	}
	for _, cmd := range started {
		require.NoError(t, cmd.Wait())
	}
	text := content(t, path)
	require.True(t, strings.HasPrefix(text, "# mine\n\n[[rule]]\n"))
	seen := make(map[string]int)
	for _, rule := range parse(t, text).Rules {
		seen[rule.CommandPrefix[0]]++
	}
	require.Len(t, seen, processes*each+1)
	for prefix, n := range seen {
		require.Equal(t, 1, n, prefix)
	}
	onlyFiles(t, filepath.Dir(path), "a.toml")
}
