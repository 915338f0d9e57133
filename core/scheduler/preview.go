package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// preview is what a call of plan mode gives: what would be asked about. It fits
// [tools.PreviewSchema].
func preview(c *tools.Confirmation) tools.Result {
	if c.ForPeople {
		told := c.ForModel
		if told == "" {
			told = "The preview of " + c.Title + " is not shown, as the file may not be read. Read it with read_file first, if that is allowed."
		}
		told = "Plan mode: nothing was changed. " + told
		result := tools.Result{LLMContent: tools.Text(told), ReturnDisplay: previewDisplay(c)}
		if said, err := tools.JSON(shown{Notice: told}); err == nil {
			result.Structured = json.RawMessage(said.String())
		}
		return result
	}
	content, err := tools.JSON(shown{"Plan mode: this is what the call would do. Nothing was changed.", withoutDeclaration(c)})
	if err != nil {
		content = tools.Text("Plan mode: nothing was changed. " + c.Title)
	}
	return tools.Result{LLMContent: content, ReturnDisplay: previewDisplay(c)}
}

// shown is a preview as it is told; see [tools.PreviewSchema].
type shown struct {
	Notice  string              `json:"notice"`
	Preview *tools.Confirmation `json:"preview,omitempty"`
}

// withoutDeclaration is what is asked about without what the model has been told of
// the tool before.
func withoutDeclaration(c *tools.Confirmation) *tools.Confirmation {
	if c.MCPDetails == nil {
		return c
	}
	short, details := *c, *c.MCPDetails
	details.ToolDescription, details.ToolParameterSchema = "", nil
	short.MCPDetails = &details
	return &short
}

func previewDisplay(c *tools.Confirmation) tools.Display {
	switch {
	case c.EditDetails != nil:
		e := c.EditDetails
		return tools.Display{Diff: &tools.FileDiff{
			FileDiff:        e.FileDiff,
			FileName:        e.FileName,
			FilePath:        e.FilePath,
			OriginalContent: e.OriginalContent,
			NewContent:      e.NewContent,
			DiffStat:        e.DiffStat,
			IsNewFile:       e.OriginalContent == nil,
		}}
	case c.ExecDetails != nil:
		return tools.TextDisplay(c.Title + "\n" + c.Command)
	case c.InfoDetails != nil:
		return tools.TextDisplay(c.Title + "\n" + c.Prompt)
	}
	return tools.TextDisplay(c.Title)
}

// noPreview ends a call of plan mode whose confirmation step failed. One that
// would be refused is not executed to find out why, as outside of plan mode:
// it is told what comes with [tools.ErrWillRefuse].
func (c *call) noPreview(ctx context.Context, err error) Response {
	if refusal := new(tools.Refusal); errors.As(err, &refusal) {
		c.gave = true
		return c.after(ctx, c.ended(ctx, refusal.Result, refusal.Result.Error))
	}
	if errors.Is(err, tools.ErrWillRefuse) && fault.As(err) == nil {
		err = fault.Wrap(fault.ExecutionFailed, "scheduler.preview",
			fmt.Sprintf("%s would refuse this call, so there is no preview. In plan mode it was not run.", c.name),
			"Read what the call is about again, and correct its arguments.", err)
	}
	return c.ended(ctx, tools.Result{}, err)
}
