package plan_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools/plan"
)

// TO-18: enter and leave plan mode, with the user's consent each time, and return to the previous mode.
func TestPlanMode(t *testing.T) {
	for _, before := range []policy.ApprovalMode{policy.ModeDefault, policy.ModeAutoEdit} {
		t.Run(string(before), func(t *testing.T) {
			s := newSession(t, in(before))
			text := succeed(t, s.Call(plan.EnterPlanMode, args{"reason": "It is\nlarge."}))
			require.Contains(t, text, s.Path(".fettle/plans"))
			require.Equal(t, policy.ModePlan, s.ApprovalMode())
			require.DirExists(t, s.Path(".fettle/plans"))
			require.Len(t, s.Confirmations(), 1)
			require.Contains(t, s.Confirmations()[0].Details.Prompt, "\n\nIt is\nlarge.")

			// Only a plan can be written now.
			succeed(t, s.Call("write_file", args{"file_path": "code.go", "content": "package code\n"}))
			require.NoFileExists(t, s.Path("code.go"))
			succeed(t, s.Call("write_file", args{"file_path": ".fettle/plans/way.md", "content": "# The way\n"}))
			require.Len(t, s.Confirmations(), 1)

			text = succeed(t, s.Call(plan.ExitPlanMode, args{"plan_filename": "way.md"}))
			require.Contains(t, text, s.Path(".fettle/plans/way.md"))
			require.Contains(t, text, "the approval mode is "+string(before)+".")
			require.Equal(t, before, s.ApprovalMode())
			asked := s.Confirmations()[1]
			require.Equal(t, confirmation.Info, asked.Details.Type)
			require.Contains(t, asked.Details.Prompt, s.Path(".fettle/plans/way.md")+"\n\n# The way\n")
			require.NotContains(t, asked.Details.Prompt, "[cut here")
		})
	}
}

// TO-18: without consent the mode stays, and the user's feedback reaches the model.
func TestWithoutConsent(t *testing.T) {
	s := newSession(t)
	s.Answer = refuses
	r := s.Call(plan.EnterPlanMode, args{})
	require.Equal(t, fault.DeniedByUser, r.Result.Error.Code)
	require.Equal(t, policy.ModeDefault, s.ApprovalMode())
	require.NoDirExists(t, s.Path(".fettle"))

	for name, answer := range map[string]bus.ToolConfirmationResponse{
		"a no":                                  {Outcome: bus.Cancel},
		"a confirmed plan that is not approved": {Outcome: bus.ProceedOnce, Confirmed: true, Payload: bus.Payload{Approved: new(bool)}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, in(policy.ModePlan))
			s.Write(".fettle/plans/a.md", "# Plan\n")
			b := s.MessageBus()
			bus.Subscribe(t.Context(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
				answer.CorrelationID, answer.Payload.Feedback = q.CorrelationID, "Begin with the tests."
				_ = b.Publish(answer)
			})
			held := make(chan struct{})
			defer close(held)
			s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { <-held; return bus.Cancel }
			r := s.Call(plan.ExitPlanMode, args{"plan_filename": "a.md"})
			require.Equal(t, fault.DeniedByUser, r.Result.Error.Code)
			require.Contains(t, r.Result.Error.Message, "Begin with the tests.")
			require.Equal(t, "Plan mode stays. Change the plan accordingly and call exit_plan_mode again.", r.Result.Error.Remedy)
			require.Equal(t, policy.ModePlan, s.ApprovalMode())
		})
	}
}

// A session that starts in plan mode learns the directory of plans from the error for a missing plan, as the description
// states.
func TestPlaceOfPlans(t *testing.T) {
	s := newSession(t, in(policy.ModePlan))
	require.Contains(t, s.tool(plan.ExitPlanMode).Spec().Description, "the error names the path to write it to")
	r := s.Call(plan.ExitPlanMode, args{"plan_filename": "way.md"})
	require.Equal(t, fault.FileNotFound, r.Result.Error.Code)
	require.Contains(t, r.Result.Error.Message, s.Path(".fettle/plans/way.md"))
	require.Contains(t, r.Result.Error.Remedy, "directly in "+s.Path(".fettle/plans")+".")
	succeed(t, s.Call("write_file", args{"file_path": s.Path(".fettle/plans/way.md"), "content": "# The way\n"}))
	succeed(t, s.Call(plan.ExitPlanMode, args{"plan_filename": "way.md"}))
}

// A rule may allow it; the mode after a plan is never yolo nor an unknown mode.
func TestModeAfter(t *testing.T) {
	for before, want := range map[string]string{
		"default": "default", "autoEdit": "autoEdit", "yolo": "default", "plan": "default", "": "default",
	} {
		require.Equal(t, want, plan.ModeAfter(before), before)
	}
	s := newSession(t, in(policy.ModeYolo))
	s.Write(".fettle/plans/a.md", "# Plan\n")
	succeed(t, s.Call(plan.EnterPlanMode, args{}))
	require.Equal(t, policy.ModePlan, s.ApprovalMode())
	require.Empty(t, s.Confirmations(), "yolo needs no approval")
	succeed(t, s.Call(plan.ExitPlanMode, args{"plan_filename": "a.md"}))
	require.Equal(t, policy.ModeDefault, s.ApprovalMode())
	require.Len(t, s.Confirmations(), 1)

	s = newSession(t, in(policy.ModePlan), func(p *config.Parameters) {
		p.Policy.Rules = append(p.Policy.Rules, policy.Rule{Tools: []string{plan.ExitPlanMode}, Modes: []policy.ApprovalMode{policy.ModePlan}, Decision: policy.Allow, Tier: policy.TierUser})
	})
	s.Write(".fettle/plans/a.md", "# Plan\n")
	require.Contains(t, succeed(t, s.Call(plan.ExitPlanMode, args{"plan_filename": "a.md"})), "the approval mode is default.")
	require.Empty(t, s.Confirmations())
}

// In the wrong mode no approval is requested.
func TestWrongMode(t *testing.T) {
	s := newSession(t, in(policy.ModePlan))
	r := s.Call(plan.EnterPlanMode, args{})
	require.Equal(t, fault.ExecutionFailed, r.Result.Error.Code)
	require.Contains(t, r.Result.Error.Remedy, plan.ExitPlanMode)

	s = newSession(t)
	s.Write(".fettle/plans/a.md", "# Plan\n")
	r = s.Call(plan.ExitPlanMode, args{"plan_filename": "a.md"})
	require.Equal(t, fault.ExecutionFailed, r.Result.Error.Code)
	require.Contains(t, r.Result.Error.Message, "the approval mode is default")
	require.Contains(t, r.Result.Error.Remedy, plan.EnterPlanMode)
	require.Equal(t, policy.ModeDefault, s.ApprovalMode())
	require.Empty(t, s.Confirmations())

	require.Equal(t, []string{plan.EnterPlanMode}, plan.Hidden("plan"))
	for _, mode := range []string{"default", "autoEdit", "yolo", ""} {
		require.Equal(t, []string{plan.ExitPlanMode}, plan.Hidden(mode))
	}
}

// An invalid plan does not end plan mode, and no approval is requested.
func TestExitRefuses(t *testing.T) {
	s := newSession(t, in(policy.ModePlan))
	dir := s.Path(".fettle/plans")
	s.Write(".fettle/plans/a.md", "# Plan\n")
	s.Write(".fettle/plans/blank.md", "\n \t\n")
	s.Write(".fettle/plans/empty.md", "")
	s.Write(".fettle/plans/latin1.md", "Gr\xfc\xdfe\n")
	s.Write(".fettle/plans/binary.md", "\xff\xfe\x00")
	s.Write(".fettle/plans/nul.md", "\u00ff\u00fe\x00")
	s.Write(".fettle/plans/huge.md", strings.Repeat("x", 1<<20+1))
	s.Write("secret.md", "secret\n")
	outside := filepath.Join(t.TempDir(), "outside.md")
	require.NoError(t, os.WriteFile(outside, []byte("outside\n"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	for name, target := range map[string]string{
		"dangling.md": "nowhere.md", "out.md": outside, "up.md": "../../secret.md", "loop.md": "loop.md", "within.md": "a.md", "folder": s.Dir,
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	for name, want := range map[string]fault.Code{
		"absent.md":                  fault.FileNotFound,
		"sub":                        fault.TargetIsDirectory,
		"blank.md":                   fault.ExecutionFailed,
		"empty.md":                   fault.ExecutionFailed,
		"latin1.md":                  fault.ReadContentFailure,
		"binary.md":                  fault.ReadContentFailure,
		"nul.md":                     fault.ReadContentFailure,
		"huge.md":                    fault.FileTooLarge,
		"dangling.md":                fault.FileNotFound,
		"loop.md":                    fault.FileNotFound,
		"out.md":                     fault.PathNotInWorkspace,
		"up.md":                      fault.PathNotInWorkspace,
		"folder/secret.md":           fault.PathNotInWorkspace,
		"../../secret.md":            fault.PathNotInWorkspace,
		"../plans":                   fault.PathNotInWorkspace,
		".":                          fault.PathNotInWorkspace,
		outside:                      fault.PathNotInWorkspace,
		s.Path("secret.md"):          fault.PathNotInWorkspace,
		filepath.Join(dir, "out.md"): fault.PathNotInWorkspace,
	} {
		r := s.Call(plan.ExitPlanMode, args{"plan_filename": name})
		require.Equal(t, scheduler.StatusError, r.Status, name)
		require.Equal(t, want, r.Result.Error.Code, "%s: %s", name, r.Result.Error.Message)
		require.NotEmpty(t, r.Result.Error.Remedy)
		require.Equal(t, policy.ModePlan, s.ApprovalMode())
	}
	require.Empty(t, s.Confirmations())

	// All these names refer to a plan.
	for _, name := range []string{"a.md", "within.md", ".fettle/plans/a.md", "sub/../a.md", filepath.Join(dir, "a.md"), "../plans/a.md"} {
		require.NoError(t, s.SetApprovalMode(policy.ModePlan))
		succeed(t, s.Call(plan.ExitPlanMode, args{"plan_filename": name}))
	}
}

// The approved plan is the one that was shown.
func TestPlanChangesWhileItIsRead(t *testing.T) {
	s := newSession(t, in(policy.ModePlan))
	s.Write(".fettle/plans/a.md", "# Plan\n")
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome {
		s.Write(".fettle/plans/a.md", "# Another plan\n")
		return bus.ProceedOnce
	}
	r := s.Call(plan.ExitPlanMode, args{"plan_filename": "a.md"})
	require.Equal(t, fault.FileChangedSinceRead, r.Result.Error.Code)
	require.Equal(t, policy.ModePlan, s.ApprovalMode())
}

// A long plan is cut between characters, with a note.
func TestLongPlan(t *testing.T) {
	s := newSession(t, in(policy.ModePlan))
	text := "x" + strings.Repeat("ü", 20_000)
	s.Write(".fettle/plans/a.md", text)
	succeed(t, s.Call(plan.ExitPlanMode, args{"plan_filename": "a.md"}))
	_, shown, _ := strings.Cut(s.Confirmations()[0].Details.Prompt, "\n\n")
	shown, note, _ := strings.Cut(shown, "\n\n")
	require.Equal(t, text[:32767], shown)
	require.Equal(t, "[cut here: 32767 of 40001 bytes are shown; the rest is in the file]", note)
}

// If the directory of plans cannot be created, or the mode cannot be changed, nothing happens.
func TestEnterFails(t *testing.T) {
	s := newSession(t)
	s.Write(".fettle", "a file")
	r := s.Call(plan.EnterPlanMode, args{})
	require.Equal(t, fault.PathIsNotADirectory, r.Result.Error.Code)
	require.Equal(t, policy.ModeDefault, s.ApprovalMode())

	s = newSession(t)
	require.NoError(t, os.Symlink(t.TempDir(), s.Path(".fettle")))
	r = s.Call(plan.EnterPlanMode, args{})
	require.Equal(t, fault.PathNotInWorkspace, r.Result.Error.Code)

	s = newSession(t)
	s.modes.fail = errors.New("not now")
	r = s.Call(plan.EnterPlanMode, args{})
	require.Equal(t, fault.ExecutionFailed, r.Result.Error.Code)
	require.Contains(t, r.Result.Error.Message, "not now")
	require.NoDirExists(t, s.Path(".fettle"), "the created directory is removed")

	s.modes.fail = nil
	require.NoError(t, s.SetApprovalMode(policy.ModePlan))
	s.Write(".fettle/plans/a.md", "# Plan\n")
	s.modes.fail = fault.New(fault.UntrustedFolder, "x.y", "Not here.", "")
	r = s.Call(plan.ExitPlanMode, args{"plan_filename": "a.md"})
	require.Equal(t, fault.UntrustedFolder, r.Result.Error.Code)
	require.Equal(t, policy.ModePlan, s.ApprovalMode())
}

// A call whose ctx has ended does not change the mode.
func TestCancelled(t *testing.T) {
	s := newSession(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Write(".fettle/plans/a.md", "# Plan\n")
	for name, before := range map[string]policy.ApprovalMode{plan.EnterPlanMode: policy.ModeDefault, plan.ExitPlanMode: policy.ModePlan} {
		require.NoError(t, s.SetApprovalMode(before))
		arguments := map[string]string{plan.EnterPlanMode: `{}`, plan.ExitPlanMode: `{"plan_filename":"a.md"}`}[name]
		inv, err := s.tool(name).Build(json.RawMessage(arguments))
		require.NoError(t, err)
		result, err := inv.Execute(ctx, nil)
		require.NoError(t, err)
		require.Equal(t, fault.Cancelled, result.Error.Code)
		require.Equal(t, before, s.ApprovalMode())
	}
}
