// Package forks implements the commands for forks: separate versions of the project's files that agents
// work on.
package forks

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/fork"
)

// Command returns the fettle forks command.
func Command(p *program.Program, g *program.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forks",
		Short: "List, compare, merge and drop forks of this project",
		Long: `A fork is a separate version of the project's files: what an agent changes in it does
not change the project until it is merged.`,
		Args: program.KnownSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(listCommand(p, g), diffCommand(p, g), mergeCommand(p, g), dropCommand(p, g))
	return cmd
}

// opened is a session with the forks of its project.
type opened struct {
	program.Session
	store *fork.Store
	dir   string // of the project's data
}

// with opens a session and calls use. Errors get their exit code.
func with(ctx context.Context, p *program.Program, g *program.Flags, use func(opened) error) error {
	return p.WithSession(ctx, program.SessionOptions{Flags: g}, func(s program.Session) error {
		dirs, err := s.Config().Storage()
		if err != nil {
			return &program.ExitError{Code: program.ExitConfig, Err: err}
		}
		store, err := s.Config().Forks()
		if err != nil {
			return &program.ExitError{Code: program.ExitConfig, Err: err}
		}
		return exit(ctx, use(opened{s, store, dirs.ProjectTempDir}))
	})
}

// exit returns an error with its exit code.
func exit(ctx context.Context, err error) error {
	switch code := fault.CodeOf(err); {
	case err == nil:
		return nil
	case ctx.Err() != nil && code == fault.Cancelled:
		return program.Interrupted()
	case code == fault.FileNotFound && strings.Contains(fault.As(err).Op, "fork."):
		return &program.ExitError{Code: program.ExitUsage, Err: err}
	case code == fault.NoApprover || code == fault.DeniedByUser || code == fault.PolicyViolation:
		return &program.ExitError{Code: program.ExitDenied, Err: err}
	}
	return err
}

func listCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the forks, oldest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return with(cmd.Context(), p, g, func(o opened) error {
				list, err := o.store.List(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return program.PrintJSON(p.Out, list)
				}
				return printList(p.Out, list)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printList(out io.Writer, list []fork.Summary) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "This project has no forks.")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range list {
		owner := "not in use"
		if f.InUse {
			owner = fmt.Sprintf("in use by process %d", f.Owner.PID)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t[%s]\n", display.Line(f.Name), ageText(f.Age), number(f.Files, "file"), sizeText(f.Size), owner, f.ID)
	}
	return w.Flush()
}

func ageText(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

func sizeText(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

func number(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func diffCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show the changes that a merge of a fork would make, and its conflicts",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return with(ctx, p, g, func(o opened) error {
				f, err := o.store.Look(args[0])
				if err != nil {
					return err
				}
				ignored, err := o.ignored(ctx)
				if err != nil {
					return err
				}
				r, err := f.Compare(ctx, ignored)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(p, r)
				}
				_, err = io.WriteString(p.Out, reportText(p, p.Out, r, o.Config().TargetDir()))
				return err
			})
		},
		ValidArgsFunction: complete(p, g),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printJSON prints a report as JSON, with the secrets in its diffs masked.
func printJSON(p *program.Program, r *fork.Report) error {
	for i := range r.Files {
		f := &r.Files[i]
		f.Diff, f.Fork, f.Workspace = p.Masked(f.Diff), p.Masked(f.Fork), p.Masked(f.Workspace)
	}
	return program.PrintJSON(p.Out, r)
}

// reportText describes the files of a report that a merge changes, or cannot.
func reportText(p *program.Program, out io.Writer, r *fork.Report, target string) string {
	var b strings.Builder
	diff := func(text string) {
		if strings.HasPrefix(text, "--- ") {
			text = display.TerminalDiff(p.Masked(text), display.WantsColour(out))
		} else {
			text = escape.Text(p.Masked(text))
		}
		b.WriteString(strings.TrimSuffix(text, "\n") + "\n")
	}
	for _, f := range r.Files {
		name := display.Line(pathOf(f, target))
		switch {
		case f.Verdict == fork.Clean && f.Ignored && !f.Merged:
			fmt.Fprintf(&b, "%s is ignored by git and stays in the fork; --include-ignored merges it.\n", name)
		case f.Verdict == fork.Clean && f.Diff != "":
			fmt.Fprintf(&b, "%s: %s\n", name, f.Change)
			diff(f.Diff)
		case f.Verdict == fork.Clean:
			fmt.Fprintf(&b, "%s: %s\n", name, f.Change)
		case f.Verdict == fork.Conflict:
			b.WriteString(conflictText(f, target) + "\n")
			b.WriteString("The change of the fork:\n")
			diff(cmp.Or(f.Fork, "none\n"))
			b.WriteString("The change of the workspace:\n")
			diff(cmp.Or(f.Workspace, "none\n"))
		}
	}
	if b.Len() == 0 {
		fmt.Fprintf(&b, "The fork %s has no changes to merge.\n", display.Line(r.Name))
	}
	return b.String()
}

func conflictText(f fork.File, target string) string {
	return fmt.Sprintf("%s: conflict (%s). %s", display.Line(pathOf(f, target)), f.Kind, display.Line(f.Reason))
}

// pathOf returns the path of a file: relative in the target directory, absolute in others.
func pathOf(f fork.File, target string) string {
	if real, err := filepath.EvalSymlinks(target); err == nil && real == f.Dir {
		return f.Path
	}
	return filepath.Join(f.Dir, filepath.FromSlash(f.Path))
}

func dropCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "drop NAME",
		Short: "Remove a fork; asks if changes in it are not merged",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return with(ctx, p, g, func(o opened) error {
				err := o.store.Drop(ctx, args[0], force)
				if fault.CodeOf(err) == fault.RestoreRefused {
					if refused := agrees(ctx, p, fault.MessageOf(err)+" Discard them?", err); refused != nil {
						return refused
					}
					err = o.store.Drop(ctx, args[0], true)
				}
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(p.Out, "Dropped the fork %s.\n", display.Line(args[0]))
				return err
			})
		},
		ValidArgsFunction: complete(p, g),
	}
	cmd.Flags().BoolVar(&force, "force", false, "discard changes that are not merged without asking")
	return cmd
}

// agrees asks the user at the terminal; absent is the error without one.
func agrees(ctx context.Context, p *program.Program, question string, absent error) error {
	user, done := approval.NewPrompter(p.In, p.Err)
	defer done()
	if !user.IsThere() {
		return absent
	}
	switch agreed, err := user.Agrees(ctx, display.Line(question)); {
	case err != nil:
		return program.Interrupted()
	case !agreed:
		return fault.New(fault.DeniedByUser, "cli.forks", "Nothing was changed.", "")
	}
	return nil
}

func complete(p *program.Program, g *program.Flags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []cobra.Completion
		if len(args) == 0 {
			_ = with(cmd.Context(), p, g, func(o opened) error { // no forks, no suggestions
				list, err := o.store.List(cmd.Context())
				for _, f := range list {
					names = append(names, cobra.CompletionWithDesc(f.Name, number(f.Files, "file")))
				}
				return err
			})
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
