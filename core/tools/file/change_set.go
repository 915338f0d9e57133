package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// SetReport is the result of a change of several files for the model. A refused one is reported as a [Report] about the
// file that caused the refusal.
type SetReport struct {
	Success          bool              `json:"success"`
	Message          string            `json:"message"`
	LatestFileStates []filestate.State `json:"latest_file_states"`
	KeptFiles        []string          `json:"kept_files,omitempty"` // as in [Report]
}

// changeSet is the invocation of apply_patch for several files, or one that is deleted or moved.
type changeSet struct {
	services Services
	params   json.RawMessage
	changes  []*change
	kinds    []string // of changes
	plans    []*mutation.Plan
	refusal  *mutation.Outcome // of a plan, or of the set
}

var _ tools.PerFile = (*changeSet)(nil)

func (c *changeSet) Params() json.RawMessage { return c.params }

func (c *changeSet) Description() string {
	if len(c.changes) == 1 {
		return "Patch: " + c.kinds[0] + " " + short(c.changes[0].request.Path)
	}
	return fmt.Sprintf("Patch %d files: %s …", len(c.changes), short(c.changes[0].request.Path))
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

// plan plans all changes, up to the first refused one.
func (c *changeSet) plan(ctx context.Context) {
	if c.plans != nil {
		return
	}
	for i, ch := range c.changes {
		p := c.services.Mutator.Plan(ctx, ch.request)
		c.plans = append(c.plans, p)
		if p.Refused() != nil {
			out := c.services.Mutator.Commit(ctx, p)
			c.refuse(i, out)
			return
		}
	}
	if i, err := c.services.Mutator.CheckSet(c.plans); err != nil {
		c.refuse(i, mutation.Outcome{Err: err, State: filestate.Withheld(c.changes[max(i, 0)].request.Path.String())})
	}
}

// refuse stores a refusal because of a change; -1: of the whole set.
func (c *changeSet) refuse(i int, out mutation.Outcome) {
	if i >= 0 {
		out.Err = concerning(out.Err, i, len(c.changes), c.kinds[i], c.changes[i].request.Path.String())
	}
	c.refusal = &out
}

// Confirmation shows all changes.
func (c *changeSet) Confirmation(ctx context.Context) (*tools.Confirmation, error) {
	c.plan(ctx)
	if c.refusal != nil {
		result, err := c.services.refused(*c.refusal)
		return nil, errors.Join(err, tools.WillRefuse(result))
	}
	shown := &tools.Confirmation{
		Type: tools.ConfirmInfo, Title: "Confirm " + c.Description(), InfoDetails: &tools.InfoDetails{Prompt: c.diffs()}, Paths: c.Files(),
	}
	for i, p := range c.plans {
		shown.UserOnly = shown.UserOnly || p.Hidden()
		shown.Bases = append(shown.Bases, tools.FileVersion{Path: c.changes[i].request.Path.String(), SHA256: p.Base().SHA256})
	}
	return shown, nil
}

// diffs returns all changes as text, in a Markdown block.
func (c *changeSet) diffs() string {
	var b strings.Builder
	for i, ch := range c.changes {
		fmt.Fprintf(&b, "%s %s", c.kinds[i], ch.request.Path.Rel())
		if ch.request.To != (workspace.Path{}) {
			b.WriteString(" to " + ch.request.To.Rel())
		}
		b.WriteString("\n" + ch.fileDiff(c.plans[i]).FileDiff + "\n")
	}
	fence := "```"
	for strings.Contains(b.String(), fence) {
		fence += "`"
	}
	return fence + "diff\n" + strings.TrimRight(b.String(), "\n") + "\n" + fence
}

// Execute commits all changes, or none.
func (c *changeSet) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	c.plan(ctx)
	if c.refusal != nil {
		return c.services.refused(*c.refusal)
	}
	display, hidden := "", false
	for _, p := range c.plans {
		hidden = hidden || p.Hidden()
	}
	if !hidden { // other agents read displays too
		display = c.diffs()
	}
	out := c.services.Mutator.CommitSet(ctx, c.plans)
	if out.Err != nil {
		refused := mutation.Outcome{Err: out.Err, KeptFiles: out.KeptFiles, State: filestate.Withheld(c.changes[0].request.Path.String())}
		if len(out.States) == 1 {
			refused.State = out.States[0]
		}
		c.refuse(out.Failed, refused)
		return c.services.refused(*c.refusal)
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
	message := fmt.Sprintf("Patch applied successfully to %d files.", len(c.changes))
	if len(c.changes) == 1 {
		message = "Patch applied successfully."
	}
	if display == "" {
		display = message
	}
	content, err := c.report(message, out)
	return tools.Result{LLMContent: content, ReturnDisplay: tools.TextDisplay(display)}, err
}

// report returns the result of a committed set for the model.
func (c *changeSet) report(message string, out mutation.SetOutcome) (tools.Content, error) {
	if len(c.changes) == 1 {
		r := Report{Success: true, Message: message, LatestFileState: out.States[0], KeptFiles: out.KeptFiles}
		r.fit(c.services.resultBytes())
		return tools.JSON(r)
	}
	r := SetReport{Success: true, Message: message, LatestFileStates: out.States, KeptFiles: out.KeptFiles}
	if over := tools.JSONBytes(r) - c.services.resultBytes(); over > 0 {
		r.KeptFiles = fewer(r.KeptFiles, over+len(leftOut(len(out.KeptFiles))), 0)
		r.Message += leftOut(len(out.KeptFiles) - len(r.KeptFiles))
	}
	return tools.JSON(r)
}
