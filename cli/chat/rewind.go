package chat

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// rewindPoint is a prompt to which a session can go back.
type rewindPoint struct {
	text  string   // as typed
	turn  int      // index of its turn in the history
	calls []string // the IDs of the calls that the model made for it
	since int      // the first turn with checkpoints that belongs to it or a later prompt; 0: none
	paths []string
}

// The parts of a session that a rewind restores.
const (
	rewindBoth         = "both"
	rewindConversation = "conversation"
	rewindFiles        = "files"
)

// rewindCommand returns /rewind, which goes back to an earlier prompt.
func (c *chat) rewindCommand() *commands.Command {
	return &commands.Command{
		Name: "rewind", Kind: commands.KindBuiltIn, AutoExecute: true,
		Description: "Goes back to an earlier prompt: files, conversation or both",
		Action: func(ctx context.Context, _ *commands.Context, args string) (commands.Result, error) {
			words := strings.Fields(args)
			points, err := c.rewindPoints(ctx)
			switch {
			case err != nil:
				return nil, err
			case len(words) == 0:
				return c.choose(rewindPrompts(points))
			}
			n, err := strconv.Atoi(words[0])
			if err != nil || n < 1 || n > len(points) {
				return nil, fault.New(fault.InvalidToolParams, "cli.rewind", fmt.Sprintf("There is no prompt %.20q to go back to.", words[0]), "Type /rewind for the list.")
			}
			point := points[n-1]
			if len(words) == 1 {
				list, err := c.rewindParts(ctx, point, n)
				if err != nil {
					return nil, err
				}
				return c.choose(list)
			}
			if len(words) > 2 || !slices.Contains([]string{rewindBoth, rewindConversation, rewindFiles}, words[1]) {
				return nil, fault.New(fault.InvalidToolParams, "cli.rewind", "/rewind takes the number of a prompt, and both, conversation or files.", "Type /rewind for the list.")
			}
			return nil, c.now.rewind(ctx, point, words[1])
		},
	}
}

// choose shows a list, or prints it in a front end without lists.
func (c *chat) choose(list interactive.Pick) (commands.Result, error) {
	if c.now != nil {
		c.now.send(interactive.Event{Kind: interactive.EventPick, Pick: &list})
	}
	return nil, nil
}

func rewindPrompts(points []rewindPoint) interactive.Pick {
	list := interactive.Pick{
		Title: "Go back to before a prompt", Usage: "/rewind N selects a prompt.",
		Empty: "There is no earlier prompt in this conversation.",
	}
	for i, p := range slices.Backward(points) {
		item := interactive.PickItem{
			Name: fmt.Sprintf("%d. %s", i+1, escape.Plain(p.text, 200)), State: filesChanged(len(p.paths)), Detail: p.text, Submit: fmt.Sprintf("/rewind %d", i+1),
		}
		list.Items = append(list.Items, item)
	}
	return list
}

func filesChanged(n int) string {
	switch n {
	case 0:
		return "no files"
	case 1:
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// rewindParts lists the parts of the session that going back to a prompt can restore,
// with the files that would change.
func (c *chat) rewindParts(ctx context.Context, p rewindPoint, n int) (interactive.Pick, error) {
	list := interactive.Pick{
		Title: "Go back to before: " + escape.Plain(p.text, 60),
		Usage: fmt.Sprintf("/rewind %d both, /rewind %d conversation or /rewind %d files restores them.", n, n, n),
	}
	plan, err := c.rewindPlan(ctx, p)
	if err != nil {
		return list, err
	}
	conversation := interactive.PickItem{Name: "Conversation only", Description: "the files stay as they are", Submit: fmt.Sprintf("/rewind %d %s", n, rewindConversation)}
	if plan == nil || len(plan.Steps) == 0 && len(plan.Refused) == 0 {
		list.Items = []interactive.PickItem{conversation}
		return list, nil
	}
	both := interactive.PickItem{Name: "Files and conversation", Description: filesChanged(len(plan.Steps)) + " would change", Submit: fmt.Sprintf("/rewind %d %s", n, rewindBoth)}
	for _, step := range plan.Steps {
		both.Detail += string(step.Action) + " " + step.Path.Shown() + "\n"
	}
	if refused := plan.Err(); refused != nil {
		both.Submit, both.State, both.Detail = "", "impossible", fault.Line(refused)
	}
	files := both
	files.Name, files.Description = "Files only", both.Description+"; the conversation goes on"
	if both.Submit != "" {
		files.Submit = fmt.Sprintf("/rewind %d %s", n, rewindFiles)
	}
	list.Items = []interactive.PickItem{both, conversation, files}
	return list, nil
}

// rewindPlan returns the effect of going back to a prompt on the files, nil for none.
func (c *chat) rewindPlan(ctx context.Context, p rewindPoint) (*checkpoint.Plan, error) {
	if p.since == 0 {
		return nil, nil
	}
	kept, err := c.config.Checkpoints()
	if err != nil {
		return nil, err
	}
	return kept.Plan(ctx, checkpoint.Selection{Session: c.config.SessionID(), Turn: p.since, Since: true})
}

// rewindPoints returns the prompts of the conversation with the files that were changed
// since.
func (c *chat) rewindPoints(ctx context.Context) ([]rewindPoint, error) {
	var points []rewindPoint
	for i, turn := range c.conversation().History() {
		if turn.Role != model.RoleUser {
			for _, part := range turn.Parts {
				if n := len(points); part.Call != nil && n > 0 {
					points[n-1].calls = append(points[n-1].calls, part.Call.ID)
				}
			}
			continue
		}
		if len(turn.Responses()) > 0 {
			continue
		}
		if items := c.prompt(turn); len(items) == 1 && items[0].Role == "user" {
			points = append(points, rewindPoint{text: items[0].Text, turn: i})
		}
	}
	kept, err := c.config.Checkpoints()
	if err != nil || kept == nil || !kept.Keeps() {
		return points, nil // files cannot be restored
	}
	history, err := kept.History(ctx, c.config.SessionID())
	if fault.CodeOf(err) == fault.CheckpointNotFound {
		return points, nil
	}
	if err != nil {
		return nil, err
	}
	addChanges(points, history.Turns)
	return points, nil
}

// addChanges adds the changed files to the points. A prompt is found among the turns by
// its calls, from the last to the first. The first prompt has all turns. Another prompt
// without a turn, such as that of a command, has the turns between its neighbours, if no
// other such prompt is between them.
func addChanges(points []rewindPoint, turns []*checkpoint.Turn) {
	begins := make([]int, len(points)+1) // indexes in turns; -1: unknown
	begins[len(points)] = len(turns)
	left := len(turns)
	for i, p := range slices.Backward(points) {
		begins[i] = -1
		for at := left - 1; at >= 0; at-- {
			if p.began(turns[at]) {
				begins[i], left = at, at
				break
			}
		}
	}
	for i := range points {
		if begins[i] >= 0 {
			continue
		}
		switch {
		case i == 0:
			begins[i] = 0 // before the first prompt there were no changes
		case begins[i-1] >= 0 && begins[i+1] >= 0:
			begins[i] = min(begins[i-1]+1, begins[i+1])
		}
	}
	at := len(turns)
	for i := range slices.Backward(points) {
		if begins[i] >= 0 {
			at = begins[i]
		}
		if at < len(turns) {
			points[i].since, points[i].paths = turns[at].Number, changedIn(turns[at:])
		}
	}
}

// began reports whether a turn is that of the prompt. Other prompts may begin with the
// same text, so that the text decides only about a turn without a call of the model.
func (p rewindPoint) began(turn *checkpoint.Turn) bool {
	called := false
	for _, e := range turn.Entries {
		if e.Kind != checkpoint.KindCall || e.CallID == "" || e.Agent != "" {
			continue
		}
		if slices.Contains(p.calls, e.CallID) {
			return true
		}
		called = true
	}
	return !called && turn.Prompt == escape.Plain(p.text, checkpointPrompt)
}

// checkpointPrompt is the number of characters of a prompt that checkpoints store.
const checkpointPrompt = 80

// changedIn returns the files that turns have changed.
func changedIn(turns []*checkpoint.Turn) (paths []string) {
	for _, turn := range turns {
		for _, e := range turn.Entries {
			for _, f := range e.Files {
				if e.Kind != checkpoint.KindBetween {
					paths = append(paths, f.Path.Shown())
				}
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// rewind goes back to before a prompt. Files are restored first: if not all of them can
// be, nothing changes.
func (w *work) rewind(ctx context.Context, p rewindPoint, part string) error {
	done := "The conversation is at the prompt again; the files are unchanged."
	if part != rewindConversation && p.since > 0 {
		plan, err := w.rewindPlan(ctx, p)
		if err != nil {
			return err
		}
		kept, err := w.config.Checkpoints()
		if err != nil {
			return err
		}
		report, err := kept.Restore(ctx, plan)
		if note := report.Note(); note != "" && (err != nil || part == rewindFiles) {
			w.addContext(model.TextPart(note))
		}
		if err != nil {
			return err
		}
		done = fmt.Sprintf("Files restored: %d.", len(report.Steps))
	}
	if part == rewindFiles {
		w.message(interactive.LevelInfo, "%s The conversation is unchanged.", done)
		return nil
	}
	client := w.conversation()
	history, displays := slices.Clone(client.History()[:p.turn]), w.displays(ctx)
	if err := client.ResetChat(ctx); err != nil { // the model knows no file afterwards
		return err
	}
	if err := client.SetHistory(ctx, history); err != nil {
		return err
	}
	w.mu.Lock()
	w.chat.pending, w.chat.answer, w.chat.tokens = nil, "", 0
	w.mu.Unlock()
	w.send(interactive.Event{Kind: interactive.EventHistory, History: w.itemsOf(client.History(), displays)})
	w.message(interactive.LevelInfo, "%s", done)
	w.send(interactive.Event{Kind: interactive.EventInput, Text: p.text})
	return nil
}
