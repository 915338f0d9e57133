package worker

import (
	"context"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/cli/chat"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/hub/ledger"
	"github.com/fettle-dev/fettle/cli/hub/store"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// CheckpointKind is the kind of a line of the log that describes a checkpoint: its name, a blank
// and what it undoes.
const CheckpointKind = "undo"

// checkpoints logs the checkpoints of the session, for the time line.
func (r *run) checkpoints(ctx context.Context, h *chat.Hosted) {
	kept, err := h.Config().Checkpoints()
	if err != nil || kept == nil {
		return
	}
	history, err := kept.History(ctx, r.job.ID)
	if err != nil {
		return // nothing was changed
	}
	for _, t := range history.Turns {
		var paths []string
		for _, e := range t.Entries {
			for _, f := range e.Files {
				paths = append(paths, f.Path.Shown())
			}
			if len(e.Files) > 0 && e.Kind == checkpoint.KindCall {
				r.lines.add(CheckpointKind, e.ID()+" "+h.Masked(e.Tool+": "+display.Line(e.Files[0].Path.Shown())))
			}
		}
		if len(paths) > 1 {
			r.lines.add(CheckpointKind, fmt.Sprintf("%d %s", t.Number, h.Masked(display.Line(strings.Join(paths, ", ")))))
		}
	}
}

// restore undoes the calls of a checkpoint. It refuses to overwrite what others have changed since.
func (r *run) restore(ctx context.Context, h *chat.Hosted) (store.Status, string) {
	kept, err := h.Config().Checkpoints()
	if err != nil || kept == nil {
		return store.Failed, "The session keeps no checkpoints."
	}
	what, err := checkpoint.ParseSelection(r.job.Restore)
	if err != nil {
		return store.Failed, fault.Line(err)
	}
	what.Session = r.job.Session
	plan, err := kept.Plan(ctx, what)
	if err == nil {
		err = plan.Err()
	}
	if err != nil {
		return store.Failed, h.Masked(fault.Line(err))
	}
	if err := r.lease.Check(ctx); err != nil {
		return store.Failed, fault.Line(lost())
	}
	e := ledger.Entry{Workspace: r.o.Workspace, Job: r.job.ID, Event: ledger.Begin, CallID: "restore", Tool: "restore " + r.job.Restore, Actor: r.job.By, Approval: "submitted"}
	for _, step := range plan.Steps {
		path := string(step.Path)
		e.Files = append(e.Files, ledger.File{Path: path, Base: hashOf(path)})
	}
	short, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	if err := r.ledger.Record(short, e); err != nil {
		return store.Failed, fault.Line(unrecorded(err))
	}
	report, err := kept.Restore(ctx, plan)
	_ = r.endedFiles(ctx, e)
	if err != nil {
		return store.Failed, h.Masked(fault.Line(err))
	}
	return store.Done, h.Masked(fmt.Sprintf("Restored: %s Files changed: %d.", display.Sentence(report.Selected), len(report.Steps)))
}
