package plan_test

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/plan"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

type args = map[string]any

// modes is the approval mode of a session.
type modes struct {
	config *config.Config
	fail   error // of the next change

	mu     sync.Mutex
	before string
}

func (m *modes) Mode() string { return string(m.config.ApprovalMode()) }

func (m *modes) EnterPlan(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	m.before = m.Mode()
	return m.config.SetApprovalMode(policy.ModePlan)
}

func (m *modes) LeavePlan(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return "", m.fail
	}
	after := plan.ModeAfter(m.before)
	m.before = ""
	return after, m.config.SetApprovalMode(policy.ApprovalMode(after))
}

// session is a session with the tools of this package.
type session struct {
	*configtest.Session
	modes *modes
	todos *plan.Todos
}

func newSession(t testing.TB, change ...func(*config.Parameters)) session {
	t.Helper()
	s := session{modes: &modes{}, todos: &plan.Todos{}}
	s.Session = configtest.New(t, append([]func(*config.Parameters){func(p *config.Parameters) {
		p.Tools.Core = []string{"read_file", "write_file", "safe_patch"}
		p.Tools.Bind = func(v config.Services) ([]tools.DeclarativeTool, error) {
			return bind(t, plan.Services{
				Todos: s.todos, Mode: s.modes, Files: v.Workspace, Dir: p.TargetDir + "/.fettle/plans",
			}), nil
		}
	}}, change...)...)
	s.modes.config = s.Config
	return s
}

func bind(t testing.TB, services plan.Services) (bound []tools.DeclarativeTool) {
	t.Helper()
	factories, err := plan.Factories()
	require.NoError(t, err)
	for _, f := range factories {
		bound = append(bound, f.Bind(services))
	}
	return bound
}

func in(mode policy.ApprovalMode) func(*config.Parameters) {
	return func(p *config.Parameters) { p.Policy.ApprovalMode = mode }
}

func (s session) tool(name string) tools.DeclarativeTool {
	s.T.Helper()
	r, err := s.ToolRegistry()
	require.NoError(s.T, err)
	tool, err := r.Lookup(name)
	require.NoError(s.T, err)
	return tool
}

// refuses denies every question.
func refuses(bus.ToolConfirmationRequest) bus.Outcome { return bus.Cancel }

func succeed(t testing.TB, r scheduler.Response) string {
	t.Helper()
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	return r.Result.LLMContent.String()
}

func all(t testing.TB, list []args) (raw []json.RawMessage) {
	t.Helper()
	for _, a := range list {
		data, err := json.Marshal(a)
		require.NoError(t, err)
		raw = append(raw, data)
	}
	return raw
}

// Every tool keeps the whole contract of a tool (TE-10, TO-15).
func TestToolsKeepTheContract(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode                   policy.ApprovalMode
		examples, failing, bad []args
	}{
		plan.WriteTodos: {
			policy.ModeDefault,
			[]args{{"todos": []args{}}, {"todos": []args{todo("a", "pending"), todo("b", "in_progress"), todo("c", "completed"), todo("a", "cancelled")}}},
			nil,
			[]args{{}, {"todos": nil}, {"todos": []args{todo("a", "blocked")}}, {"todos": []args{todo(" ", "pending")}}},
		},
		plan.EnterPlanMode: {
			policy.ModeAutoEdit,
			[]args{{}, {"reason": "It is large."}},
			nil,
			[]args{{"why": "x"}, {"reason": []string{"x", "y"}}},
		},
		plan.ExitPlanMode: {
			policy.ModePlan,
			[]args{{"plan_filename": "a.md"}, {"plan_filename": ".fettle/plans/a.md"}, {"plan_path": "a.md"}},
			[]args{{"plan_filename": "absent.md"}, {"plan_filename": "blank.md"}, {"plan_filename": "sub"}},
			[]args{{}, {"plan_filename": ""}, {"plan_filename": "../../secret.md"}, {"plan_filename": "/etc/passwd"}, {"plan_filename": "a\x00.md"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tooltest.Run(t, nil, tooltest.Cases{
				Examples: all(t, c.examples), Failing: all(t, c.failing), Bad: all(t, c.bad),
				Fresh: func(t testing.TB) tools.DeclarativeTool {
					s := newSession(t, in(c.mode))
					s.Write(".fettle/plans/a.md", "# Plan\n")
					s.Write(".fettle/plans/blank.md", " \n\t")
					s.Write("secret.md", "secret")
					require.NoError(t, os.Mkdir(s.Path(".fettle/plans/sub"), 0o755))
					return s.tool(name)
				},
			})
		})
	}
}

// TO-15: the factories match the tools that policy knows.
func TestFactories(t *testing.T) {
	factories, err := plan.Factories()
	require.NoError(t, err)
	var names []string
	for _, f := range factories {
		spec := f.Spec()
		names = append(names, spec.Name)
		require.NoError(t, f.Compile())
		known, ok := policy.WellKnown(spec.Name)
		require.True(t, ok)
		require.Equal(t, known.Kind, string(spec.Kind))
		require.Equal(t, known.Mutates, spec.Mutates())
		require.Empty(t, spec.Effects)
	}
	require.Equal(t, []string{plan.WriteTodos, plan.EnterPlanMode, plan.ExitPlanMode}, names)
}
