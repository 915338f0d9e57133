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
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
)

// restoreFlags say what to take back, and how.
type restoreFlags struct {
	session, call        string
	since, partial       bool
	diffOnly, yes, asked bool
	asJSON               bool
}

// RestoreCommand is fettle restore.
func RestoreCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:   "restore [TURN|CALL]",
		Short: "List what sessions have changed, and take a turn or a call back",
		Long: `Lists what a session has changed, by turn and call. With the number of a turn, as
3, or of a call, as 3.2, it shows what taking that back would do to the files as
they are now, and does it if you agree. What came later stays: later changes of
other lines of a file are kept, and where later work would be lost nothing is
restored. A restore is a turn of its own, and can be taken back as any other.`,
		Example: `  fettle restore
  fettle restore 3 --diff
  fettle restore 3.2 --yes`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := f.what(args)
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
				return restoreFailure(ctx, takeBack(ctx, p, kept, w, &f))
			})
		},
	}
	set := cmd.Flags()
	set.StringVar(&f.session, "session", "", "whose changes: the `id` of a session or how it begins (default: the one that changed something last)")
	set.StringVar(&f.call, "call", "", "take back the call that the model has given this `id`")
	set.BoolVar(&f.since, "since", false, "take back all turns after that one too")
	set.BoolVar(&f.partial, "partial", false, "restore what can be restored and leave the rest")
	set.BoolVar(&f.diffOnly, "diff", false, "show what would be done, and do nothing")
	set.BoolVar(&f.yes, "yes", false, "do it without asking")
	set.BoolVar(&f.asJSON, "json", false, "print JSON")
	return cmd
}

// what is what the command line names.
func (f *restoreFlags) what(args []string) (checkpoint.Selection, error) {
	w := checkpoint.Selection{Call: f.call}
	f.asked = f.call != "" || len(args) > 0
	if len(args) > 0 {
		named, err := checkpoint.ParseSelection(args[0])
		if err != nil {
			return w, &program.ExitError{Code: program.ExitUsage, Err: err}
		}
		if f.call != "" && named.Call != "" {
			return w, program.UsageError("Two calls are named.", "Name one, or a turn.")
		}
		if f.call == "" {
			w = named
		}
	}
	switch {
	case f.since && w.Turn == 0:
		return w, program.UsageError("--since needs a turn.", "Name one, as in fettle restore 3 --since.")
	case !f.asked && (f.diffOnly || f.yes || f.partial):
		return w, program.UsageError("It is not said what to take back.", "Name a turn or a call; fettle restore lists them.")
	}
	w.Session, w.Since, w.Partial = f.session, f.since, f.partial
	return w, nil
}

// restoreFailure gives an error its exit code.
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

// takeBack shows what would be done, asks, and does it.
func takeBack(ctx context.Context, p *program.Program, kept *config.Checkpoints, w checkpoint.Selection, f *restoreFlags) error {
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

// showPlan prints what would be done.
func showPlan(w io.Writer, plan *checkpoint.Plan) error {
	var b strings.Builder
	for _, warning := range plan.Warnings {
		fmt.Fprintf(&b, "Note: %s\n", display.Line(warning))
	}
	for _, s := range plan.Steps {
		b.WriteString(display.TerminalDiff(s.Diff, display.WantsColour(w)))
	}
	for _, r := range plan.Refused {
		b.WriteString(program.LeftText(r) + "\n")
	}
	if len(plan.Steps) == 0 && len(plan.Refused) == 0 {
		fmt.Fprintf(&b, "Nothing of %s is left to take back.\n", display.Line(plan.What))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func showReport(p *program.Program, r *checkpoint.Report) {
	for _, note := range r.Notes {
		p.Complain(fmt.Errorf("%s", note))
	}
	if len(r.Steps) == 0 {
		return
	}
	_, _ = fmt.Fprintf(p.Out, "Took back %s: %s. It is turn %d now: fettle restore %d takes it back again.\n", r.What, files(len(r.Steps)), r.Turn, r.Turn)
}

func files(n int) string {
	if n == 1 {
		return "1 path"
	}
	return fmt.Sprintf("%d paths", n)
}

// agreeToRestore asks the person at the terminal, who is shown the plan first where
// stdout is for JSON.
func agreeToRestore(ctx context.Context, p *program.Program, plan *checkpoint.Plan, asJSON bool) error {
	person, done := approval.NewPrompter(p.In, p.Err)
	defer done()
	if !person.IsThere() {
		return fault.New(fault.NoApprover, "cli.restore", "Nothing was restored: nobody could be asked.", "Run it in a terminal, or add --yes if you agree.")
	}
	if asJSON {
		if err := showPlan(p.Err, plan); err != nil {
			return err
		}
	}
	switch agreed, err := person.Agrees(ctx, fmt.Sprintf("Take back %s in %s?", plan.What, files(len(plan.Steps)))); {
	case err != nil:
		return program.Interrupted()
	case !agreed:
		return fault.New(fault.DeniedByUser, "cli.restore", "Nothing was restored.", "")
	}
	return nil
}

// listCheckpoints prints what a session has changed.
func listCheckpoints(ctx context.Context, p *program.Program, kept *config.Checkpoints, target string, f *restoreFlags) error {
	h, err := kept.History(ctx, f.session)
	if fault.CodeOf(err) == fault.CheckpointNotFound && f.session == "" {
		if f.asJSON {
			return program.PrintJSON(p.Out, checkpoint.History{Turns: []*checkpoint.Turn{}})
		}
		_, err := fmt.Fprintln(p.Out, "No session of this project has changed anything that was kept.")
		return err
	}
	if err != nil {
		return restoreFailure(ctx, err)
	}
	for _, problem := range h.Problems {
		p.Complain(fmt.Errorf("%s", problem))
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
	if len(h.NotKept) > 0 {
		b.WriteString("Not restorable:\n")
	}
	for _, gap := range h.NotKept {
		fmt.Fprintf(&b, "  %s: %s\n", shownPath(gap.Path, target), display.Line(gap.Why))
	}
	others, err := kept.Sessions(ctx)
	if err != nil {
		return restoreFailure(ctx, err)
	}
	writeOthers(&b, others, h.Session)
	_, err = io.WriteString(p.Out, b.String())
	return err
}

// writeOthers names the other sessions that have changed something, the last first.
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

// writeEntry prints one call and what it has changed.
func writeEntry(b *strings.Builder, e *checkpoint.Entry, target string) {
	about := strings.TrimSpace(e.Tool + "  " + e.About)
	switch {
	case e.Kind == checkpoint.KindBetween && e.Background:
		about = "between calls, by somebody else or by what a command has started"
	case e.Kind == checkpoint.KindBetween:
		about = "between calls, by somebody else"
	case e.Agent != "":
		about += " (agent " + e.Agent + ")"
	}
	if e.Background && e.Kind == checkpoint.KindCall {
		about += " [beside what an earlier command has started]"
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
		if s.NotKept != "" {
			return " (not restorable: " + display.Line(s.NotKept) + ")"
		}
	}
	return ""
}

// shownPath is a path for people in one line, relative to the target directory if it is below.
func shownPath(path checkpoint.Name, target string) string {
	if rel, err := filepath.Rel(target, string(path)); err == nil && filepath.IsLocal(rel) {
		return checkpoint.Name(rel).Shown()
	}
	return path.Shown()
}
