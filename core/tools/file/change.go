package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// Report is the result of a change for the model, on every exit.
type Report struct {
	Success         bool               `json:"success"`
	Message         string             `json:"message"` // for an error: the failure, then the remedy
	LatestFileState filestate.State    `json:"latest_file_state"`
	Corrections     []patch.Correction `json:"corrections,omitempty"` // repairs of the diff
	KeptFiles       []string           `json:"kept_files,omitempty"`  // copies of concurrent changes by other programs, next to the target
}

// change is the invocation of the tools that change a file: it computes a plan once, shows it, and commits it.
type change struct {
	services Services
	request  mutation.Request
	params   json.RawMessage
	action   string // for the user: "Write", "Edit"
	done     func(*mutation.Plan) string
	amend    func(params json.RawMessage, a amendment) (json.RawMessage, error)
	retry    func(path workspace.Path, next *mutation.Plan) *retry // for a carried-over change; nil: none is offered
	endings  textfile.Newline                                      // requested by the call; empty: the file's own
	files    []string                                              // see [tools.PerFile]
	plan     *mutation.Plan
	refusal  *tools.Result // of plan
	proposal *proposal     // the model's proposal that the user replaced; nil: the change is the model's own
}

var _ tools.Modifiable = (*change)(nil)

func (c *change) Params() json.RawMessage { return c.params }

// Files returns the file of a tool that has no argument file_path, else none.
func (c *change) Files() []string { return c.files }

func (c *change) Description() string { return c.action + " " + short(c.request.Path) }

func (c *change) Locations() []tools.Location {
	return []tools.Location{{Path: c.request.Path.String()}}
}

func (c *change) planned(ctx context.Context) *mutation.Plan {
	if c.plan == nil {
		c.plan = c.services.Mutator.Plan(ctx, c.request)
	}
	return c.plan
}

// Confirmation shows the change that will be committed. A plan that failed needs no approval: the error matches
// [tools.ErrWillRefuse] and carries the result.
func (c *change) Confirmation(ctx context.Context) (*tools.Confirmation, error) {
	plan := c.planned(ctx)
	if plan.Refused() != nil {
		result, err := c.result(ctx, plan)
		return nil, errors.Join(err, tools.WillRefuse(result))
	}
	diff := c.fileDiff(plan)
	return &tools.Confirmation{
		Type:  tools.ConfirmEdit,
		Title: "Confirm " + c.action + ": " + short(c.request.Path),
		EditDetails: &tools.EditDetails{
			FileName: diff.FileName, FilePath: diff.FilePath, FileDiff: diff.FileDiff,
			OriginalContent: diff.OriginalContent, NewContent: diff.NewContent, DiffStat: diff.DiffStat,
		},
		UserOnly: plan.Hidden(),
		Paths:    []string{c.request.Path.String()},
		Bases:    []tools.FileVersion{{Path: c.request.Path.String(), SHA256: plan.Base().SHA256}},
	}, nil
}

// Execute commits the plan, which it computes now if no approval was needed.
func (c *change) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	return c.result(ctx, c.planned(ctx))
}

// result commits plan, or returns the error of a failed one, and reports.
func (c *change) result(ctx context.Context, plan *mutation.Plan) (tools.Result, error) {
	if c.refusal != nil {
		return *c.refusal, nil
	}
	out := c.services.Mutator.Commit(ctx, plan)
	switch {
	case out.Err == nil && out.Carried != nil:
		c.plan = out.Carried
		return tools.Result{}, tools.ErrConfirmAgain
	case out.Err != nil:
		refusal := out.Err
		if out.Carried != nil && c.retry != nil {
			refusal = c.services.offer(ctx, refusal, c.retry(c.request.Path, out.Carried))
		}
		result, err := c.services.refused(refusal, []filestate.State{out.State}, out.KeptFiles)
		c.refusal = &result
		return result, err
	}
	report := Report{Success: true, LatestFileState: out.State, Corrections: out.Corrections, KeptFiles: out.KeptFiles}
	c.services.accessed(ctx, c.request.Path)
	report.Message = c.done(plan)
	if from, ok := plan.Rebased(); ok {
		report.Message += carriedOver(" It", from, plan)
	}
	if c.request.Edited {
		report.Message = editedMessage(!plan.Base().Exists, out.State.Shown())
	}
	var result tools.Result
	if plan.Hidden() { // other agents read displays too
		result.ReturnDisplay = tools.TextDisplay(report.Message)
	} else {
		diff := c.fileDiff(plan)
		result.ReturnDisplay = tools.Display{Diff: &diff}
	}
	var err error
	result.LLMContent, err = fitted(&report, c.services.resultBytes())
	return result, err
}

// carriedOver reports that the change of file was carried over from the base with the hash from.
func carriedOver(file, from string, plan *mutation.Plan) string {
	return fmt.Sprintf("%s was carried over from base %.12s to %.12s of another writer.", file, from, plan.Base().SHA256)
}

// refused returns the result of a refused change, with the latest states.
func (s Services) refused(refusal *fault.Error, states []filestate.State, kept []string) (tools.Result, error) {
	message := lead(refusal, states)
	beside := codeBytes // bytes of the text that accompanies the error
	if message != refusal.Text() {
		beside += min(len(refusal.Text()), s.resultBytes()/4)
	}
	var content tools.Content
	var err error
	if len(states) == 1 {
		content, err = fitted(&Report{Message: message, LatestFileState: states[0], KeptFiles: kept}, s.resultBytes()-beside)
	} else {
		content, err = fitted(&SetReport{Message: message, LatestFileStates: states, KeptFiles: kept}, s.resultBytes()-beside)
	}
	return tools.Result{Error: refusal, ReturnDisplay: tools.TextDisplay(refusal.Display()), LLMContent: content}, err
}

func (c *change) fileDiff(plan *mutation.Plan) tools.FileDiff {
	base, diff := plan.Base(), plan.Diff()
	before, after := plan.Texts()
	authors := proposal{model: diff.Stat()}
	if c.proposal != nil {
		authors = *c.proposal
	}
	d := tools.FileDiff{
		FileName:   filepath.Base(c.request.Path.String()),
		FilePath:   c.request.Path.String(),
		FileDiff:   diff.Unified(c.names(base)),
		NewContent: after,
		IsNewFile:  !base.Exists,
		DiffStat: &tools.DiffStat{
			ModelAddedLines: authors.model.AddedLines, ModelRemovedLines: authors.model.RemovedLines,
			ModelAddedChars: authors.model.AddedChars, ModelRemovedChars: authors.model.RemovedChars,
			UserAddedLines: authors.user.AddedLines, UserRemovedLines: authors.user.RemovedLines,
			UserAddedChars: authors.user.AddedChars, UserRemovedChars: authors.user.RemovedChars,
		},
	}
	if base.Exists {
		d.OriginalContent = &before
	}
	return d
}

// names returns the names of the file before and after, for a diff from base.
func (c *change) names(base mutation.Base) (before, after string) {
	before, after = "/dev/null", "b/"+c.request.Path.Rel()
	if base.Exists {
		before = "a/" + c.request.Path.Rel()
	}
	switch {
	case c.request.Remove:
		after = "/dev/null"
	case c.request.To != (workspace.Path{}):
		after = "b/" + c.request.To.Rel()
	}
	return before, after
}

// invalidDiff converts an error of package patch.
func invalidDiff(err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	return fault.Wrap(fault.InvalidDiff, "file.safe_patch", "Invalid Diff: "+err.Error(), "", err)
}
