package chat

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent/keeper"
	"github.com/fettle-dev/fettle/core/commands/builtin"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// chatCheckpoints serves /restore.
type chatCheckpoints struct {
	*chat
	kept *keeper.Keeper
}

// checkpoints returns the checkpoints of the session, nil if it keeps none.
func (c *chat) checkpoints() builtin.Checkpoints {
	kept, err := c.config.Checkpoints()
	if err != nil || kept == nil || !kept.Keeps() {
		return nil
	}
	return chatCheckpoints{c, kept}
}

// List implements [builtin.Checkpoints] for the current session; a session that has
// just started has no changes.
func (c chatCheckpoints) List(ctx context.Context) ([]builtin.Checkpoint, error) {
	history, err := c.kept.History(ctx, c.config.SessionID())
	if fault.CodeOf(err) == fault.CheckpointNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []builtin.Checkpoint
	for _, turn := range slices.Backward(history.Turns) {
		b := builtin.Checkpoint{ID: strconv.Itoa(turn.Number), Time: turn.Time, Prompt: turn.Prompt}
		for _, e := range turn.Entries {
			if len(e.Files) > 0 {
				b.Calls = append(b.Calls, checkpointCall(e))
			}
		}
		list = append(list, b)
	}
	return list, nil
}

func checkpointCall(e *checkpoint.Entry) builtin.CheckpointCall {
	call := builtin.CheckpointCall{ID: e.ID(), Tool: e.Tool}
	switch e.Kind {
	case checkpoint.KindBetween:
		call.Tool = "(another program)"
	case checkpoint.KindRestore:
		call.Tool = "(restore)"
	case checkpoint.KindCall:
	}
	for _, f := range e.Files {
		call.Paths = append(call.Paths, f.Path.Shown())
	}
	return call
}

// plan returns the changes that restoring a checkpoint would make.
func (c chatCheckpoints) plan(ctx context.Context, id string, partial bool) (*checkpoint.Plan, error) {
	what, err := checkpoint.ParseSelection(id)
	if err != nil {
		return nil, err
	}
	what.Session, what.Partial = c.config.SessionID(), partial
	return c.kept.Plan(ctx, what)
}

// Preview implements [builtin.Checkpoints].
func (c chatCheckpoints) Preview(ctx context.Context, id string, partial bool) (builtin.Preview, error) {
	plan, err := c.plan(ctx, id, partial)
	if err != nil {
		return builtin.Preview{}, err
	}
	preview := builtin.Preview{Notes: plan.Warnings}
	if refused := plan.Err(); refused != nil {
		preview.Refused = fault.Line(refused)
	}
	for _, r := range plan.Refused {
		preview.Notes = append(preview.Notes, program.RefusalText(r))
	}
	var b strings.Builder
	for _, step := range plan.Steps {
		preview.Paths = append(preview.Paths, step.Path.Shown())
		b.WriteString(strings.TrimRight(step.Diff, "\n") + "\n")
	}
	preview.Diff = b.String()
	return preview, nil
}

// restoreNoteBegin begins the note for the model about restored files.
const restoreNoteBegin = "The user has undone "

// Restore implements [builtin.Checkpoints]. The model receives a note with the next
// prompt.
func (c chatCheckpoints) Restore(ctx context.Context, id string, partial bool) (string, error) {
	plan, err := c.plan(ctx, id, partial)
	if err != nil {
		return "", err
	}
	report, err := c.kept.Restore(ctx, plan)
	if note := report.Note(); note != "" {
		c.addContext(model.TextPart(note))
	}
	if err != nil {
		return "", err
	}
	return strings.Join(append([]string{fmt.Sprintf("Restored: %s. Files changed: %d.", strings.TrimSuffix(display.Sentence(report.Selected), "."), len(report.Steps))}, report.Notes...), "\n"), nil
}
