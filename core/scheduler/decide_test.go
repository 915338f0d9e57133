package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// Policy receives the facts of the session, and whether an approver is available: that is so if there is a subscriber,
// with or without a terminal (23829).
func TestSubject(t *testing.T) {
	s := newSetup(tools.KindRead, policy.Allow, "")
	s.options.Subject = func(c *policy.Call) {
		require.Equal(t, "fake", c.Tool)
		c.Subagent, c.Untrusted, c.Dir, c.Roots = "helper", true, "/w", []string{"/w"}
	}
	s.call(t.Context())
	s.answer = nil
	s.call(t.Context())
	require.Equal(t, "helper", s.decided[0].Subagent)
	require.True(t, s.decided[0].Untrusted)
	require.Equal(t, []string{"/w"}, s.decided[0].Roots)
	require.False(t, s.decided[0].Headless)
	require.True(t, s.decided[1].Headless)
}

// A server's tool is matched by server and own name, whatever its name in the session. Its annotations are passed to
// policy and to the approver.
func TestServerIdentity(t *testing.T) {
	hints := map[string]any{"readOnlyHint": true}
	for _, tt := range []struct{ server, own, name, want string }{
		{"my_server", "", "mcp_my_server_do_it", "do_it"},
		{"my_server", "do_it", "mcp_my_server_do_it", "do_it"},
		{"my server", "do it", "mcp_my_server_do_it_0badcafe", "do it"},
		{"my server", "", "plain", "plain"},
		{"s", strings.Repeat("x", 70), tools.QualifiedName("s", strings.Repeat("x", 70)), strings.Repeat("x", 70)},
	} {
		s := newSetup(tools.KindOther, policy.AskUser, bus.ProceedOnce)
		s.spec = func(spec *tools.Spec) {
			spec.Name, spec.Aliases = tt.name, []string{"phony"}
			spec.Origin = tools.Origin{Group: tools.GroupMCP, Server: tt.server, Tool: tt.own}
			spec.Annotations = hints
		}
		require.Equal(t, scheduler.StatusSuccess, s.call(t.Context()).Status)
		got := s.decided[0]
		require.Equal(t, tt.server, got.Server)
		require.Equal(t, tt.want, got.ServerTool)
		require.Equal(t, tt.name, got.Tool)
		require.Equal(t, hints, got.Annotations)
		require.Equal(t, hints, s.questions[0].ToolAnnotations)
		require.Equal(t, tt.server, s.questions[0].ServerName)
	}
}

// Policy receives the real paths that it requests. If one cannot be resolved, a change requires approval; a read is
// left to the tool.
func TestRealPaths(t *testing.T) {
	s := newSetup(tools.KindEdit, policy.Allow, bus.ProceedOnce)
	s.policy.paths = []string{"/w/link", "/w/plain"}
	s.options.RealPath = func(_ context.Context, path string) (string, error) {
		if path == "/w/link" {
			return "/real", nil
		}
		return path, nil
	}
	s.call(t.Context())
	require.Equal(t, map[string]string{"/w/link": "/real", "/w/plain": "/w/plain"}, s.decided[0].RealPaths)
	require.Empty(t, s.questions)

	s.options.RealPath = func(context.Context, string) (string, error) { return "", errors.New("too many links") }
	r := s.call(t.Context())
	require.Empty(t, s.decided[1].RealPaths)
	require.Len(t, s.questions, 1)
	require.Equal(t, "The target of /w/plain is unknown.", r.Decision.Reason)

	s.kind = tools.KindRead
	s.call(t.Context())
	require.Len(t, s.questions, 1)
}

// Safety checkers run in order on the final call, and can only make the decision stricter.
func TestCheckers(t *testing.T) {
	const allow, ask, deny = policy.Allow, policy.AskUser, policy.Deny
	tests := map[string]struct {
		verdict  policy.Verdict
		verdicts []policy.Verdict
		steps    string
		code     fault.Code
		rule     string
	}{
		"allow":                 {allow, []policy.Verdict{allow, allow}, "build decide c0 c1 execute", "", "rule"},
		"ask":                   {allow, []policy.Verdict{ask, allow}, "build decide c0 c1 confirm ask execute", "", "safety checker c0"},
		"ask, already required": {ask, []policy.Verdict{ask}, "build decide c0 confirm ask execute", "", "rule"},
		"allow, asked":          {ask, []policy.Verdict{allow}, "build decide c0 confirm ask execute", "", "rule"},
		"deny":                  {allow, []policy.Verdict{ask, deny, allow}, "build decide c0 c1", fault.PolicyViolation, "safety checker c1"},
		"no verdict":            {allow, []policy.Verdict{"fine"}, "build decide c0", fault.PolicyViolation, "safety checker c0"},
		"denied already":        {deny, []policy.Verdict{allow}, "build decide", fault.PolicyViolation, "rule"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSetup(tools.KindEdit, tt.verdict, bus.ProceedOnce)
			s.policy.canRemember = func(policy.Scope) bool { return true }
			decide := s.policy.decide
			s.policy.decide = func(c policy.Call) policy.Decision {
				d := decide(c)
				d.Rule = "rule"
				for i := range tt.verdicts {
					d.Checkers = append(d.Checkers, policy.Checker{Name: string("c" + string(rune('0'+i)))})
				}
				return d
			}
			s.options.Check = func(_ context.Context, ch policy.Checker, c policy.Call) (policy.Verdict, string, error) {
				s.steps = append(s.steps, ch.Name)
				require.Equal(t, `{"final":1}`, string(c.Params))
				return tt.verdicts[ch.Name[1]-'0'], "Checked.", nil
			}
			r := s.call(t.Context())
			require.Equal(t, tt.steps, strings.Join(s.steps, " "))
			require.Equal(t, tt.code, fault.CodeOf(asError(r)))
			require.Equal(t, tt.rule, r.Decision.Rule)
			if strings.HasPrefix(tt.rule, "safety") {
				require.Equal(t, "Checked.", r.Decision.Reason)
			}
			if len(s.questions) == 1 && tt.verdicts[0] == ask { // it would ask again
				require.Equal(t, []bus.Outcome{bus.ProceedOnce, bus.Cancel}, s.questions[0].Outcomes)
			}
		})
	}
}

// Policy decides about each file of a call with several. The strictest decision applies, and each checker receives its
// file.
func TestDecidesPerFile(t *testing.T) {
	for want, verdicts := range map[string]map[string]policy.Verdict{
		"build decide decide decide check /a check /b check /c execute":             {},
		"build decide decide decide check /a check /b check /c confirm ask execute": {"/b": policy.AskUser},
		"build decide decide decide":                                                {"/a": policy.AskUser, "/b": policy.Deny},
	} {
		s := newSetup(tools.KindEdit, policy.Allow, bus.ProceedOnce)
		s.files = []string{"/a", "/b", "/c"}
		s.policy.canRemember = func(policy.Scope) bool { return true }
		fileOf := func(c policy.Call) string {
			var args struct {
				Final int    `json:"final"`
				Path  string `json:"file_path"`
			}
			require.NoError(t, json.Unmarshal(c.Params, &args))
			require.Equal(t, 1, args.Final)
			return args.Path
		}
		decide := s.policy.decide
		s.policy.decide = func(c policy.Call) policy.Decision {
			d := decide(c)
			d.Rule = fileOf(c)
			if v, ok := verdicts[fileOf(c)]; ok {
				d.Decision = v
			}
			d.Checkers = []policy.Checker{{Name: "check"}}
			return d
		}
		s.options.Check = func(_ context.Context, ch policy.Checker, c policy.Call) (policy.Verdict, string, error) {
			s.steps = append(s.steps, ch.Name, fileOf(c))
			return policy.Allow, "", nil
		}
		r := s.call(t.Context())
		require.Equal(t, want, strings.Join(s.steps, " "))
		require.Equal(t, `{"final":1}`, string(r.Params))
		if len(verdicts) > 0 {
			require.Equal(t, "/b", r.Decision.Rule)
		}
		for _, q := range s.questions { // an approval of one file would not avoid the next question
			require.Equal(t, []bus.Outcome{bus.ProceedOnce, bus.Cancel}, q.Outcomes)
		}
	}
}

// A checker that fails denies the call.
func TestCheckersFail(t *testing.T) {
	type check = func(context.Context, policy.Checker, policy.Call) (policy.Verdict, string, error)
	for want, f := range map[string]check{
		"this session cannot run it": nil,
		"failed: it hangs.": func(context.Context, policy.Checker, policy.Call) (policy.Verdict, string, error) {
			return policy.Allow, "", errors.New("it hangs")
		},
		"failed: boom.": func(context.Context, policy.Checker, policy.Call) (policy.Verdict, string, error) { panic("boom") },
	} {
		s := newSetup(tools.KindRead, policy.Allow, "")
		s.policy.decide = func(policy.Call) policy.Decision {
			return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Allow}, Checkers: []policy.Checker{{Name: "c"}}}
		}
		s.options.Check = f
		r := s.call(t.Context())
		require.Equal(t, fault.PolicyViolation, r.Result.Error.Code)
		require.Contains(t, r.Decision.Reason, want)
		require.NotContains(t, s.steps, "execute")
	}
}

// Explain decides as Run would, and runs nothing (19799).
func TestExplain(t *testing.T) {
	s := newSetup(tools.KindEdit, policy.AskUser, bus.ProceedOnce)
	s.options.Before = []scheduler.Before{func(context.Context, scheduler.Proposal) (scheduler.Advice, error) { panic("it ran") }}
	s.options.Check = func(context.Context, policy.Checker, policy.Call) (policy.Verdict, string, error) { panic("it ran") }
	s.options.Subject = func(c *policy.Call) { c.Subagent = "me" }
	s.policy.paths = []string{"/w/link"}
	s.options.RealPath = func(context.Context, string) (string, error) { return "/real", nil }
	run := scheduler.New(s.options)
	request := scheduler.Request{CallID: "c1", Tool: "phony", Args: json.RawMessage(`{}`)}
	d, err := run.Explain(t.Context(), request, scheduler.Situation{})
	require.NoError(t, err)
	require.Equal(t, policy.AskUser, d.Decision)
	require.Equal(t, "Because.", d.Reason)
	require.Equal(t, "build decide", strings.Join(s.steps, " "))
	got := s.decided[0]
	require.Equal(t, `{"final":{}}`, string(got.Params))
	require.Equal(t, map[string]string{"/w/link": "/real"}, got.RealPaths)
	require.Equal(t, policy.ModeDefault, got.Mode)
	require.Equal(t, "me", got.Subagent)
	require.True(t, got.Headless)

	mode, headless, subagent := policy.ModeYolo, false, ""
	_, err = run.Explain(t.Context(), request, scheduler.Situation{Mode: &mode, Headless: &headless, Subagent: &subagent})
	require.NoError(t, err)
	require.Equal(t, mode, s.decided[1].Mode)
	require.False(t, s.decided[1].Headless)
	require.Empty(t, s.decided[1].Subagent)

	// Arguments that the tool refuses are decided as they are.
	s.build = func(json.RawMessage) error { return fault.New(fault.InvalidToolParams, "x", "Bad.", "") }
	_, err = run.Explain(t.Context(), scheduler.Request{Tool: "fake", Args: json.RawMessage(`{"a": 1}`)}, scheduler.Situation{})
	require.NoError(t, err)
	require.Equal(t, `{"a": 1}`, string(s.decided[2].Params))
}

func TestExplainErrors(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		ctx     context.Context
		request scheduler.Request
		code    fault.Code
	}{
		"no object":        {t.Context(), scheduler.Request{Tool: "fake", Args: json.RawMessage(`[1]`)}, fault.InvalidToolParams},
		"no JSON":          {t.Context(), scheduler.Request{Tool: "fake", Args: json.RawMessage(`{`)}, fault.InvalidToolParams},
		"a key twice":      {t.Context(), scheduler.Request{Tool: "fake", Args: json.RawMessage(`{"a":{"b":1,"b":2}}`)}, fault.InvalidToolParams},
		"keys alike":       {t.Context(), scheduler.Request{Tool: "fake", Args: json.RawMessage(`{"a":1,"A":2}`)}, fault.InvalidToolParams},
		"ctx has ended":    {cancelled, scheduler.Request{Tool: "fake"}, fault.Cancelled},
		"policy is broken": {t.Context(), scheduler.Request{Tool: "phony"}, fault.Unknown},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSetup(tools.KindEdit, policy.AskUser, "")
			if tt.code == fault.Unknown {
				s.policy.decide = func(policy.Call) policy.Decision { panic("boom") }
			}
			_, err := scheduler.New(s.options).Explain(tt.ctx, tt.request, scheduler.Situation{})
			require.Equal(t, tt.code, fault.CodeOf(err))
		})
	}
}

// A well-known tool is explained under any of its names even if it is not registered.
func TestExplainWellKnown(t *testing.T) {
	s := scheduler.New(scheduler.Options{Tools: toolset{}})
	for tool, want := range map[string]policy.Verdict{"run_shell_command": policy.AskUser, "ShellTool": policy.AskUser, "glob": policy.Allow} {
		d, err := s.Explain(t.Context(), scheduler.Request{Tool: tool, Args: json.RawMessage(`{"command":"make install","pattern":"x"}`)}, scheduler.Situation{})
		require.NoError(t, err)
		require.Equal(t, want, d.Decision, tool)
	}
}
