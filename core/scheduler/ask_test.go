package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/shell"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// modifiable is a fake whose content the user can replace.
type modifiable struct {
	*fake
	modify func(ctx context.Context, content string) (tools.ToolInvocation, error)
}

func (m *modifiable) Build(args json.RawMessage) (tools.ToolInvocation, error) {
	if _, err := m.fake.Build(args); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *modifiable) Modify(ctx context.Context, content string) (tools.ToolInvocation, error) {
	m.steps = append(m.steps, "modify")
	if m.modify != nil {
		return m.modify(ctx, content)
	}
	m.params = json.RawMessage(`{"content":"` + content + `"}`)
	return m, nil
}

func (m *modifiable) Lookup(string) (tools.DeclarativeTool, error) { return m, nil }

// newModifiable returns a setup with an edit that shows its content.
func newModifiable(verdict policy.Verdict) (*setup, *modifiable) {
	s := newSetup(tools.KindEdit, verdict, bus.ProceedOnce)
	m := &modifiable{fake: s.fake}
	s.options.Tools = m
	s.confirm = func(context.Context) (*tools.Confirmation, error) {
		return &tools.Confirmation{Type: tools.ConfirmEdit, Title: "Edit", EditDetails: &tools.EditDetails{NewContent: string(m.params)}}, nil
	}
	return s, m
}

func edits(content string) bus.ToolConfirmationResponse {
	return bus.ToolConfirmationResponse{Outcome: bus.ModifyWithEditor, Confirmed: true, Payload: bus.Payload{NewContent: &content}}
}

// lasts returns the outcomes that apply to more than their call, with their scopes.
func lasts() map[bus.Outcome]policy.Scope {
	return map[bus.Outcome]policy.Scope{
		bus.ProceedAlways: policy.ScopeSession, bus.ProceedAlwaysAndSave: policy.ScopeSaved,
		bus.ProceedAlwaysTool: policy.ScopeTool, bus.ProceedAlwaysServer: policy.ScopeServer,
	}
}

// AR-20: the outcomes offered to the user, in order.
func TestOutcomesOffered(t *testing.T) {
	all := func(policy.Scope) bool { return true }
	asks := scheduler.Before(func(context.Context, scheduler.Proposal) (scheduler.Advice, error) {
		return scheduler.Advice{Verdict: policy.AskUser, Reason: "Careful."}, nil
	})
	tests := map[string]struct {
		kind   tools.Kind
		change func(*setup)
		want   string
	}{
		"nothing can be remembered": {tools.KindExecute, func(s *setup) { s.policy.canRemember = nil }, "proceed_once cancel"},
		"a file tool":               {tools.KindEdit, nil, "proceed_once proceed_always proceed_always_and_save cancel"},
		"a search":                  {tools.KindSearch, nil, "proceed_once proceed_always proceed_always_and_save cancel"},
		"another tool":              {tools.KindFetch, nil, "proceed_once proceed_always proceed_always_and_save proceed_always_tool cancel"},
		"a command line": {tools.KindExecute, func(s *setup) {
			s.policy.prepare = func(c *policy.Call) { c.Line = &shell.Line{} }
		}, "proceed_once proceed_always proceed_always_and_save cancel"},
		"a server's tool": {tools.KindEdit, func(s *setup) { s.options.Subject = func(c *policy.Call) { c.Server = "srv" } },
			"proceed_once proceed_always proceed_always_and_save proceed_always_tool proceed_always_server cancel"},
		"not to be saved": {tools.KindFetch, func(s *setup) {
			s.policy.canRemember = func(scope policy.Scope) bool { return scope != policy.ScopeSaved }
		}, "proceed_once proceed_always proceed_always_tool cancel"},
		"from a step before, which would ask again": {tools.KindFetch, func(s *setup) {
			s.options.Before = []scheduler.Before{asks}
		}, "proceed_once cancel"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSetup(tt.kind, policy.AskUser, bus.ProceedOnce)
			s.policy.canRemember = all
			if tt.change != nil {
				tt.change(s)
			}
			require.Equal(t, scheduler.StatusSuccess, s.call(t.Context()).Status)
			var got []string
			for _, o := range s.questions[0].Outcomes {
				got = append(got, string(o))
			}
			require.Equal(t, tt.want, strings.Join(got, " "))

			var want []bus.Remembered
			for _, o := range s.questions[0].Outcomes {
				if scope := lasts()[o]; scope != "" {
					want = append(want, bus.Remembered{Outcome: o, Rules: []string{"any call of fake, for the subagent " + string(scope)}})
				}
			}
			require.Equal(t, want, s.questions[0].Remembers, "the effect of each")
		})
	}
	s, _ := newModifiable(policy.AskUser)
	s.call(t.Context())
	require.Equal(t, []bus.Outcome{bus.ProceedOnce, bus.ModifyWithEditor, bus.Cancel}, s.questions[0].Outcomes)
	s.confirm = nil // no edit to modify
	s.call(t.Context())
	require.Equal(t, []bus.Outcome{bus.ProceedOnce, bus.Cancel}, s.questions[1].Outcomes)
}

// Only a valid answer with an offered outcome lets a call run. Every other answer denies it.
func TestAnswers(t *testing.T) {
	content, approved := "new", true
	tests := map[string]struct {
		answer  bus.ToolConfirmationResponse
		runs    bool
		code    fault.Code
		message string
	}{
		"once":                              {answerWith(bus.ProceedOnce), true, "", ""},
		"confirmed only":                    {bus.ToolConfirmationResponse{Confirmed: true}, true, "", ""},                  // spec 3.4
		"empty answer":                      {bus.ToolConfirmationResponse{}, false, fault.DeniedByUser, "did not approve"}, // spec 3.4
		"cancel":                            {answerWith(bus.Cancel), false, fault.DeniedByUser, "did not approve"},
		"not offered":                       {answerWith(bus.ProceedAlways), false, fault.DeniedByUser, `"proceed_always" was not offered`},
		"unknown":                           {answerWith("perhaps"), false, fault.DeniedByUser, `"perhaps" was not offered`},
		"once, and not confirmed":           {bus.ToolConfirmationResponse{Outcome: bus.ProceedOnce}, false, fault.DeniedByUser, "does not confirm"},
		"cancel, and confirmed":             {bus.ToolConfirmationResponse{Outcome: bus.Cancel, Confirmed: true}, false, fault.DeniedByUser, "at once"},
		"no user":                           {bus.ToolConfirmationResponse{RequiresUserConfirmation: true, Confirmed: true}, false, fault.NoApprover, "no approver"},
		"an edit of a call without content": {edits(content), false, fault.DeniedByUser, `"modify_with_editor" was not offered`},
		"once, with other content":          {bus.ToolConfirmationResponse{Confirmed: true, Payload: bus.Payload{NewContent: &content}}, false, fault.DeniedByUser, "was not offered"},
		"cancel, with feedback": {bus.ToolConfirmationResponse{Payload: bus.Payload{Feedback: " Use make. "}}, false, fault.DeniedByUser,
			"nothing was done. The user said: “Use make.”"},
		"no plan, with confirmed set": {bus.ToolConfirmationResponse{Confirmed: true, Outcome: bus.ProceedOnce,
			Payload: bus.Payload{Approved: new(bool), Feedback: "no tests"}}, false, fault.DeniedByUser, "The user said: “no tests”."},
		"no plan, not offered": {bus.ToolConfirmationResponse{Confirmed: true, Outcome: bus.ProceedAlways,
			Payload: bus.Payload{Approved: new(bool)}}, false, fault.DeniedByUser, "did not approve"},
		"a plan, approved":        {bus.ToolConfirmationResponse{Confirmed: true, Payload: bus.Payload{Approved: &approved}}, true, "", ""},
		"approved, not confirmed": {bus.ToolConfirmationResponse{Payload: bus.Payload{Approved: &approved}}, false, fault.DeniedByUser, "did not approve"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSetup(tools.KindEdit, policy.AskUser, "")
			s.answer = func(bus.ToolConfirmationRequest) bus.ToolConfirmationResponse { return tt.answer }
			r := s.call(t.Context())
			require.Equal(t, tt.runs, slices.Contains(s.steps, "execute"))
			require.Equal(t, tt.code, fault.CodeOf(asError(r)))
			if tt.code != "" {
				require.Equal(t, scheduler.StatusDenied, r.Status)
				require.Contains(t, r.Result.Error.Message, tt.message)
				require.NotEmpty(t, r.Result.Error.Remedy)
			}
		})
	}
}

// The user's feedback reaches the model: after a denial as the next step, after an approval as a notice.
func TestFeedback(t *testing.T) {
	for name, tt := range map[string]struct {
		outcome  bus.Outcome
		feedback string
		declined string // the tool's own next step
		remedy   string
	}{
		"a denial without feedback": {bus.Cancel, " ", "Change it.", "Do not repeat the call as it is; ask the user what to do instead."},
		"a denial with feedback":    {bus.Cancel, "Use make.", "", "Do not repeat the call as it is; act on what the user said."},
		"a tool's next step":        {bus.Cancel, "no tests", "Change it and call again.", "Change it and call again."},
		"an approval with feedback": {bus.ProceedOnce, " And then make. ", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(tools.KindOther, policy.AskUser, "")
			s.confirm = func(context.Context) (*tools.Confirmation, error) {
				return &tools.Confirmation{Type: tools.ConfirmInfo, InfoDetails: &tools.InfoDetails{Prompt: "p"}, IfDeclined: tt.declined}, nil
			}
			s.answer = func(bus.ToolConfirmationRequest) bus.ToolConfirmationResponse {
				a := answerWith(tt.outcome)
				a.Payload.Feedback = tt.feedback
				return a
			}
			r := s.call(t.Context())
			if tt.outcome == bus.Cancel {
				require.Equal(t, tt.remedy, r.Result.Error.Remedy)
				return
			}
			require.Equal(t, scheduler.StatusSuccess, r.Status)
			require.Equal(t, []string{"The user said of this call: “And then make.”"}, r.Notices)
		})
	}
}

// UI-02: a message with the words of a user is well formed for any words.
func TestFeedbackIsASentence(t *testing.T) {
	for feedback, want := range map[string]string{
		"leave two alone":         "“leave two alone”.",
		"Leave it.":               "“Leave it.”",
		"Why?":                    "“Why?”",
		"wait …":                  "“wait …”",
		"Two things:\n- a\n- b\n": "“Two things:\n- a\n- b”.",
		"不要。":                     "“不要。”",
		"क्यों।":                  "“क्यों।”",
		"لماذا؟":                  "“لماذا؟”",
		`He said "no"`:            "“He said \"no\"”.",
		"see a.go:12)":            "“see a.go:12)”.",
	} {
		s := newSetup(tools.KindEdit, policy.AskUser, "")
		s.answer = func(bus.ToolConfirmationRequest) bus.ToolConfirmationResponse {
			return bus.ToolConfirmationResponse{Payload: bus.Payload{Feedback: feedback}}
		}
		require.Regexp(t, "; nothing was done\\. The user said: "+regexp.QuoteMeta(want)+"$", s.call(t.Context()).Result.Error.Message)
	}
}

// FuzzAnswer: a call runs only after a confirmation of the displayed call.
func FuzzAnswer(f *testing.F) {
	f.Add("proceed_once", true, false, "", false)
	f.Add("", true, false, "", false)
	f.Add("proceed_once", true, false, "new", true)
	f.Add("modify_with_editor", true, false, "new", true)
	f.Add("proceed_always", true, true, "", false)
	f.Add("cancel", false, false, "", false)
	f.Fuzz(func(t *testing.T, outcome string, confirmed, noPerson bool, content string, edited bool) {
		s := newSetup(tools.KindEdit, policy.AskUser, "")
		s.answer = func(bus.ToolConfirmationRequest) bus.ToolConfirmationResponse {
			a := bus.ToolConfirmationResponse{Outcome: bus.Outcome(outcome), Confirmed: confirmed, RequiresUserConfirmation: noPerson}
			if edited {
				a.Payload.NewContent = &content
			}
			return a
		}
		r := s.call(t.Context())
		yes := confirmed && !noPerson && !edited && (outcome == "" || outcome == "proceed_once")
		require.Equal(t, yes, slices.Contains(s.steps, "execute"))
		require.Equal(t, yes, r.Status == scheduler.StatusSuccess)
	})
}

func asError(r scheduler.Response) error {
	if r.Result.Error == nil {
		return nil
	}
	return r.Result.Error
}

// AR-15, AR-21: an approval for more than this call is remembered before the call runs, and reported as a rule.
func TestRemember(t *testing.T) {
	for outcome, scope := range lasts() {
		s := newSetup(tools.KindFetch, policy.AskUser, outcome)
		s.options.Subject = func(c *policy.Call) { c.Server = "srv" }
		s.policy.canRemember = func(policy.Scope) bool { return true }
		s.policy.remember = func(c policy.Call, got policy.Scope) ([]policy.Rule, error) {
			s.steps = append(s.steps, "remember")
			require.Equal(t, scope, got)
			require.Equal(t, `{"final":1}`, string(c.Params))
			return []policy.Rule{{Tools: []string{"fetch"}, Server: "srv", ArgsPattern: "a", CommandPrefix: []string{"git status"},
				AllowRedirection: true, Modes: []policy.ApprovalMode{policy.ModeYolo}, Subagent: "helper"}}, nil
		}
		var rules []bus.UpdatePolicy
		for _, m := range s.record(t, t.Context(), one("c1")) {
			if u, ok := m.(bus.UpdatePolicy); ok {
				require.NotContains(t, s.steps[:len(s.steps)-1], "execute")
				rules = append(rules, u)
			}
		}
		want := bus.UpdatePolicy{ToolName: "fetch", MCPName: "srv", ArgsPattern: "a", CommandPrefix: []string{"git status"},
			AllowRedirection: true, Modes: []string{"yolo"}, Subagent: "helper",
			Words: "commands that begin with git status, redirections into the workspace included, for the subagent helper, in yolo mode"}
		if scope == policy.ScopeSaved {
			want.Persist, want.PersistScope = true, "user"
		}
		require.Equal(t, []bus.UpdatePolicy{want}, rules)
		require.Equal(t, "build decide confirm remember execute", strings.Join(s.steps, " "))
	}
}

// 18020, 22169: the rules shown with an outcome are those that it adds, and they apply to the next such call.
func TestShownRuleIsTheRule(t *testing.T) {
	for _, command := range []string{"./gradlew build", "git push origin main", "go test ./... && make -n all"} {
		set := toolset{}
		set.add("run_shell_command", tools.KindExecute, false, done)
		e, err := policy.NewEngine(policy.Options{})
		require.NoError(t, err)
		b := bus.New(bus.Options{})
		var shown []string
		asked := 0
		bus.Subscribe(t.Context(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
			asked++
			a := answerWith(bus.ProceedOnce)
			for _, r := range q.Remembers {
				if r.Outcome == bus.ProceedAlways {
					a, shown = answerWith(r.Outcome), r.Rules
				}
			}
			a.CorrelationID = q.CorrelationID
			_ = b.Publish(a)
		})
		s := scheduler.New(scheduler.Options{Tools: set, Bus: b, Policy: scheduler.InMemory(e),
			Subject: func(c *policy.Call) { c.Dir, c.Roots = "/w", []string{"/w"} }})
		args, err := json.Marshal(map[string]string{"command": command})
		require.NoError(t, err)
		for range 2 {
			r := s.Run(t.Context(), scheduler.Request{Tool: "run_shell_command", Args: args})
			require.Equal(t, scheduler.StatusSuccess, r.Status)
			require.Empty(t, r.Notices)
		}
		require.NoError(t, b.Close())
		require.Equal(t, 1, asked, command)
		var inForce []string
		for _, r := range e.Rules() {
			if r.Session {
				inForce = append(inForce, r.Words())
			}
		}
		require.NotEmpty(t, shown)
		require.ElementsMatch(t, shown, inForce)
	}
}

// AR-21, 18020, with the engine: an approval for the session covers the next call, an approval for one call does not,
// and neither covers anything else.
func TestNextCall(t *testing.T) {
	tests := map[string]struct {
		outcome bus.Outcome
		tool    string
		args    []string
		asked   []string // arguments of the calls that required approval
	}{
		"once": {bus.ProceedOnce, "write_file", []string{`{"file_path":"/w/a"}`, `{"file_path":"/w/a"}`},
			[]string{`{"file_path":"/w/a"}`, `{"file_path":"/w/a"}`}},
		"always, a file": {bus.ProceedAlways, "write_file", []string{`{"file_path":"/w/a"}`, `{"file_path":"/w/a"}`, `{"file_path":"/w/b"}`},
			[]string{`{"file_path":"/w/a"}`, `{"file_path":"/w/b"}`}},
		"always, a command": {bus.ProceedAlways, "run_shell_command",
			[]string{`{"command":"git status"}`, `{"command":"git status -s"}`, `{"command":"git status && git push"}`},
			[]string{`{"command":"git status"}`, `{"command":"git status && git push"}`}},
		"the tool": {bus.ProceedAlwaysTool, "web_fetch", []string{`{"url":"a"}`, `{"url":"b"}`}, []string{`{"url":"a"}`}},
		"cancel":   {bus.Cancel, "web_fetch", []string{`{"url":"a"}`, `{"url":"a"}`}, []string{`{"url":"a"}`, `{"url":"a"}`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			set := toolset{}
			set.add("write_file", tools.KindEdit, false, done)
			set.add("run_shell_command", tools.KindExecute, false, done)
			set.add("web_fetch", tools.KindFetch, false, done)
			b := bus.New(bus.Options{})
			var asked []string
			bus.Subscribe(t.Context(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
				asked = append(asked, string(q.ToolCall.Args))
				a := answerWith(tt.outcome)
				a.CorrelationID = q.CorrelationID
				_ = b.Publish(a)
			})
			s := scheduler.New(scheduler.Options{Tools: set, Bus: b, Subject: func(c *policy.Call) { c.Dir, c.Roots = "/w", []string{"/w"} }})
			for _, args := range tt.args {
				r := s.Run(t.Context(), scheduler.Request{Tool: tt.tool, Args: json.RawMessage(args)})
				require.Equal(t, tt.outcome != bus.Cancel, r.Status == scheduler.StatusSuccess)
				require.Empty(t, r.Notices)
			}
			require.NoError(t, b.Close())
			require.Equal(t, tt.asked, asked)
		})
	}
}

// AR-20: an approval for a server applies to the next call of any of its tools, and to no other server.
func TestNextCallOfServer(t *testing.T) {
	set := toolset{}
	for name, server := range map[string]string{"mcp_srv_a": "srv", "mcp_srv_b": "srv", "mcp_other_a": "other"} {
		set[name] = &simple{tools.Spec{Name: name, Kind: tools.KindOther, Origin: tools.Origin{Server: server}}, done}
	}
	b := bus.New(bus.Options{})
	var asked []string
	bus.Subscribe(t.Context(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
		asked = append(asked, q.ToolCall.Name)
		a := answerWith(bus.ProceedAlwaysServer)
		a.CorrelationID = q.CorrelationID
		_ = b.Publish(a)
	})
	s := scheduler.New(scheduler.Options{Tools: set, Bus: b})
	for _, name := range []string{"mcp_srv_a", "mcp_srv_a", "mcp_srv_b", "mcp_other_a", "mcp_srv_b"} {
		r := s.Run(t.Context(), scheduler.Request{Tool: name, Args: json.RawMessage(`{"x":"` + name + `"}`)})
		require.Equal(t, scheduler.StatusSuccess, r.Status)
		require.Empty(t, r.Notices)
	}
	require.NoError(t, b.Close())
	require.Equal(t, []string{"mcp_srv_a", "mcp_other_a"}, asked)
}

// An approval that cannot be remembered still applies to the call, and the response reports the reason.
func TestNotRemembered(t *testing.T) {
	full := fault.New(fault.NotRemembered, "x", "The part $(x) cannot be matched.", "Approve it each time.")
	for want, remember := range map[string]func(policy.Call, policy.Scope) ([]policy.Rule, error){
		"The part $(x) cannot be matched. Approve it each time.": func(policy.Call, policy.Scope) ([]policy.Rule, error) { return nil, full },
		"I/O error.": func(policy.Call, policy.Scope) ([]policy.Rule, error) { return nil, errors.New("I/O\nerror") },
		"boom.":      func(policy.Call, policy.Scope) ([]policy.Rule, error) { panic("boom") },
	} {
		s := newSetup(tools.KindFetch, policy.AskUser, bus.ProceedAlways)
		s.policy.canRemember = func(policy.Scope) bool { return true }
		s.policy.remember = remember
		r := s.call(t.Context())
		require.Equal(t, scheduler.StatusSuccess, r.Status)
		require.Equal(t, []string{"This call was approved, but the approval is not remembered: " + want}, r.Notices)
		var got struct{ Output, Notice any }
		require.NoError(t, json.Unmarshal(r.FunctionResponse(), &got))
		require.Equal(t, "done", got.Output)
		require.Equal(t, []any{r.Notices[0]}, got.Notice)
		require.Len(t, s.defects, map[bool]int{true: 1}[want == "boom."])
	}
}

// AR-21: content that the user puts in place of the proposal is decided and shown again, until it is approved.
func TestModify(t *testing.T) {
	s, _ := newModifiable(policy.AskUser)
	s.answer = func(q bus.ToolConfirmationRequest) bus.ToolConfirmationResponse {
		require.Equal(t, len(s.questions) > 1, q.Modified)
		switch len(s.questions) {
		case 1:
			return edits("two")
		case 2:
			answer := edits("three")
			answer.Outcome = bus.ProceedOnce // the user's content differs from the content shown
			return answer
		}
		return answerWith(bus.ProceedOnce)
	}
	r := s.call(t.Context())
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Equal(t, "build decide confirm ask modify decide confirm ask modify decide confirm ask execute", strings.Join(s.steps, " "))
	require.Equal(t, `{"content":"three"}`, string(r.Params))
	var shown, judged []string
	ids := map[string]bool{}
	for i, q := range s.questions {
		shown = append(shown, q.Details.NewContent)
		judged = append(judged, string(s.decided[i].Params))
		require.Equal(t, q.Details.NewContent, string(q.ToolCall.Args))
		ids[q.CorrelationID] = true
	}
	require.Equal(t, []string{`{"final":1}`, `{"content":"two"}`, `{"content":"three"}`}, shown)
	require.Equal(t, shown, judged)
	require.Len(t, ids, 3)
}

// AR-21: an approval that returns the content shown is not a modification.
func TestContentAsShownIsNoChange(t *testing.T) {
	s, _ := newModifiable(policy.AskUser)
	s.answer = func(q bus.ToolConfirmationRequest) bus.ToolConfirmationResponse {
		return bus.ToolConfirmationResponse{Outcome: bus.ProceedOnce, Confirmed: true, Payload: bus.Payload{NewContent: &q.Details.NewContent}}
	}
	r := s.call(t.Context())
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	require.Len(t, s.questions, 1)
	require.NotContains(t, s.steps, "modify")
}

// A call that the user has modified is shown again even if policy would allow it now, does not run if policy denies it,
// and is checked by the tool.
func TestModifyIsDecidedAgain(t *testing.T) {
	afterwards := func(verdict policy.Verdict) (*setup, *modifiable) {
		s, m := newModifiable(policy.AskUser)
		decide := s.policy.decide
		s.policy.decide = func(c policy.Call) policy.Decision {
			d := decide(c)
			if len(s.decided) > 1 {
				d.Decision = verdict
			}
			return d
		}
		s.answer = func(bus.ToolConfirmationRequest) bus.ToolConfirmationResponse {
			if len(s.questions) == 1 {
				return edits("two")
			}
			return answerWith(bus.ProceedOnce)
		}
		return s, m
	}
	s, _ := afterwards(policy.Allow)
	s.policy.canRemember = func(policy.Scope) bool { return true }
	require.Equal(t, scheduler.StatusSuccess, s.call(t.Context()).Status)
	require.Len(t, s.questions, 2)
	require.Contains(t, s.questions[0].Outcomes, bus.ProceedAlways)
	require.NotContains(t, s.questions[1].Outcomes, bus.ProceedAlways, "it is allowed already")

	s, _ = afterwards(policy.Deny)
	r := s.call(t.Context())
	require.Equal(t, fault.PolicyViolation, r.Result.Error.Code)
	require.NotContains(t, s.steps, "execute")

	refusal := fault.New(fault.EditNoChange, "x", "Nothing to change.", "")
	for name, change := range map[string]func(*setup, *modifiable){
		"modify": func(_ *setup, m *modifiable) {
			m.modify = func(context.Context, string) (tools.ToolInvocation, error) { return nil, refusal }
		},
		"confirm": func(s *setup, m *modifiable) {
			confirm := s.confirm
			s.confirm = func(ctx context.Context) (*tools.Confirmation, error) {
				if slices.Contains(m.steps, "modify") {
					return nil, refusal
				}
				return confirm(ctx)
			}
		},
	} {
		s, m := afterwards(policy.AskUser)
		change(s, m)
		r := s.call(t.Context())
		require.Equal(t, scheduler.StatusError, r.Status, name)
		require.Equal(t, fault.EditNoChange, r.Result.Error.Code, name)
		require.NotContains(t, s.steps, "execute", name)
		require.Len(t, s.questions, 1, name)
	}

	s, m := afterwards(policy.AskUser)
	m.modify = func(context.Context, string) (tools.ToolInvocation, error) { panic("boom") }
	require.Equal(t, fault.UnhandledException, s.call(t.Context()).Result.Error.Code)
	require.Len(t, s.defects, 1)
	m.modify = func(context.Context, string) (tools.ToolInvocation, error) { return nil, nil }
	s.questions = nil
	require.Equal(t, fault.UnhandledException, s.call(t.Context()).Result.Error.Code)
}

// An answer with the outcome of an edit but without content changes nothing and does not run the call.
func TestModifyWithoutContent(t *testing.T) {
	s, _ := newModifiable(policy.AskUser)
	s.answer = func(bus.ToolConfirmationRequest) bus.ToolConfirmationResponse {
		return answerWith(bus.ModifyWithEditor)
	}
	r := s.call(t.Context())
	require.Equal(t, scheduler.StatusDenied, r.Status)
	require.Contains(t, r.Result.Error.Message, "without the new content")
	require.NotContains(t, s.steps, "modify")
}

// AR-29: the user's editing ends with ctx.
func TestCancelWhileModifying(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, m := newModifiable(policy.AskUser)
	s.answer = func(bus.ToolConfirmationRequest) bus.ToolConfirmationResponse { return edits("two") }
	m.modify = func(ctx context.Context, _ string) (tools.ToolInvocation, error) { cancel(); return nil, ctx.Err() }
	require.Equal(t, scheduler.StatusCancelled, s.call(ctx).Status)
	require.NotContains(t, s.steps, "execute")
}

// AR-19: each type of details reaches the front end completely, with the fields of the tool's details.
func TestDetails(t *testing.T) {
	original := "old"
	for _, want := range []*tools.Confirmation{
		{Type: tools.ConfirmEdit, Title: "E", EditDetails: &tools.EditDetails{FileName: "a", FilePath: "/a", FileDiff: "d",
			OriginalContent: &original, NewContent: "n", DiffStat: &tools.DiffStat{ModelAddedLines: 1, UserRemovedChars: 2}},
			Paths: []string{"/a"}, Bases: []tools.FileVersion{{Path: "/a", SHA256: "ab"}}},
		{Type: tools.ConfirmEdit, Title: "New", EditDetails: &tools.EditDetails{FileName: "a"}},
		{Type: tools.ConfirmExec, Title: "X", ExecDetails: &tools.ExecDetails{Command: "ls", RootCommand: "ls", RootCommands: []string{"ls"}}},
		{Type: tools.ConfirmMCP, Title: "M", MCPDetails: &tools.MCPDetails{ServerName: "s", ToolName: "t", ToolDisplayName: "T"}},
		{Type: tools.ConfirmMCP, Title: "M", MCPDetails: &tools.MCPDetails{ServerName: "s", ToolName: "t", ToolDisplayName: "T",
			ToolArgs: json.RawMessage(`{"a":1}`), ToolDescription: "D.", ToolParameterSchema: json.RawMessage(`{"type":"object"}`)}},
		{Type: tools.ConfirmInfo, Title: "I", InfoDetails: &tools.InfoDetails{Prompt: "p", URLs: []string{"u"}}},
	} {
		s := newSetup(tools.KindOther, policy.AskUser, bus.ProceedOnce)
		s.confirm = func(context.Context) (*tools.Confirmation, error) { return want, nil }
		s.call(t.Context())
		shown, err := json.Marshal(s.questions[0].Details)
		require.NoError(t, err)
		own, err := json.Marshal(want)
		require.NoError(t, err)
		require.JSONEq(t, string(own), string(shown))
	}
}

// AR-15, AR-19: a server's tool without a confirmation of its own is shown completely; invalid JSON is omitted. In plan
// mode the preview does not repeat the arguments to the model.
func TestDetailsOfAServersTool(t *testing.T) {
	s := newSetup(tools.KindOther, policy.AskUser, bus.ProceedOnce)
	schema := json.RawMessage(`{"type":"object"}`)
	s.spec = func(spec *tools.Spec) {
		spec.Name, spec.Schema = "mcp_my_server_do_it", schema
		spec.Origin = tools.Origin{Group: tools.GroupMCP, Server: "my server", Tool: "do it"}
	}
	s.call(t.Context())
	require.Equal(t, &confirmation.MCPDetails{
		ServerName: "my server", ToolName: "do it", ToolDisplayName: "mcp_my_server_do_it",
		ToolArgs: json.RawMessage(`{"final":1}`), ToolDescription: "A fake.", ToolParameterSchema: json.RawMessage(`{"type":"object"}`),
	}, s.questions[0].Details.MCPDetails)

	s.kind, s.options.Mode = tools.KindExecute, func() policy.ApprovalMode { return policy.ModePlan }
	preview := s.call(t.Context()).Result.LLMContent.String()
	require.Contains(t, preview, `"toolArgs":{"final":1}`)
	require.NotContains(t, preview, "A fake.")
	require.NotContains(t, preview, "toolParameterSchema")

	s.options.Mode, schema = nil, json.RawMessage(`{`)
	s.call(t.Context())
	require.Nil(t, s.questions[len(s.questions)-1].Details.ToolParameterSchema)
}

// A command line is shown with its programs and parts, even if the tool does not set them, and with the rule that
// decided each part (19799).
func TestDetailsOfACommandLine(t *testing.T) {
	word := func(s string) []shell.Word { return []shell.Word{{Text: s, Static: true}} }
	line := &shell.Line{Source: "cd x && go test; cd y > f", Parts: []shell.Part{
		{Kind: shell.Builtin, Words: word("cd")}, {Kind: shell.Command, Words: word("go")}, {Kind: shell.Command, Words: word("ls")},
		{Kind: shell.Command, Words: word("go")}, {Kind: shell.Write}, {Kind: shell.Command},
	}}
	s := newSetup(tools.KindExecute, "", bus.ProceedOnce)
	s.policy.prepare = func(c *policy.Call) { c.Line = line }
	s.policy.decide = func(policy.Call) policy.Decision {
		return policy.Decision{Explanation: policy.Explanation{Decision: policy.AskUser, Reason: "Because.", Remedy: "Add a rule.", Parts: []confirmation.Part{
			{Text: "go test", Decision: policy.AskUser, Rule: "r", Tier: "user", Source: "p.toml", Line: 4, Reason: "No rule."},
		}}}
	}
	s.call(t.Context())
	parts := []confirmation.Part{{Text: "go test", Decision: "ask_user", Rule: "r", Tier: "user", Source: "p.toml", Line: 4, Reason: "No rule."}}
	require.Equal(t, bus.Confirmation{Type: confirmation.Exec, Title: "Confirm: fake", ExecDetails: &confirmation.ExecDetails{
		Command: line.Source, RootCommand: "go, ls", RootCommands: []string{"go", "ls"}, Parts: parts,
	}}, s.questions[0].Details)
	require.Equal(t, confirmation.Explanation{Decision: "ask_user", Reason: "Because.", Remedy: "Add a rule.", Parts: parts}, s.questions[0].Decision)

	// Programs set by the tool take precedence.
	s.confirm = func(context.Context) (*tools.Confirmation, error) {
		return &tools.Confirmation{Type: tools.ConfirmExec, ExecDetails: &tools.ExecDetails{Command: "c", RootCommand: "r", RootCommands: []string{"r1"}}}, nil
	}
	s.call(t.Context())
	require.Equal(t, &confirmation.ExecDetails{Command: "c", RootCommand: "r", RootCommands: []string{"r1"}, Parts: parts}, s.questions[1].Details.ExecDetails)
}

// An approval in memory applies to later calls of the same kind, and ends with the engine.
func TestInMemory(t *testing.T) {
	e, err := policy.NewEngine(policy.Options{})
	require.NoError(t, err)
	p := scheduler.InMemory(e)
	c := policy.Call{Tool: "fetch", Kind: "fetch", Params: json.RawMessage(`{}`)}
	require.Equal(t, policy.AskUser, p.Decide(c).Decision)
	for _, scope := range []policy.Scope{policy.ScopeSaved, policy.ScopeServer} { // no file, no server
		require.Empty(t, p.CanRemember(c, scope))
		_, err = p.Remember(t.Context(), c, scope, nil)
		require.Equal(t, fault.NotRemembered, fault.CodeOf(err))
	}
	require.Equal(t, policy.AskUser, p.Decide(c).Decision)
	shown := p.CanRemember(c, policy.ScopeTool)
	require.Equal(t, policy.AskUser, p.Decide(c).Decision)
	_, err = p.Remember(t.Context(), c, policy.ScopeTool, []string{"something else"})
	require.Equal(t, fault.NotRemembered, fault.CodeOf(err), "it was not shown")
	require.Equal(t, policy.AskUser, p.Decide(c).Decision)
	rules, err := p.Remember(t.Context(), c, policy.ScopeTool, []string{shown[0].Words()})
	require.NoError(t, err)
	require.NotEmpty(t, rules)
	require.Equal(t, shown, rules)
	require.Equal(t, policy.Allow, p.Decide(c).Decision)
}

// PB-05: a response reports whether an approver was asked, and the mode.
func TestResponseReportsTheQuestion(t *testing.T) {
	for name, test := range map[string]struct {
		verdict policy.Verdict
		outcome bus.Outcome
		change  func(*setup)
		asked   bool
	}{
		"allowed":     {policy.Allow, bus.ProceedOnce, nil, false},
		"denied":      {policy.Deny, bus.ProceedOnce, nil, false},
		"approved":    {policy.AskUser, bus.ProceedOnce, nil, true},
		"declined":    {policy.AskUser, bus.Cancel, nil, true},
		"no approver": {policy.AskUser, bus.ProceedOnce, func(s *setup) { s.answer = nil }, false},
		"no user": {policy.AskUser, bus.ProceedOnce, func(s *setup) {
			s.answer = func(bus.ToolConfirmationRequest) bus.ToolConfirmationResponse {
				return bus.ToolConfirmationResponse{RequiresUserConfirmation: true}
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(tools.KindExecute, test.verdict, test.outcome)
			s.options.Mode = func() policy.ApprovalMode { return policy.ModeAutoEdit }
			if test.change != nil {
				test.change(s)
			}
			r := s.call(t.Context())
			require.Equal(t, test.asked, r.Asked)
			require.Equal(t, policy.ModeAutoEdit, r.Mode)
		})
	}
}
