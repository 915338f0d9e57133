package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// preview returns the result of a call in plan mode: the confirmation. It matches [tools.PreviewSchema].
func preview(c *tools.Confirmation) tools.Result {
	if c.UserOnly {
		notice := c.ForModel
		if notice == "" {
			notice = "The preview of " + c.Title + " is not shown, as the file may not be read. Read it with read_file first, if that is allowed."
		}
		notice = "Plan mode: nothing was changed. " + notice
		result := tools.Result{LLMContent: tools.Text(notice), ReturnDisplay: previewDisplay(c)}
		if content, err := tools.JSON(shown{Notice: notice}); err == nil {
			result.Structured = json.RawMessage(content.String())
		}
		return result
	}
	content, err := tools.JSON(shown{"Plan mode: preview of the call. Nothing was changed.", withoutDeclaration(c)})
	if err != nil {
		content = tools.Text("Plan mode: nothing was changed. " + c.Title)
	}
	return tools.Result{LLMContent: content, ReturnDisplay: previewDisplay(c)}
}

// shown is a preview for the model; see [tools.PreviewSchema].
type shown struct {
	Notice  string              `json:"notice"`
	Preview *tools.Confirmation `json:"preview,omitempty"`
}

// withoutDeclaration returns a confirmation without the parts of the tool's declaration, which the model already has.
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

// noPreview ends a call in plan mode whose confirmation step failed. Plan mode does not execute such a call to obtain
// its error, but returns the error that comes with [tools.ErrWillRefuse].
func (c *call) noPreview(ctx context.Context, err error) Response {
	if refusal := new(tools.Refusal); errors.As(err, &refusal) {
		c.gave = true
		return c.after(ctx, c.ended(ctx, refusal.Result, refusal.Result.Error))
	}
	if errors.Is(err, tools.ErrWillRefuse) && fault.As(err) == nil {
		err = fault.Wrap(fault.ExecutionFailed, "scheduler.preview",
			fmt.Sprintf("%s would fail for this call, so there is no preview. In plan mode it was not run.", c.name),
			"Read the current state again, and correct the arguments.", err)
	}
	return c.ended(ctx, tools.Result{}, err)
}
