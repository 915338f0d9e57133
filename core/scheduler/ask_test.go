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
