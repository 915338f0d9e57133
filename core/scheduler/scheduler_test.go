package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// The steps of a call, and its result. CR-36: first policy may deny, then the tool may refuse, then the user is asked.
func TestPath(t *testing.T) {
	refusal := fault.New(fault.EditRequiresPriorRead, "x", "Read it first.", "Read it.")
	refuses := func(context.Context) (*tools.Confirmation, error) { return nil, refusal }
	willRefuse := func(context.Context) (*tools.Confirmation, error) { return nil, tools.ErrWillRefuse }
	fails := func(context.Context, tools.Output) (tools.Result, error) { return tools.Fail(refusal), nil }
	tests := map[string]struct {
		verdict policy.Verdict
		outcome bus.Outcome
		change  func(*setup)
		steps   string
		status  scheduler.Status
		code    fault.Code
	}{
		"allowed":         {policy.Allow, "", nil, "build decide execute", scheduler.StatusSuccess, ""},
		"denied":          {policy.Deny, "", nil, "build decide", scheduler.StatusDenied, fault.PolicyViolation},
		"approved":        {policy.AskUser, bus.ProceedOnce, nil, "build decide confirm ask execute", scheduler.StatusSuccess, ""},
		"refused":         {policy.AskUser, bus.Cancel, nil, "build decide confirm ask", scheduler.StatusDenied, fault.DeniedByUser},
		"unknown outcome": {policy.AskUser, "perhaps", nil, "build decide confirm ask", scheduler.StatusDenied, fault.DeniedByUser},
		"unknown verdict": {"maybe", "", nil, "build decide", scheduler.StatusDenied, fault.PolicyViolation},
		"no approver": {policy.AskUser, "", func(s *setup) { s.answer = nil },
			"build decide confirm", scheduler.StatusDenied, fault.NoApprover}, // AR-24
		"the front end panics": {policy.AskUser, "", func(s *setup) {
			s.answer = func(bus.ToolConfirmationRequest) bus.ToolConfirmationResponse { panic("terminal gone") }
		}, "build decide confirm ask", scheduler.StatusDenied, fault.NoApprover}, // KH-23
		"bad arguments": {policy.Allow, "", func(s *setup) {
			s.build = func(json.RawMessage) error { return fault.New(fault.InvalidToolParams, "x", "Bad.", "") }
		}, "build", scheduler.StatusError, fault.InvalidToolParams},
		"the tool refuses before the prompt": {policy.AskUser, bus.ProceedOnce, func(s *setup) { s.confirm = refuses },
			"build decide confirm", scheduler.StatusError, fault.EditRequiresPriorRead}, // CR-36, PR-21, PR-22
		"the tool refuses, and no approver": {policy.AskUser, "", func(s *setup) { s.confirm, s.answer = refuses, nil },
			"build decide confirm", scheduler.StatusError, fault.EditRequiresPriorRead},
		"policy denies what the tool would refuse": {policy.Deny, "", func(s *setup) { s.confirm = refuses },
			"build decide", scheduler.StatusDenied, fault.PolicyViolation},
		"an untyped refusal": {policy.AskUser, "", func(s *setup) {
			s.confirm = func(context.Context) (*tools.Confirmation, error) { return nil, errors.New("untyped") }
		}, "build decide confirm", scheduler.StatusError, fault.UnhandledException}, // PR-22
		"will refuse": {policy.AskUser, bus.ProceedOnce, func(s *setup) { s.confirm, s.run = willRefuse, fails },
			"build decide confirm execute", scheduler.StatusError, fault.EditRequiresPriorRead}, // FS-42
		"will refuse, and no approver": {policy.AskUser, "", func(s *setup) { s.confirm, s.run, s.answer = willRefuse, fails, nil },
			"build decide confirm execute", scheduler.StatusError, fault.EditRequiresPriorRead},
		"will refuse, then succeeds": {policy.AskUser, bus.ProceedOnce, func(s *setup) { s.confirm = willRefuse },
			"build decide confirm execute", scheduler.StatusError, fault.UnhandledException}, // FS-43
		"fails": {policy.Allow, "", func(s *setup) { s.run = fails },
			"build decide execute", scheduler.StatusError, fault.EditRequiresPriorRead},
		"fails with a fault for the host": {policy.Allow, "", func(s *setup) {
			s.run = func(context.Context, tools.Output) (tools.Result, error) { return tools.Result{}, refusal }
		}, "build decide execute", scheduler.StatusError, fault.EditRequiresPriorRead},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSetup(tools.KindEdit, tt.verdict, tt.outcome)
			if tt.change != nil {
				tt.change(s)
			}
			r := s.call(t.Context())
			require.Equal(t, tt.steps, strings.Join(s.steps, " "))
			require.Equal(t, tt.status, r.Status)
			require.Equal(t, "c1", r.CallID)
			require.Equal(t, "fake", r.Tool)
			if tt.code == "" {
				require.Nil(t, r.Result.Error)
				require.Equal(t, "done", r.Result.LLMContent.String())
				return
			}
			require.Equal(t, tt.code, r.Result.Error.Code)
			require.NotEmpty(t, r.Result.Error.Message)
			require.NotEmpty(t, r.Result.LLMContent.String())
			require.NotEmpty(t, r.Result.ReturnDisplay.Text)
		})
	}
}

// Policy decides on the final arguments, by the tool's own name.
func TestDecisionIsOnFinalArguments(t *testing.T) {
	s := newSetup(tools.KindFetch, policy.Allow, "")
	s.effects = []tools.Effect{tools.EffectNetwork, tools.EffectRunProcess}
	s.options.Mode = func() policy.ApprovalMode { return policy.ModeAutoEdit }
	r := s.call(t.Context())
	require.Equal(t, []policy.Call{{
		Tool: "fake", Aliases: []string{"phony"}, GovernedBy: []string{"elder"},
		Kind: "fetch", Effects: []string{"network", "run_process"}, Mutates: true,
		Params: json.RawMessage(`{"final":1}`), Mode: policy.ModeAutoEdit,
	}}, s.decided)
	require.Equal(t, `{"final":1}`, string(r.Params))
	require.Equal(t, "Because.", r.Decision.Reason)
}

func TestUnknownTool(t *testing.T) {
	s := newSetup(tools.KindRead, policy.Allow, "")
	r := scheduler.New(s.options).Run(t.Context(), scheduler.Request{CallID: "c", Tool: "absent"})
	require.Equal(t, scheduler.StatusError, r.Status)
	require.Equal(t, "absent", r.Tool)
	require.Equal(t, fault.ToolNotRegistered, r.Result.Error.Code)
	require.Empty(t, s.defects)
}

func TestDeniedByPolicy(t *testing.T) { // AR-14
	r := newSetup(tools.KindRead, policy.Deny, "").call(t.Context())
	require.Equal(t, "Tool execution denied by policy.", r.Result.Error.Message)
	require.Contains(t, r.Result.Error.Remedy, "Reason: Because.")
	require.Equal(t, policy.Deny, r.Decision.Decision)
}

// AR-15: the default confirmation, if the tool returns none.
func TestDefaultQuestion(t *testing.T) {
	s := newSetup(tools.KindDelete, policy.AskUser, bus.ProceedOnce)
	s.call(t.Context())
	require.Len(t, s.questions, 1)
	require.Equal(t, bus.Confirmation{
		Type: confirmation.Info, Title: "Confirm: fake", InfoDetails: &confirmation.InfoDetails{Prompt: "fakes something"},
	}, s.questions[0].Details)

	s = newSetup(tools.KindDelete, policy.AskUser, bus.ProceedOnce)
	own := &tools.Confirmation{Type: tools.ConfirmExec, Title: "Own", ExecDetails: &tools.ExecDetails{Command: "ls"}}
	s.confirm = func(context.Context) (*tools.Confirmation, error) { return own, nil }
	s.call(t.Context())
	require.Equal(t, "Own", s.questions[0].Details.Title)
	require.Equal(t, "ls", s.questions[0].Details.Command)
}

// AR-27, CR-22: plan mode runs no mutator and returns its preview, unless policy denies the call.
func TestPlanMode(t *testing.T) {
	original := "old text"
	edit := &tools.Confirmation{Type: tools.ConfirmEdit, Title: "Edit a.go", Paths: []string{"/w/a.go"}, EditDetails: &tools.EditDetails{
		FileName: "a.go", FilePath: "/w/a.go", FileDiff: "-old\n+new\n", OriginalContent: &original, NewContent: "new text",
	}}
	gives := func(c *tools.Confirmation) func(context.Context) (*tools.Confirmation, error) {
		return func(context.Context) (*tools.Confirmation, error) { return c, nil }
	}
	for _, previews := range []bool{true, false} {
		s := newSetup(tools.KindEdit, "", bus.ProceedOnce)
		s.options.Mode = func() policy.ApprovalMode { return policy.ModePlan }
		s.policy.decide = func(policy.Call) policy.Decision {
			s.steps = append(s.steps, "decide")
			return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.AskUser, Previews: previews, Reason: "Plan."}}
		}
		s.confirm = gives(edit)
		r := s.call(t.Context())
		require.True(t, r.Preview)
		require.Equal(t, "build decide confirm", strings.Join(s.steps, " "))
		require.Equal(t, scheduler.StatusSuccess, r.Status)
		require.True(t, r.Result.LLMContent.IsJSON())
		text := r.Result.LLMContent.String()
		require.Contains(t, text, `"fileDiff":"-old\n+new\n"`)
		require.Contains(t, text, "Nothing was changed.")
		require.Equal(t, "new text", r.Result.ReturnDisplay.Diff.NewContent)
	}

	displays := map[string]*tools.Confirmation{
		"Run\nls -l":                     {Type: tools.ConfirmExec, Title: "Run", ExecDetails: &tools.ExecDetails{Command: "ls -l"}},
		"Ask\nwhat":                      {Type: tools.ConfirmInfo, Title: "Ask", InfoDetails: &tools.InfoDetails{Prompt: "what"}},
		"Call":                           {Type: tools.ConfirmMCP, Title: "Call", MCPDetails: &tools.MCPDetails{ServerName: "s", ToolName: "t"}},
		"Confirm: fake\nfakes something": nil,
	}
	for want, c := range displays {
		s := newSetup(tools.KindExecute, policy.AskUser, bus.ProceedOnce)
		s.options.Mode = func() policy.ApprovalMode { return policy.ModePlan }
		s.confirm = gives(c)
		require.Equal(t, want, s.call(t.Context()).Result.ReturnDisplay.Text)
	}
}

// TO-10: the preview of a command line names its programs, as a request for approval does.
func TestPreviewOfCommands(t *testing.T) {
	s := withoutApprover(t, policy.ModePlan, false)
	for call, want := range map[string]string{
		`run_shell_command {"command":"make a && make b | tee c"}`: `"rootCommand":"make, tee","rootCommands":["make","tee"]`,
		`run_shell_command {"command":"'"}`:                        `"rootCommand":"'","rootCommands":["'"]`,
		`run_shell_command {"command":"> a"}`:                      `"rootCommand":"","rootCommands":[]`,
	} {
		r := s.RunAll(t.Context(), batchOf(call))[0]
		require.True(t, r.Decision.Previews)
		require.Contains(t, r.Result.LLMContent.String(), want)
	}
}

// 28548: annotations of a server are not verified, so they exempt no call from a preview or from approval.
func TestReadOnlyHintIsNotTrusted(t *testing.T) {
	for _, kind := range []tools.Kind{tools.KindOther, tools.KindEdit} {
		for _, mode := range []policy.ApprovalMode{policy.ModePlan, policy.ModeDefault} {
			s := newSetup(kind, "", bus.Cancel)
			e, err := policy.NewEngine(policy.Options{Servers: []string{"srv"}})
			require.NoError(t, err)
			s.options.Policy = scheduler.InMemory(e)
			s.options.Mode = func() policy.ApprovalMode { return mode }
			s.options.Subject = func(c *policy.Call) {
				c.Server, c.ServerTool, c.Annotations = "srv", "fake", map[string]any{"readOnlyHint": true, "destructiveHint": false}
			}
			r := s.call(t.Context())
			require.NotContains(t, s.steps, "execute")
			if kind == tools.KindEdit && mode == policy.ModePlan {
				require.True(t, r.Decision.Previews)
				continue
			}
			require.Equal(t, fault.DeniedByUser, r.Result.Error.Code)
			require.Equal(t, true, s.questions[0].ToolAnnotations["readOnlyHint"], "the user sees the annotation")
		}
	}
}

// 26539: there is only one decision. A redirection requires no second approval, in yolo or if a rule allows it.
func TestOneDecision(t *testing.T) {
	allowed := policy.Rule{Tools: []string{"run_shell_command"}, CommandPrefix: []string{"make"}, AllowRedirection: true,
		Decision: policy.Allow, Priority: 1, Tier: policy.TierUser}
	for mode, rules := range map[policy.ApprovalMode][]policy.Rule{policy.ModeYolo: nil, policy.ModeDefault: {allowed}} {
		e, err := policy.NewEngine(policy.Options{Rules: rules})
		require.NoError(t, err)
		set := toolset{}
		set.add("run_shell_command", tools.KindExecute, false, done)
		decisions := 0
		counting := &stub{prepare: e.Prepare, decide: func(c policy.Call) policy.Decision { decisions++; return e.Decide(c) }}
		s := scheduler.New(scheduler.Options{Tools: set, Policy: counting, Mode: func() policy.ApprovalMode { return mode },
			Subject: func(c *policy.Call) { c.Dir, c.Roots = "/w", []string{"/w"} }})
		r := s.Run(t.Context(), scheduler.Request{Tool: "run_shell_command", Args: json.RawMessage(`{"command":"make a > out.txt 2>/dev/null"}`)})
		require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
		require.Equal(t, 1, decisions)
	}
}

func TestPlanModeRefusals(t *testing.T) {
	why := fault.New(fault.FileChangedSinceRead, "x", "It changed.", "Read it.")
	tests := map[string]struct {
		verdict policy.Verdict
		err     error
		status  scheduler.Status
		code    fault.Code
	}{
		"a denial holds":               {policy.Deny, nil, scheduler.StatusDenied, fault.PolicyViolation},
		"the tool refuses":             {policy.AskUser, why, scheduler.StatusError, fault.FileChangedSinceRead},
		"will refuse":                  {policy.AskUser, tools.ErrWillRefuse, scheduler.StatusError, fault.ExecutionFailed},
		"will refuse, with the reason": {policy.AskUser, tools.WillRefuse(tools.Fail(why)), scheduler.StatusError, fault.FileChangedSinceRead},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSetup(tools.KindEdit, tt.verdict, bus.ProceedOnce)
			s.options.Mode = func() policy.ApprovalMode { return policy.ModePlan }
			s.confirm = func(context.Context) (*tools.Confirmation, error) { return nil, tt.err }
			r := s.call(t.Context())
			require.Equal(t, tt.status, r.Status)
			require.Equal(t, tt.code, r.Result.Error.Code)
			require.NotContains(t, s.steps, "execute")
			require.NotContains(t, s.steps, "ask")
		})
	}
}

// A tool that declares an effect which changes something is not run in plan mode, whatever its kind and the approvals
// (AR-27, CR-22).
func TestPlanModeGoesByEffects(t *testing.T) {
	for _, effect := range []tools.Effect{tools.EffectWriteFiles, tools.EffectRunProcess} {
		for _, kind := range []tools.Kind{tools.KindOther, tools.KindRead} {
			s := newSetup(kind, policy.Allow, bus.ProceedOnce)
			s.effects = []tools.Effect{effect}
			s.options.Mode = func() policy.ApprovalMode { return policy.ModePlan }
			s.options.Policy = nil
			require.Contains(t, s.call(t.Context()).Result.LLMContent.String(), "Nothing was changed.")
			require.Equal(t, "build confirm", strings.Join(s.steps, " "))
		}
	}
}

// Neither does it run without approval in the other modes.
func TestDeclaredChangeIsAskedAbout(t *testing.T) {
	s := newSetup(tools.KindRead, "", bus.Cancel)
	s.effects = []tools.Effect{tools.EffectWriteFiles}
	s.options.Policy = nil
	require.Equal(t, fault.DeniedByUser, s.call(t.Context()).Result.Error.Code)
	require.Len(t, s.questions, 1)
}

// A call that policy allows in plan mode, such as writing a plan in its directory, runs (CR-22). If a step before
// requires approval, the call is not previewed but asked about.
func TestPlanModeRunsWhatPolicyAllows(t *testing.T) {
	s := newSetup(tools.KindEdit, policy.Allow, bus.ProceedOnce)
	s.options.Mode = func() policy.ApprovalMode { return policy.ModePlan }
	require.Equal(t, "done", s.call(t.Context()).Result.LLMContent.String())
	s.steps = nil
	s.options.Before = []scheduler.Before{func(context.Context, scheduler.Proposal) (scheduler.Advice, error) {
		return scheduler.Advice{Verdict: policy.AskUser}, nil
	}}
	require.Equal(t, "done", s.call(t.Context()).Result.LLMContent.String())
	require.Equal(t, "build decide confirm ask execute", strings.Join(s.steps, " "))
}

// A call that changes nothing runs in plan mode.
func TestPlanModeRunsReaders(t *testing.T) {
	s := newSetup(tools.KindRead, policy.Allow, "")
	s.options.Mode = func() policy.ApprovalMode { return policy.ModePlan }
	require.Equal(t, "done", s.call(t.Context()).Result.LLMContent.String())
}

// Calls run concurrently on one scheduler.
func TestConcurrentCalls(t *testing.T) {
	type params struct {
		N int `json:"n"`
	}
	r := tools.NewRegistry(tools.RegistryOptions{})
	tool, err := tools.Define("count", "Counts.", tools.KindRead, func(_ context.Context, p params) (tools.Result, error) {
		content, err := tools.JSON(p)
		return tools.Result{LLMContent: content}, err
	}, tools.WithParallel())
	require.NoError(t, err)
	require.NoError(t, r.Register(tool))
	s := scheduler.New(scheduler.Options{Tools: r})
	var running sync.WaitGroup
	for range 64 {
		running.Go(func() {
			response := s.Run(t.Context(), scheduler.Request{Tool: "count", Args: json.RawMessage(`{"n":"7"}`)})
			if got := response.Result.LLMContent.String(); got != `{"n":7}` {
				t.Errorf("got %s", got)
			}
		})
	}
	running.Wait()
}

// FuzzRun: for any request there is one response with a status and, unless it succeeded, a code; never a panic.
func FuzzRun(f *testing.F) {
	type params struct {
		Text string `json:"text"`
		N    int8   `json:"n,omitempty"`
	}
	r := tools.NewRegistry(tools.RegistryOptions{})
	for _, kind := range []tools.Kind{tools.KindRead, tools.KindEdit, tools.KindOther} {
		tool, err := tools.Define("tool_"+string(kind), "X.", kind, func(_ context.Context, p params) (tools.Result, error) {
			if p.N < 0 {
				panic("negative")
			}
			return tools.Result{LLMContent: tools.Text(p.Text)}, nil
		})
		require.NoError(f, err)
		require.NoError(f, r.Register(tool))
	}
	f.Add("tool_read", []byte(`{"text":"a","n":"3"}`), "default")
	f.Add("tool_edit", []byte(`{"text":"a"}`), "plan")
	f.Add("tool_other", []byte(`{"text":1e9999999}`), "yolo")
	f.Add("tool_read", []byte(`{"text":"a","n":-1}`), "")
	f.Add("absent", []byte(`[`), "autoEdit")
	f.Fuzz(func(t *testing.T, name string, args []byte, mode string) {
		s := scheduler.New(scheduler.Options{Tools: r, Mode: func() policy.ApprovalMode { return policy.ApprovalMode(mode) }})
		response := s.Run(t.Context(), scheduler.Request{Tool: name, Args: args})
		switch response.Status {
		case scheduler.StatusSuccess:
			require.Nil(t, response.Result.Error)
			require.True(t, json.Valid(response.Params))
		case scheduler.StatusError, scheduler.StatusDenied:
			require.NotEmpty(t, response.Result.Error.Code)
		default:
			t.Fatalf("status %q", response.Status)
		}
		require.True(t, json.Valid(response.Result.FunctionResponse()))
	})
}

// ST-05: an invocation that would now change something else is decided again, asked about again, and executed again.
func TestConfirmAgain(t *testing.T) {
	for _, tt := range []struct {
		second bus.Outcome
		status scheduler.Status
		steps  []string
	}{
		{bus.ProceedOnce, scheduler.StatusSuccess, []string{"build", "decide", "confirm", "ask", "execute", "decide", "confirm", "ask", "execute"}},
		{bus.Cancel, scheduler.StatusDenied, []string{"build", "decide", "confirm", "ask", "execute", "decide", "confirm", "ask"}},
	} {
		s := newSetup(tools.KindEdit, policy.AskUser, bus.ProceedOnce)
		s.answer = func(bus.ToolConfirmationRequest) bus.ToolConfirmationResponse {
			if len(s.questions) > 1 {
				return answerWith(tt.second)
			}
			return answerWith(bus.ProceedOnce)
		}
		runs := 0
		s.run = func(context.Context, tools.Output) (tools.Result, error) {
			if runs++; runs == 1 {
				return tools.Result{}, tools.ErrConfirmAgain
			}
			return tools.Result{LLMContent: tools.Text("done")}, nil
		}
		require.Equal(t, tt.status, s.call(t.Context()).Status)
		require.Equal(t, tt.steps, s.steps)
	}

	// Without a question the call is only decided again.
	s := newSetup(tools.KindEdit, policy.Allow, bus.Cancel)
	runs := 0
	s.run = func(context.Context, tools.Output) (tools.Result, error) {
		if runs++; runs < 3 {
			return tools.Result{}, tools.ErrConfirmAgain
		}
		return tools.Result{}, nil
	}
	require.Equal(t, scheduler.StatusSuccess, s.call(t.Context()).Status)
	require.Equal(t, []string{"build", "decide", "execute", "decide", "execute", "decide", "execute"}, s.steps)
	require.Empty(t, s.questions)
}
