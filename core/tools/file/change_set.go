package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/patch/applypatch"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// SetReport is the result of a change of several files for the model. If one is refused because of a single file, the
// result is a [Report] about that.
type SetReport struct {
	Success          bool              `json:"success"`
	Message          string            `json:"message"`
	LatestFileStates []filestate.State `json:"latest_file_states"`
	Corrections      []FileCorrection  `json:"corrections,omitempty"` // repairs of the patch
	KeptFiles        []string          `json:"kept_files,omitempty"`  // as in [Report]
}

// FileCorrection is a repair of a patch of several files.
type FileCorrection struct {
	FilePath string `json:"file_path,omitempty"` // absolute; "": of the patch as a whole
	patch.Correction
}

// changeSet is the invocation of apply_patch for several files, or one that is deleted or moved.
type changeSet struct {
	services Services
	params   json.RawMessage
	patch    *applypatch.Patch
	changes  []*change // of its operations
	plans    []*mutation.Plan
	refusal  *tools.Result // of the plans
}

var _ tools.PerFile = (*changeSet)(nil)

func (c *changeSet) Params() json.RawMessage { return c.params }

func (c *changeSet) Description() string {
	if len(c.changes) == 1 {
		return "Patch: " + c.kind(0) + " " + short(c.changes[0].request.Path)
	}
	return fmt.Sprintf("Patch %d files: %s …", len(c.changes), short(c.changes[0].request.Path))
}

func (c *changeSet) kind(i int) string { return string(c.patch.Operations[i].Kind) }

// single returns the only change, which then has the form of safe_patch's.
func (c *changeSet) single() *change {
	one := c.changes[0]
	one.params, one.files = c.params, c.Files()
	one.retry = func(_ workspace.Path, next *mutation.Plan) *retry { return c.retry([]*mutation.Plan{next}) }
	compute := one.request.Compute
	one.request.Compute = func(base mutation.Base) (mutation.Change, *fault.Error) {
		change, err := compute(base)
		change.Corrections = slices.Concat(c.patch.Corrections, change.Corrections)
		return change, err
	}
	return one
}

func (c *changeSet) retry(carried []*mutation.Plan) *retry {
	return c.services.patchRetry(c.patch.Operations, c.changes, carried)
}

// Files returns all paths, including those that files are moved to.
func (c *changeSet) Files() []string {
	var all []string
	for _, ch := range c.changes {
		all = append(all, ch.request.Path.String())
		if ch.request.To != (workspace.Path{}) {
			all = append(all, ch.request.To.String())
		}
	}
	return all
}

func (c *changeSet) Locations() []tools.Location {
	var all []tools.Location
	for _, path := range c.Files() {
		all = append(all, tools.Location{Path: path})
	}
	return all
}

// plan plans all changes once, and returns the result if they are refused.
func (c *changeSet) plan(ctx context.Context) (refused *tools.Result, err error) {
	if c.plans != nil || c.refusal != nil {
		return c.refusal, nil
	}
	requests := make([]mutation.Request, len(c.changes))
	for i, ch := range c.changes {
		requests[i] = ch.request
	}
	var out *mutation.SetOutcome
	if c.plans, out = c.services.Mutator.PlanSet(ctx, requests); out != nil {
		return c.refuse(ctx, out)
	}
	return nil, nil
}

// refuse stores the result of a refused set, and returns it.
func (c *changeSet) refuse(ctx context.Context, out *mutation.SetOutcome) (*tools.Result, error) {
	refusal, states := c.named(out), out.States
	if len(states) == 0 {
		states = []filestate.State{filestate.Withheld(c.changes[0].request.Path.String())}
	}
	if out.Carried != nil {
		refusal = c.services.offer(ctx, refusal, c.retry(out.Carried))
	}
	result, err := c.services.refused(refusal, states, out.KeptFiles)
	c.refusal = &result
	return c.refusal, err
}

// named returns the error of a set with the files that it concerns.
func (c *changeSet) named(out *mutation.SetOutcome) *fault.Error {
	if len(out.Failed) == 0 {
		return out.Err
	}
	i := out.Failed[0]
	e := concerning(out.Err, i, len(c.changes), c.kind(i), c.changes[i].request.Path.Rel())
	if o := c.patch.Operations[i]; e.Reason == fault.NonText && o.Diff == nil && c.changes[i].request.Proof == "" {
		e.Remedy = "Give its sha256 in bases, such as that of sha256sum, or use a shell command."
	}
	const most = 5
	var others []string
	for n, j := range out.Failed[1:] {
		if n == most {
			others = append(others, fmt.Sprintf("%d more", len(out.Failed)-1-most))
			break
		}
		others = append(others, short(c.changes[j].request.Path))
	}
	if others != nil {
		e.Message += " Other files have changed too: " + strings.Join(others, ", ") + "."
	}
	return e
}

// Confirmation shows all changes.
func (c *changeSet) Confirmation(ctx context.Context) (*tools.Confirmation, error) {
	refused, err := c.plan(ctx)
	if refused != nil {
		return nil, errors.Join(err, tools.WillRefuse(*refused))
	}
	shown := &tools.Confirmation{
		Type: tools.ConfirmInfo, Title: "Confirm " + c.Description(), InfoDetails: &tools.InfoDetails{Prompt: fenced(c.diffs())}, Paths: c.Files(), UserOnly: c.hidden(),
	}
	for i, p := range c.plans {
		shown.Bases = append(shown.Bases, tools.FileVersion{Path: c.changes[i].request.Path.String(), SHA256: p.Base().SHA256})
	}
	return shown, nil
}

// hidden reports whether the model must not see one of the files.
func (c *changeSet) hidden() bool { return slices.ContainsFunc(c.plans, (*mutation.Plan).Hidden) }

// diffs returns all changes as text.
func (c *changeSet) diffs() string {
	var b strings.Builder
	for i, ch := range c.changes {
		fmt.Fprintf(&b, "%s %s", c.kind(i), ch.request.Path.Rel())
		if ch.request.To != (workspace.Path{}) {
			b.WriteString(" to " + ch.request.To.Rel())
		}
		if !c.plans[i].Text() {
			b.WriteString(" (not text)")
		}
		b.WriteString("\n" + ch.fileDiff(c.plans[i]).FileDiff + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// fenced returns a diff as a block of Markdown.
func fenced(diff string) string {
	fence := "```"
	for strings.Contains(diff, fence) {
		fence += "`"
	}
	return fence + "diff\n" + diff + fence
}

// Execute commits all changes, or none.
func (c *changeSet) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	if refused, err := c.plan(ctx); refused != nil {
		return *refused, err
	}
	out := c.services.Mutator.CommitSet(ctx, c.plans)
	switch {
	case out.Err != nil:
		refused, err := c.refuse(ctx, out)
		return *refused, err
	case out.Carried != nil:
		c.plans = out.Carried
		return tools.Result{}, tools.ErrConfirmAgain
	}
	for _, ch := range c.changes {
		switch {
		case ch.request.Remove:
		case ch.request.To != (workspace.Path{}):
			c.services.accessed(ctx, ch.request.To)
		default:
			c.services.accessed(ctx, ch.request.Path)
		}
	}
	message := c.message()
	display := message
	if !c.hidden() { // other agents read displays too
		display = c.diffs()
	}
	content, err := c.report(message, out)
	return tools.Result{LLMContent: content, ReturnDisplay: tools.TextDisplay(display)}, err
}

// message describes a committed set, with the changes that were carried over, unless they are many.
func (c *changeSet) message() string {
	message := "Patch applied successfully."
	if len(c.changes) > 1 {
		message = fmt.Sprintf("Patch applied successfully to %d files.", len(c.changes))
	}
	const most = 5
	var carried []string
	for i, p := range c.plans {
		if from, ok := p.Rebased(); ok {
			carried = append(carried, carriedOver(" "+short(c.changes[i].request.Path), from, p))
		}
	}
	if len(carried) > most {
		return message + fmt.Sprintf(" %d of them had been changed by other writers; the notices of their states have those changes.", len(carried))
	}
	return message + strings.Join(carried, "")
}

// report returns the result of a committed set for the model.
func (c *changeSet) report(message string, out *mutation.SetOutcome) (tools.Content, error) {
	if len(c.changes) == 1 {
		r := Report{Success: true, Message: message, LatestFileState: out.States[0], Corrections: slices.Concat(c.patch.Corrections, c.plans[0].Corrections()), KeptFiles: out.KeptFiles}
		return fitted(&r, c.services.resultBytes())
	}
	r := SetReport{Success: true, Message: message, LatestFileStates: out.States, KeptFiles: out.KeptFiles}
	for _, correction := range c.patch.Corrections {
		r.Corrections = append(r.Corrections, FileCorrection{Correction: correction})
	}
	for i, p := range c.plans {
		for _, correction := range p.Corrections() {
			r.Corrections = append(r.Corrections, FileCorrection{c.changes[i].request.Path.String(), correction})
		}
	}
	return fitted(&r, c.services.resultBytes())
}
