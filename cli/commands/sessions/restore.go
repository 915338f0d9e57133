package sessions

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent/keeper"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// restoreFlags are the flags of fettle restore.
type restoreFlags struct {
	session, call        string
	since, partial       bool
	diffOnly, yes, asked bool
	asJSON               bool
}

// RestoreCommand returns the fettle restore command.
func RestoreCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:   "restore [TURN|CALL]",
		Short: "List the changes of sessions, and undo a turn or a call",
		Long: `Lists the changes of a session by turn and call. With the number of a turn, such as
3, or of a call, such as 3.2, it shows how undoing it would change the files now,
and restores them after confirmation. Later changes to other lines of a file are
kept; if later work would be lost, nothing is restored. A restore is recorded as a
turn and can be undone like any other.`,
		Example: `  fettle restore
  fettle restore 3 --diff
  fettle restore 3.2 --yes`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := f.target(args)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return p.WithSession(ctx, program.SessionOptions{Flags: g}, func(s program.Session) error {
				kept, err := s.Config().Checkpoints()
				if err != nil {
					return &program.ExitError{Code: program.ExitConfig, Err: err}
				}
				kept.Settle(ctx, f.session)
				if !f.asked {
					return listCheckpoints(ctx, p, kept, s.Config().TargetDir(), &f)
				}
				return restoreFailure(ctx, undo(ctx, p, kept, w, &f))
			})
		},
	}
	set := cmd.Flags()
	set.StringVar(&f.session, "session", "", "`id` of a session or its beginning (default: the session with the latest change)")
	set.StringVar(&f.call, "call", "", "undo the call with this `id`, as assigned by the model")
	set.BoolVar(&f.since, "since", false, "also undo all later turns")
	set.BoolVar(&f.partial, "partial", false, "restore the files that can be restored, and skip the others")
	set.BoolVar(&f.diffOnly, "diff", false, "show the changes without making them")
	set.BoolVar(&f.yes, "yes", false, "do not ask for confirmation")
	set.BoolVar(&f.asJSON, "json", false, "print JSON")
	return cmd
}

// target returns the turn or call that the command line selects.
func (f *restoreFlags) target(args []string) (checkpoint.Selection, error) {
	w := checkpoint.Selection{Call: f.call}
	f.asked = f.call != "" || len(args) > 0
	if len(args) > 0 {
		named, err := checkpoint.ParseSelection(args[0])
		if err != nil {
			return w, &program.ExitError{Code: program.ExitUsage, Err: err}
		}
		if f.call != "" && named.Call != "" {
			return w, program.UsageError("Two calls are given.", "Give one call, or a turn.")
		}
		if f.call == "" {
			w = named
		}
	}
	switch {
	case f.since && w.Turn == 0:
		return w, program.UsageError("--since requires a turn.", "Example: fettle restore 3 --since.")
	case !f.asked && (f.diffOnly || f.yes || f.partial):
		return w, program.UsageError("No turn or call is given.", "Give a turn or a call; fettle restore lists them.")
	}
	w.Session, w.Since, w.Partial = f.session, f.since, f.partial
	return w, nil
}

// restoreFailure returns an error with its exit code.
func restoreFailure(ctx context.Context, err error) error {
	switch code := fault.CodeOf(err); {
	case err == nil:
		return nil
	case ctx.Err() != nil && code == fault.Cancelled:
		return program.Interrupted()
	case code == fault.CheckpointNotFound:
		return &program.ExitError{Code: program.ExitUsage, Err: err}
	case code == fault.NoApprover || code == fault.DeniedByUser:
		return &program.ExitError{Code: program.ExitDenied, Err: err}
	}
	return err
}

// undo shows the changes, asks for confirmation, and makes them.
func undo(ctx context.Context, p *program.Program, kept *keeper.Keeper, w checkpoint.Selection, f *restoreFlags) error {
	plan, err := kept.Plan(ctx, w)
	if err != nil {
		return err
	}
	switch {
	case f.diffOnly && f.asJSON:
		if err := program.PrintJSON(p.Out, plan); err != nil {
			return err
		}
	case !f.asJSON:
		if err := showPlan(p.Out, plan); err != nil {
			return err
		}
	}
	if err := plan.Err(); err != nil || f.diffOnly {
		return err
	}
	if len(plan.Steps) > 0 && !f.yes {
		if err := agreeToRestore(ctx, p, plan, f.asJSON); err != nil {
			return err
		}
	}
	report, err := kept.Restore(ctx, plan)
	if report != nil && f.asJSON {
		if printErr := program.PrintJSON(p.Out, report); err == nil {
			err = printErr
		}
	}
	if report != nil && !f.asJSON {
		showReport(p, report)
	}
	return err
}

// showPlan prints the planned changes.
func showPlan(w io.Writer, plan *checkpoint.Plan) error {
	var b strings.Builder
	for _, warning := range plan.Warnings {
		fmt.Fprintf(&b, "Note: %s\n", display.Line(warning))
	}
	for _, s := range plan.Steps {
		b.WriteString(display.TerminalDiff(s.Diff, display.WantsColour(w)))
	}
	for _, r := range plan.Refused {
		b.WriteString(program.RefusalText(r) + "\n")
	}
	if len(plan.Steps) == 0 && len(plan.Refused) == 0 {
		fmt.Fprintf(&b, "Nothing left to undo in %s.\n", display.Line(plan.Selected))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func showReport(p *program.Program, r *checkpoint.Report) {
	for _, note := range r.Notes {
		p.PrintError(fmt.Errorf("%s", note))
	}
	if len(r.Steps) == 0 {
		return
	}
	_, _ = fmt.Fprintf(p.Out, "Undid %s: %s. This is turn %d; fettle restore %d undoes it.\n", r.Selected, files(len(r.Steps)), r.Turn, r.Turn)
}

func files(n int) string {
	if n == 1 {
		return "1 path"
	}
	return fmt.Sprintf("%d paths", n)
}

// agreeToRestore asks the user at the terminal. It shows the plan first if stdout is
// reserved for JSON.
func agreeToRestore(ctx context.Context, p *program.Program, plan *checkpoint.Plan, asJSON bool) error {
	user, done := approval.NewPrompter(p.In, p.Err)
	defer done()
	if !user.IsThere() {
		return fault.New(fault.NoApprover, "cli.restore", "Nothing was restored: no approver is available.", "Run the command in a terminal, or add --yes.")
	}
	if asJSON {
		if err := showPlan(p.Err, plan); err != nil {
			return err
		}
	}
	switch agreed, err := user.Agrees(ctx, fmt.Sprintf("Undo %s in %s?", plan.Selected, files(len(plan.Steps)))); {
	case err != nil:
		return program.Interrupted()
	case !agreed:
		return fault.New(fault.DeniedByUser, "cli.restore", "Nothing was restored.", "")
	}
	return nil
}

// listCheckpoints prints the changes of a session.
func listCheckpoints(ctx context.Context, p *program.Program, kept *keeper.Keeper, target string, f *restoreFlags) error {
	h, err := kept.History(ctx, f.session)
	if fault.CodeOf(err) == fault.CheckpointNotFound && f.session == "" {
		if f.asJSON {
			return program.PrintJSON(p.Out, checkpoint.History{Turns: []*checkpoint.Turn{}})
		}
		_, err := fmt.Fprintln(p.Out, "No session of this project has recorded changes.")
		return err
	}
	if err != nil {
		return restoreFailure(ctx, err)
	}
	for _, problem := range h.Problems {
		p.PrintError(fmt.Errorf("%s", problem))
	}
	if f.asJSON {
		return program.PrintJSON(p.Out, h)
	}
	if real, err := filepath.EvalSymlinks(target); err == nil {
		target = real
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Session %s\n", display.Line(h.Session))
	for _, t := range h.Turns {
		fmt.Fprintf(&b, "%d.  %s  %s\n", t.Number, t.Time.Local().Format("2006-01-02 15:04:05"), display.Line(t.Prompt))
		for _, e := range t.Entries {
			writeEntry(&b, e, target)
		}
	}
	for _, note := range h.Notes {
		fmt.Fprintf(&b, "%s\n", display.Line(note))
	}
	if len(h.Unrestorable) > 0 {
		b.WriteString("Not restorable:\n")
	}
	for _, gap := range h.Unrestorable {
		fmt.Fprintf(&b, "  %s: %s\n", shownPath(gap.Path, target), display.Line(gap.Reason))
	}
	others, err := kept.Sessions(ctx)
	if err != nil {
		return restoreFailure(ctx, err)
	}
	writeOthers(&b, others, h.Session)
	_, err = io.WriteString(p.Out, b.String())
	return err
}

// writeOthers lists the other sessions with changes, latest first.
func writeOthers(b *strings.Builder, all []checkpoint.SessionInfo, listed string) {
	all = slices.DeleteFunc(all, func(s checkpoint.SessionInfo) bool { return s.Session == listed })
	if len(all) == 0 {
		return
	}
	b.WriteString("Other sessions, for --session:\n")
	const most = 10
	for i, s := range all {
		if i == most {
			fmt.Fprintf(b, "  and %d more\n", len(all)-most)
			break
		}
		fmt.Fprintf(b, "  %s  %s  turns: %d\n", display.Line(s.Session), s.Updated.Local().Format("2006-01-02 15:04:05"), s.Turns)
	}
}

// writeEntry prints one call and its changes.
func writeEntry(b *strings.Builder, e *checkpoint.Entry, target string) {
	about := strings.TrimSpace(e.Tool + "  " + e.About)
	switch {
	case e.Kind == checkpoint.KindBetween && e.Background:
		about = "between calls, by another program or by a process that a command started"
	case e.Kind == checkpoint.KindBetween:
		about = "between calls, by another program"
	case e.Agent != "":
		about += " (agent " + e.Agent + ")"
	}
	if e.Background && e.Kind == checkpoint.KindCall {
		about += " [concurrently with a process that an earlier command started]"
	}
	switch {
	case e.Running:
		about += " [not ended]"
	case e.Interrupted:
		about += " [interrupted]"
	}
	fmt.Fprintf(b, "    %s  %s\n", e.ID(), escape.Clip(display.Line(about), display.ListingWidth))
	const most = 20
	for i, c := range e.Files {
		if i == most {
			fmt.Fprintf(b, "         and %d more\n", len(e.Files)-most)
			break
		}
		fmt.Fprintf(b, "         %-8s %s%s\n", changeWord(c), shownPath(c.Path, target), notKept(c))
	}
	for _, note := range e.Notes {
		fmt.Fprintf(b, "         %s\n", display.Line(note))
	}
}

func changeWord(c checkpoint.Change) string {
	switch {
	case c.Before.Kind == checkpoint.Absent:
		return "created"
	case c.After.Kind == checkpoint.Absent:
		return "deleted"
	case c.Before.SHA256 == c.After.SHA256 && c.Before.Target == c.After.Target && c.Before.Stamp == c.After.Stamp && c.Before.Mode != c.After.Mode:
		return "mode"
	}
	return "changed"
}

func notKept(c checkpoint.Change) string {
	for _, s := range []checkpoint.State{c.Before, c.After} {
		if s.NotStored != "" {
			return " (not restorable: " + display.Line(s.NotStored) + ")"
		}
	}
	return ""
}

// shownPath returns a path as one line, relative to the target directory if it is
// inside.
func shownPath(path checkpoint.Name, target string) string {
	if rel, err := filepath.Rel(target, string(path)); err == nil && filepath.IsLocal(rel) {
		return checkpoint.Name(rel).Shown()
	}
	return path.Shown()
}
