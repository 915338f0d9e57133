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
	PlanFilename string `json:"plan_filename" jsonschema_description:"The file that holds the plan: its name in the directory of plans, as feature.md, or its path, absolute or relative to the target directory. It must lie in that directory."`
}

const exitPlanModeDescription = "Shows the user the plan that you have written and asks for leave to carry it out. " +
	"If the user agrees, plan mode ends and the approval mode from before it is in force again; if not, plan mode stays, and you are told what the user said: change the plan and call again. " +
	"Call it only in plan mode, when the plan is complete, and not to ask questions about it. " +
	"The plan is a text file in UTF-8, not blank, at most 1 MiB, in the directory of plans; the user is shown its first 32 KiB. " +
	"The result of " + EnterPlanMode + " names that directory. Where the session began in plan mode, call this with the name that the plan shall have: while there is no such file, the refusal names the path to write it to."

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
				return badParameter("The 'plan_filename' parameter must be non-empty.", "Give the name of the file that holds the plan.")
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
	shown    *document // what a person was shown; nil: nobody was asked
}

func (e *exitPlanMode) Params() json.RawMessage { return e.params }

func (e *exitPlanMode) Description() string {
	return "Leave plan mode with the plan " + escape.Quoted(e.path.Rel())
}

func (e *exitPlanMode) Locations() []tools.Location {
	return []tools.Location{{Path: e.path.String()}}
}

// maxShown is how much of a plan a person is shown, in bytes.
const maxShown = 32 << 10

// Confirmation shows the plan and asks for the person's consent (TO-18).
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

// read returns the plan, or why plan mode cannot be left with it.
func (e *exitPlanMode) read(ctx context.Context) (*document, *fault.Error) {
	if mode := e.services.Mode.Mode(); mode != planMode {
		return nil, fault.New(fault.ExecutionFailed, "plan.exit",
			fmt.Sprintf("Plan mode is not in force; the approval mode is %s.", mode),
			"Go on with the work. Call "+EnterPlanMode+" first if a plan should be agreed on.")
	}
	plan, err := e.services.read(ctx, e.path)
	if err != nil {
		return nil, failed(ctx, "plan.exit", err)
	}
	return plan, nil
}

// Execute leaves plan mode if the plan is still the one that was approved.
func (e *exitPlanMode) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	plan, refusal := e.read(ctx)
	if refusal != nil {
		return tools.Fail(refusal), nil
	}
	if e.shown != nil && e.shown.sha256 != plan.sha256 {
		return tools.Fail(fault.New(fault.FileChangedSinceRead, "plan.exit",
			e.path.String()+" was changed after the user had been shown it; plan mode stays.",
			"Read it again, and call "+ExitPlanMode+" again when it is complete.").Because(fault.Changed)), nil
	}
	mode, err := e.services.Mode.LeavePlan(ctx)
	if err != nil {
		return tools.Fail(failed(ctx, "plan.exit", err)), nil
	}
	return tools.Result{
		LLMContent: tools.Text(fmt.Sprintf("The plan in %s is approved and plan mode is left; the approval mode is %s. "+
			"Carry the plan out step by step; where it turns out to be wrong, say so before you leave it.", escape.Quoted(e.path.String()), mode)),
		ReturnDisplay: tools.TextDisplay("The plan is approved; the approval mode is " + mode + "."),
	}, nil
}
