package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// ExitPlanModeParams are the parameters of exit_plan_mode.
type ExitPlanModeParams struct {
	PlanFilename string `json:"plan_filename" jsonschema_description:"The file of the plan: its name in the directory of plans, such as feature.md, or its path, absolute or relative to the target directory. It must lie in that directory."`
}

const exitPlanModeDescription = "Shows your plan to the user and asks for approval to carry it out. " +
	"If the user approves, plan mode ends and the previous approval mode is restored. If not, plan mode stays and the result has the user's feedback: change the plan and call again. " +
	"Call it only in plan mode and when the plan is complete, not to ask questions about it. " +
	"The plan is a non-blank UTF-8 text file of at most 1 MiB in the directory of plans; the user sees its first 32 KiB. " +
	"The result of " + EnterPlanMode + " names that directory. If the session started in plan mode, call this with the intended name of the plan: while the file does not exist, the error names the path to write it to."

func newExitPlanMode() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, ExitPlanModeParams]{
		Spec: tools.Spec{
			Name: ExitPlanMode, DisplayName: "Exit Plan Mode", Description: exitPlanModeDescription, Kind: tools.KindOther,
		},
		Rewrite: func(args map[string]json.RawMessage) error {
			if _, both := args["plan_filename"]; !both && args["plan_path"] != nil {
				args["plan_filename"] = args["plan_path"]
				delete(args, "plan_path")
			}
			return nil
		},
		Validate: func(_ Services, p ExitPlanModeParams) error {
			if strings.TrimSpace(p.PlanFilename) == "" {
				return badParameter("The 'plan_filename' parameter must be non-empty.", "Pass the name of the plan's file.")
			}
			return nil
		},
		Build: func(s Services, p ExitPlanModeParams, params json.RawMessage) (tools.ToolInvocation, error) {
			path, err := s.locate(p.PlanFilename)
			if err != nil {
				return nil, err
			}
			return &exitPlanMode{services: s, path: path, params: params}, nil
		},
	})
}

type exitPlanMode struct {
	services Services
	path     workspace.Path
	params   json.RawMessage
	shown    *document // the plan that was approved; nil: no approval was needed
}

func (e *exitPlanMode) Params() json.RawMessage { return e.params }

func (e *exitPlanMode) Description() string {
	return "Leave plan mode with the plan " + escape.Quoted(e.path.Rel())
}

func (e *exitPlanMode) Locations() []tools.Location {
	return []tools.Location{{Path: e.path.String()}}
}

// maxShown is the number of bytes of a plan that the user sees.
const maxShown = 32 << 10

// Confirmation shows the plan and asks for the user's consent.
func (e *exitPlanMode) Confirmation(ctx context.Context) (*tools.Confirmation, error) {
	plan, refusal := e.read(ctx)
	if refusal != nil {
		return nil, tools.WillRefuse(tools.Fail(refusal))
	}
	e.shown = plan
	text := escape.Head(plan.text, maxShown)
	if len(text) < len(plan.text) {
		text += fmt.Sprintf("\n\n[cut here: %d of %d bytes are shown; the rest is in the file]", len(text), len(plan.text))
	}
	return &tools.Confirmation{
		Type: tools.ConfirmInfo, Title: "Confirm Plan: " + escape.Quoted(e.path.Rel()),
		InfoDetails: &tools.InfoDetails{Prompt: "Leave plan mode and carry out this plan?\n" + escape.Quoted(e.path.String()) + "\n\n" + text},
		IfDeclined:  "Plan mode stays. Change the plan accordingly and call " + ExitPlanMode + " again.",
		Bases:       []tools.FileVersion{{Path: e.path.String(), SHA256: plan.sha256}},
	}, nil
}

// read returns the plan, or why plan mode cannot end with it.
func (e *exitPlanMode) read(ctx context.Context) (*document, *fault.Error) {
	if mode := e.services.Mode.Mode(); mode != planMode {
		return nil, fault.New(fault.ExecutionFailed, "plan.exit",
			fmt.Sprintf("Plan mode is not in force; the approval mode is %s.", mode),
			"Continue with the work. Call "+EnterPlanMode+" first if a plan should be agreed on.")
	}
	plan, err := e.services.read(ctx, e.path)
	if err != nil {
		return nil, failed(ctx, "plan.exit", err)
	}
	return plan, nil
}

// Execute ends plan mode if the plan is still the approved one.
func (e *exitPlanMode) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	plan, refusal := e.read(ctx)
	if refusal != nil {
		return tools.Fail(refusal), nil
	}
	if e.shown != nil && e.shown.sha256 != plan.sha256 {
		return tools.Fail(fault.New(fault.FileChangedSinceRead, "plan.exit",
			e.path.String()+" has changed since it was shown to the user; plan mode stays.",
			"Read it again, and call "+ExitPlanMode+" again when it is complete.").Because(fault.Changed)), nil
	}
	mode, err := e.services.Mode.LeavePlan(ctx)
	if err != nil {
		return tools.Fail(failed(ctx, "plan.exit", err)), nil
	}
	return tools.Result{
		LLMContent: tools.Text(fmt.Sprintf("The plan in %s is approved and plan mode has ended; the approval mode is %s. "+
			"Carry out the plan step by step; if it turns out to be wrong, report that before you deviate from it.", escape.Quoted(e.path.String()), mode)),
		ReturnDisplay: tools.TextDisplay("The plan is approved; the approval mode is " + mode + "."),
	}, nil
}
