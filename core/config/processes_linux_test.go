package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/process"
)

// shell runs a command and returns the result for the model.
func shell(t *testing.T, c *config.Config, command string, background bool) string {
	t.Helper()
	r := call(t, c, "run_shell_command", map[string]any{"command": command, "is_background": background})
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
	return r.Result.LLMContent.String()
}

// pids reads the process IDs that commands have written into a file.
func pids(t *testing.T, dir, name string) []int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	var all []int
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		require.NoError(t, err)
		all = append(all, pid)
	}
	return all
}

// alive reports whether a process runs; one that has ended may not be reaped yet.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// TO-17: the processes that a session has started end with it, whichever of its
// Configs started them and however.
func TestProcessesEndWithTheSession(t *testing.T) {
	dir := t.TempDir()
	c := newConfig(t, config.Parameters{TargetDir: dir, Policy: config.Policy{ApprovalMode: policy.ModeYolo}})
	require.NoError(t, c.Initialize(t.Context()))
	kept, closed := derive(t, c, config.DeriveParameters{}), derive(t, c, config.DeriveParameters{})
	start := func(c *config.Config, file string) {
		shell(t, c, "echo $$ >> "+file+"; sleep 1000", true)
		shell(t, c, "(sleep 1000 & echo $! >> "+file+") >/dev/null 2>&1", false)
		shell(t, c, "setsid sh -c 'echo $$ >> "+file+"; exec sleep 1000' >/dev/null 2>&1 &", false)
		shell(t, c, "until [ $(wc -l < "+file+") = 3 ]; do :; done", false)
	}
	start(c, "root")
	start(kept, "kept")
	start(closed, "closed")
	everywhere := append(pids(t, dir, "root"), pids(t, dir, "kept")...)
	for _, pid := range append(everywhere, pids(t, dir, "closed")...) {
		require.True(t, alive(pid))
	}
	require.NoError(t, closed.Close())
	for _, pid := range pids(t, dir, "closed") {
		require.False(t, alive(pid), "a derived Config ends its own")
	}
	for _, pid := range everywhere {
		require.True(t, alive(pid), "and nothing else")
	}
	require.NoError(t, c.Close())
	for _, pid := range everywhere {
		require.False(t, alive(pid))
	}
}

// A shortened output is saved in the user's directory for the project.
func TestCutOutputIsSaved(t *testing.T) {
	home := t.TempDir()
	s := configtest.New(t, func(p *config.Parameters) { p.Environment.HomeDir, p.Policy.ApprovalMode = home, policy.ModeYolo })
	told := shell(t, s.Config, "seq 1 50000", false)
	saved, err := filepath.Glob(filepath.Join(home, ".fettle", "tmp", "*", "output", "*"))
	require.NoError(t, err)
	require.Len(t, saved, 1)
	require.Contains(t, told, saved[0])
	text, err := os.ReadFile(saved[0])
	require.NoError(t, err)
	require.Equal(t, 50000, strings.Count(string(text), "\n"))
}

// KH-27: the model is notified which of its read files a command has changed, and
// a change of these is refused as stale.
func TestCommandsThatChangeFiles(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) {
		p.Policy.ApprovalMode = policy.ModeYolo
		p.Tools.Core = []string{"read_file", "edit", "run_shell_command"}
	})
	for _, name := range []string{"changed", "removed", "same"} {
		s.Write(name, "a\n")
		read(t, s.Config, name)
	}
	told := shell(t, s.Config, "echo more >> changed; rm removed; cat same", false)
	require.Contains(t, told, "Changed Files: "+filepath.Join(s.Dir, "changed"))
	require.Contains(t, told, "Removed Files: "+filepath.Join(s.Dir, "removed"))
	require.Equal(t, fault.FileChangedSinceRead, edits(t, s.Config, "changed").Result.Error.Code)
	require.Equal(t, scheduler.StatusSuccess, edits(t, s.Config, "same").Status)
	require.NotContains(t, shell(t, s.Config, "true", false), "changed", "it is told once")
}

// Programs can detect that an agent runs them, by the layout's variable.
func TestCommandMarker(t *testing.T) {
	for l, want := range map[string]string{"fettle": "FETTLE=1", "gemini": "GEMINI_CLI=1"} {
		named, ok := layout.Named(l)
		require.True(t, ok)
		s := configtest.New(t, func(p *config.Parameters) {
			p.Policy.ApprovalMode, p.Environment.Layout = policy.ModeYolo, named
			p.Tools.Shell.Environ = func() []string { return []string{"PATH=" + os.Getenv("PATH"), "MINE=here"} }
		})
		told := shell(t, s.Config, "env", false)
		require.Contains(t, told, want)
		require.Contains(t, told, "MINE=here")
		require.NotContains(t, told, "HOME=")
	}
}

// The limits of the parameters apply.
func TestCommandLimits(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) {
		p.Policy.ApprovalMode = policy.ModeYolo
		p.Tools.Shell.Idle = 1 // of a nanosecond: every command is idle for longer
	})
	args, err := json.Marshal(map[string]string{"command": "sleep 1000"})
	require.NoError(t, err)
	r := call(t, s.Config, "run_shell_command", json.RawMessage(args))
	require.Equal(t, scheduler.StatusError, r.Status)
	require.Equal(t, "idle_limit", string(r.Result.Error.Reason))
}

// A confined command writes only in the workspace and in its temporary directory;
// the decision reports the confinement, and a rule may require it.
func TestConfinedCommands(t *testing.T) {
	confinement := process.Confinement{Kind: process.Landlock}
	if err := confinement.Check(t.Context()); err != nil {
		t.Skip("this kernel cannot confine commands: ", err)
	}
	yes := true
	outside := filepath.Join(t.TempDir(), "f")
	s := configtest.New(t, func(p *config.Parameters) {
		p.Tools.Shell.Confinement = confinement
		p.IncludeDirs = []string{t.TempDir()}
		p.Policy.Rules = []policy.Rule{{Tools: []string{"run_shell_command"}, Decision: policy.Allow, AllowRedirection: true,
			Priority: 100, Tier: policy.TierUser}}
	})
	r := s.Call("run_shell_command", map[string]any{"command": "echo a > in; echo b > $TMPDIR/f; cat in $TMPDIR/f; echo c > " + outside})
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
	require.Empty(t, s.Confirmations())
	require.Equal(t, "landlock", r.Decision.Confined)
	require.Contains(t, r.Result.LLMContent.String(), "a\nb\n")
	require.Contains(t, r.Result.LLMContent.String(), "Permission denied")
	require.Contains(t, r.Result.LLMContent.String(), "Note: Commands are confined by landlock")
	require.NoFileExists(t, outside)

	free := configtest.New(t, func(p *config.Parameters) {
		p.Policy.Rules = []policy.Rule{{Tools: []string{"run_shell_command"}, Decision: policy.Allow, Confined: &yes, Priority: 100, Tier: policy.TierUser}}
	})
	require.Equal(t, scheduler.StatusSuccess, free.Call("run_shell_command", map[string]any{"command": "touch f"}).Status)
	require.Len(t, free.Confirmations(), 1, "the rule is about confined commands")

	// A confined command can still write protected paths.
	open := configtest.New(t, func(p *config.Parameters) {
		p.Tools.Shell.Confinement = confinement
		p.Policy.Rules = []policy.Rule{{Tools: []string{"run_shell_command"}, Decision: policy.Allow, Confined: &yes, Priority: 100, Tier: policy.TierUser}}
	})
	require.Equal(t, scheduler.StatusSuccess, open.Call("run_shell_command", map[string]any{"command": "touch f"}).Status)
	require.Len(t, open.Confirmations(), 1)
	require.Contains(t, open.Confirmations()[0].Decision.Reason, "could still write protected paths")
}

// An unsupported confinement is an error, and no command runs.
func TestConfinementThatIsNotThere(t *testing.T) {
	for _, o := range []process.Confinement{
		{Kind: "jail"}, {Kind: process.Container, Program: "no-such-program", Image: "x"}, {Kind: process.Container, Program: "true"},
		{Kind: process.Landlock, Writable: []string{"/nonexistent/folder"}},
	} {
		c := newConfig(t, config.Parameters{Tools: config.Tools{Shell: config.Commands{Confinement: o}}})
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(c.Initialize(t.Context())), "%+v", o)
	}
}
