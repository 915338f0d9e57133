package shell_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/shell"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

type args = map[string]any

// session is a session with the tools of this package and their process service.
type session struct {
	*configtest.Session
	processes *process.Service
	settle    time.Duration
	terminal  bool
}

// newSession returns a session in which no call requires approval.
func newSession(t testing.TB, o process.Options, change ...func(*config.Parameters)) session {
	t.Helper()
	return session{processes: process.New(o)}.open(t, change...)
}

func (s session) open(t testing.TB, change ...func(*config.Parameters)) session {
	t.Helper()
	s.Session = configtest.New(t, append([]func(*config.Parameters){func(p *config.Parameters) {
		p.Tools.Core = []string{"read_file", "write_file", "safe_patch"}
		p.Policy.ApprovalMode = policy.ModeYolo
		p.Tools.Bind = func(v config.Services) ([]tools.DeclarativeTool, error) {
			factories, err := shell.Factories()
			require.NoError(t, err)
			var bound []tools.DeclarativeTool
			for _, f := range factories {
				bound = append(bound, f.Bind(shell.Services{
					Paths: v.Workspace, Directories: v.Workspace, Runner: s.processes, Reader: s.processes, Control: s.processes, Seen: v.FileState, Settle: s.settle, Terminal: s.terminal,
				}))
			}
			return bound, nil
		}
	}}, change...)...)
	t.Cleanup(func() { require.NoError(t, s.processes.Close()) })
	return s
}

func asking(p *config.Parameters) { p.Policy.ApprovalMode = policy.ModeDefault }

func (s session) tool(name string) tools.DeclarativeTool {
	s.T.Helper()
	r, err := s.ToolRegistry()
	require.NoError(s.T, err)
	tool, err := r.Lookup(name)
	require.NoError(s.T, err)
	return tool
}

// text requires success and returns the content for the model; see plain.
func text(t testing.TB, r scheduler.Response) string {
	t.Helper()
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	return plain(t, r)
}

// plain returns the content for the model. It requires the marks around the output and removes them.
func plain(t testing.TB, r scheduler.Response) string {
	t.Helper()
	const begin, end = "Output:\n<untrusted_context>\n", "\n</untrusted_context>"
	facts, output, marked := strings.Cut(r.Result.LLMContent.String(), begin)
	if !marked {
		require.NotContains(t, strings.TrimSuffix(facts, "Output: (empty)"), "Output:")
		return facts
	}
	require.True(t, strings.HasSuffix(output, end), "%s", output)
	return facts + "Output: " + strings.TrimSuffix(output, end)
}

func (s session) sh(command string) string {
	s.T.Helper()
	return text(s.T, s.Call(shell.RunShellCommand, args{"command": command}))
}

// Every tool fulfils the contract of tools (TE-10, TO-15).
func TestToolsKeepTheContract(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ examples, failing, bad []args }{
		shell.RunShellCommand: {
			[]args{
				{"command": "echo hello"}, {"command": "exit 3", "description": "Fails.", "dir_path": "dir"}, {"command": "pwd", "directory": "dir"},
				{"command": "sleep 1000", "is_background": true}, {"command": `printf '\377\033[1m'`, "dir_path": ""},
			},
			[]args{{"command": "true", "dir_path": "absent"}, {"command": "true", "dir_path": "a.txt"}, {"command": "sleep 1000"}},
			[]args{{}, {"command": ""}, {"command": " \n"}, {"command": "a\x00b"}, {"command": "true", "dir_path": ".."}, {"command": "true", "dir_path": "/"}},
		},
		shell.ListBackground: {[]args{{}}, nil, []args{{"pid": 1}}},
		shell.ReadBackground: {
			[]args{{"id": "p1"}, {"id": "p2", "wait_ms": 10_000, "until_end": true}, {"id": "p1", "delay_ms": 10}},
			[]args{{"id": "p9"}, {"pid": 1}, {"id": "x"}},
			[]args{{}, {"id": ""}, {"id": "p1", "wait_ms": -1}, {"id": "p1", "wait_ms": 300_001}},
		},
		shell.WriteBackground: {
			[]args{{"id": "p1", "input": "x\n"}, {"id": "p1", "input": "", "close_input": true}},
			[]args{{"id": "p9", "input": ""}},
			[]args{{}, {"id": "p1"}, {"id": " ", "input": "x"}},
		},
		shell.StopBackground: {
			[]args{{"id": "p1"}, {"id": "p2"}},
			[]args{{"id": "p9"}, {"id": 1}},
			[]args{{}, {"id": ""}, {"id": "p1", "signal": "TERM"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := func(list []args) (raw []json.RawMessage) {
				for _, a := range list {
					data, err := json.Marshal(a)
					require.NoError(t, err)
					raw = append(raw, data)
				}
				return raw
			}
			tooltest.Run(t, nil, tooltest.Cases{
				Examples: all(c.examples), Failing: all(c.failing), Bad: all(c.bad),
				Fresh: func(t testing.TB) tools.DeclarativeTool {
					s := newSession(t, process.Options{Idle: 5 * time.Second})
					s.Write("a.txt", "a\n")
					require.NoError(t, os.Mkdir(s.Path("dir"), 0o755))
					if name == shell.RunShellCommand {
						return s.tool(name)
					}
					for _, line := range []string{"exec cat", "echo done"} {
						_, err := s.processes.Start(t.Context(), process.Command{Line: line, Dir: s.Dir})
						require.NoError(t, err)
					}
					return s.tool(name)
				},
			})
		})
	}
}

// TO-15: the package offers exactly the tools of its factories. Their schemas compile, and their kinds are those known
// to policy.
func TestFactories(t *testing.T) {
	factories, err := shell.Factories()
	require.NoError(t, err)
	var names []string
	for _, f := range factories {
		spec := f.Spec()
		names = append(names, spec.Name)
		require.NoError(t, f.Compile())
		known, ok := policy.WellKnown(spec.Name)
		require.True(t, ok)
		require.Equal(t, known.Kind, string(spec.Kind))
		require.Equal(t, known.Aliases, spec.Aliases)
		var effects []string
		for _, e := range spec.Effects {
			effects = append(effects, string(e))
		}
		require.ElementsMatch(t, known.Effects, effects)
		require.Equal(t, known.Mutates, spec.Mutates())
	}
	require.Equal(t, []string{shell.RunShellCommand, shell.ListBackground, shell.ReadBackground, shell.WriteBackground, shell.StopBackground}, names)
}
