package scheduler_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// commands returns a setup with a shell tool that runs nothing.
func commands(t *testing.T, outcome bus.Outcome) *setup {
	t.Helper()
	s := newSetup(tools.KindExecute, "", outcome)
	e, err := policy.NewEngine(policy.Options{})
	require.NoError(t, err)
	s.options.Policy = shellPolicy{scheduler.InMemory(e)}
	return s
}

// shellPolicy decides calls of the fake as calls of the shell tool, with the original arguments.
type shellPolicy struct{ scheduler.Policy }

func (shellPolicy) as(c policy.Call) policy.Call {
	var built struct {
		Final json.RawMessage `json:"final"`
	}
	if json.Unmarshal(c.Params, &built) == nil && built.Final != nil {
		c.Params = built.Final
	}
	c.Tool, c.Aliases, c.GovernedBy = "run_shell_command", nil, nil
	return c
}

func (p shellPolicy) Decide(c policy.Call) policy.Decision { return p.Policy.Decide(p.as(c)) }

func (p shellPolicy) Prepare(c *policy.Call) {
	as := p.as(*c)
	p.Policy.Prepare(&as)
	c.Line = as.Line
}

func (p shellPolicy) CanRemember(c policy.Call, s policy.Scope) []policy.Rule {
	return p.Policy.CanRemember(p.as(c), s)
}

func ran(t *testing.T, s *setup, line string) scheduler.Response {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": line})
	require.NoError(t, err)
	return s.calls(t.Context(), scheduler.Request{CallID: "c1", Tool: "fake", Args: args})[0]
}

// TO-10: if a line cannot be parsed, its first word is shown as the root command, and no outcome lasts.
func TestUnparsableCommand(t *testing.T) {
	for line, root := range map[string]string{
		`git commit -m "oops`:       "git",
		"  rm\t-r (":                "rm",
		"make && $(":                "make",
		"for x in a; do ls":         "for",
		"ls \x00":                   "ls",
		"caf\u00e9 <<E && (":        "caf\u00e9",
		`"quoted name" 'and broken`: `"quoted`,
	} {
		s := commands(t, bus.ProceedOnce)
		ran(t, s, line)
		require.Len(t, s.questions, 1, line)
		q := s.questions[0]
		require.Equal(t, root, q.Details.RootCommand)
		require.Equal(t, []string{root}, q.Details.RootCommands)
		require.Equal(t, []bus.Outcome{bus.ProceedOnce, bus.Cancel}, q.Outcomes, line)
		require.Empty(t, q.Remembers)
	}
	// A line that can be parsed shows its programs, and an outcome may last.
	s := commands(t, bus.ProceedOnce)
	ran(t, s, "a && b | c; a")
	require.Equal(t, []string{"a", "b", "c"}, s.questions[0].Details.RootCommands)
	require.Equal(t, "a, b, c", s.questions[0].Details.RootCommand)
	require.Contains(t, s.questions[0].Outcomes, bus.ProceedAlways)
}

// The request for approval, the response and a denial name the confinement of a command.
func TestConfinedOnTheWire(t *testing.T) {
	s := commands(t, bus.ProceedOnce)
	s.options.Subject = func(c *policy.Call) { c.Confined = "landlock" }
	r := ran(t, s, "make")
	require.Equal(t, "landlock", s.questions[0].Decision.Confined)
	require.Equal(t, "landlock", r.Decision.Confined)
	require.Equal(t, []string{"exactly the command make, run confined"}, s.questions[0].Remembers[0].Rules)

	s = commands(t, bus.ProceedOnce)
	require.Empty(t, ran(t, s, "make").Decision.Confined)
	require.Empty(t, s.questions[0].Decision.Confined)
}

// confinable is an invocation that records how it runs.
type confinable struct {
	tools.ToolInvocation
	how *string
}

func (c confinable) Confine(how string) tools.ToolInvocation {
	*c.how = how
	return c.ToolInvocation
}

// confinableTool builds such invocations.
type confinableTool struct {
	tools.DeclarativeTool
	how *string
}

func (t confinableTool) Build(args json.RawMessage) (tools.ToolInvocation, error) {
	inv, err := t.DeclarativeTool.Build(args)
	return confinable{inv, t.how}, err
}

// lookup finds one tool.
type lookup struct{ tool tools.DeclarativeTool }

func (l lookup) Lookup(string) (tools.DeclarativeTool, error) { return l.tool, nil }

// SB-05: a command runs as decided: confined in auto mode, and unconfined once an approver said yes.
func TestConfine(t *testing.T) {
	for _, tt := range []struct {
		mode       policy.ApprovalMode
		confinable string
		want       string
	}{
		{policy.ModeAuto, policy.Namespaces, "confined"},
		{policy.ModeDefault, policy.Namespaces, "unconfined"},
		{policy.ModeDefault, "", ""},
	} {
		s := commands(t, bus.ProceedOnce)
		tool, err := s.options.Tools.Lookup("fake")
		require.NoError(t, err)
		how := ""
		s.options.Tools = lookup{confinableTool{tool, &how}}
		s.options.Mode = func() policy.ApprovalMode { return tt.mode }
		s.options.Subject = func(c *policy.Call) { c.Confinable, c.Sealed = tt.confinable, tt.confinable != "" }
		r := ran(t, s, "make")
		require.Equal(t, scheduler.StatusSuccess, r.Status)
		require.Equal(t, tt.want, how)
		require.Equal(t, tt.want == "confined", r.Decision.Confined == policy.Namespaces)
		if tt.want != "confined" {
			require.Equal(t, confirmation.Run(tt.want), s.questions[0].Decision.Run)
		}
	}
}
