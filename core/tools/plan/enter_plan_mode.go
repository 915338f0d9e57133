package plan

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// EnterPlanModeParams are the parameters of enter_plan_mode.
type EnterPlanModeParams struct {
	Reason string `json:"reason,omitempty" jsonschema_description:"Why this task needs a plan first, in a sentence for the user, who is asked for approval."`
}

const enterPlanModeDescription = "Asks the user to enter plan mode. In plan mode nothing is changed: a tool that would change something only previews the change. " +
	"You can read and search files as before, and write Markdown files directly in the directory of plans. " +
	"Use it before large or risky work, when the approach should be agreed on first; not for small and clear tasks. " +
	"In plan mode explore the project, write the plan to a Markdown file in that directory, which the result names, and then call " + ExitPlanMode + "."

func newEnterPlanMode() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, EnterPlanModeParams]{
		Spec: tools.Spec{
			Name: EnterPlanMode, DisplayName: "Enter Plan Mode", Description: enterPlanModeDescription, Kind: tools.KindOther,
		},
		Build: func(s Services, p EnterPlanModeParams, params json.RawMessage) (tools.ToolInvocation, error) {
			return &enterPlanMode{s, p, params}, nil
		},
	})
}

type enterPlanMode struct {
	services Services
	p        EnterPlanModeParams
	params   json.RawMessage
}

func (e *enterPlanMode) Params() json.RawMessage { return e.params }

func (e *enterPlanMode) Description() string {
	if reason := escape.OneLine(e.p.Reason); reason != "" {
		return "Enter plan mode: " + reason
	}
	return "Enter plan mode"
}

func (e *enterPlanMode) Locations() []tools.Location { return nil }

// Confirmation asks for the user's consent.
func (e *enterPlanMode) Confirmation(context.Context) (*tools.Confirmation, error) {
	if refusal := e.refusal(); refusal != nil {
		return nil, tools.WillRefuse(tools.Fail(refusal))
	}
	prompt := "Enter plan mode? Nothing is changed until a plan is approved."
	if reason := strings.TrimSpace(e.p.Reason); reason != "" {
		prompt += "\n\n" + reason
	}
	return &tools.Confirmation{Type: tools.ConfirmInfo, Title: "Enter Plan Mode", InfoDetails: &tools.InfoDetails{Prompt: prompt}}, nil
}

func (e *enterPlanMode) refusal() *fault.Error {
	if e.services.Mode.Mode() != planMode {
		return nil
	}
	return fault.New(fault.ExecutionFailed, "plan.enter", "Plan mode is already in force.",
		"Write the plan to a Markdown file in "+e.services.Dir+", then call "+ExitPlanMode+" with its name.")
}

// Execute creates the directory of plans and then enters plan mode, or does neither.
func (e *enterPlanMode) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	if refusal := e.refusal(); refusal != nil {
		return tools.Fail(refusal), nil
	}
	undo, err := e.makeDir(ctx)
	if err != nil {
		return tools.Fail(failed(ctx, "plan.enter", err)), nil
	}
	if err := e.services.Mode.EnterPlan(ctx); err != nil {
		undo()
		return tools.Fail(failed(ctx, "plan.enter", err)), nil
	}
	return tools.Result{
		LLMContent: tools.Text("Plan mode is now in force: tools that change something only preview the change. " +
			"Explore the project, then write the plan to a Markdown file (.md) directly in " + e.services.Dir +
			", and call " + ExitPlanMode + " with its name when the plan is ready."),
		ReturnDisplay: tools.TextDisplay("Plan mode is in force."),
	}, nil
}

func (e *enterPlanMode) makeDir(ctx context.Context) (undo func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	inside, err := e.services.Files.Resolve(filepath.Join(e.services.Dir, "plan.md"))
	if err != nil {
		return nil, err
	}
	return e.services.Files.MakeParents(inside)
}
