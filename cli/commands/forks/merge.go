package forks

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// mergeFlags are the flags of fettle forks merge.
type mergeFlags struct{ markers, ignored, asJSON bool }

func mergeCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var f mergeFlags
	cmd := &cobra.Command{
		Use:   "merge NAME",
		Short: "Make the changes of a fork in the project",
		Long: `Compares the fork, the files that it started from and the files as they are now, and
makes the changes without a conflict as one transaction. Files with a conflict stay in
the fork, and are listed; the exit code is 1 then. The policy decides about each file as
about write_file with its content, and about one that is removed or has other
permissions as about apply_patch, too: a diff is shown for approval unless it allows
all of them, as --approval-mode auto_edit does. The merge is one turn for fettle restore.`,
		Example: `  fettle forks merge NAME
  fettle forks merge NAME --markers`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return with(ctx, p, g, func(o opened) error { return o.merge(ctx, p, args[0], &f) })
		},
		ValidArgsFunction: complete(p, g),
	}
	set := cmd.Flags()
	set.BoolVar(&f.markers, "markers", false, "write conflicts of texts with conflict markers")
	set.BoolVar(&f.ignored, "include-ignored", false, "merge files that git ignores, too")
	set.BoolVar(&f.asJSON, "json", false, "print JSON")
	return cmd
}

// ignored returns whether git ignores a path.
func (o opened) ignored(ctx context.Context) (func(path string) bool, error) {
	files, err := o.Config().Workspace()
	if err != nil {
		return nil, err
	}
	return discovery.New(files).Ignored(ctx), nil
}

func (o opened) merge(ctx context.Context, p *program.Program, name string, f *mergeFlags) error {
	ignored, err := o.ignored(ctx)
	if err != nil {
		return err
	}
	files, err := o.Config().Workspace()
	if err != nil {
		return err
	}
	kept, err := o.Config().Checkpoints()
	if err != nil {
		return err
	}
	from, err := o.store.Open(name, "")
	if err != nil {
		return err
	}
	defer from.Close()
	if err := inWorkspace(from, files); err != nil {
		return err
	}
	target := o.Config().TargetDir()
	recovery := filepath.Join(o.dir, "recovery")
	kept.BeginTurn("fettle forks merge " + from.Name)
	r, err := from.Merge(ctx, fork.MergeOptions{
		Files: files, Committer: commit.New(commit.Options{RecoveryDir: recovery}), RecoveryDir: recovery,
		Ignored: ignored, IncludeIgnored: f.ignored, Markers: f.markers,
		Approve: func(r *fork.Report) error { return o.approve(ctx, p, r, f) },
		Record: func(ctx context.Context, paths []string, change func() error) error {
			notes, err := kept.Record(ctx, checkpoint.Call{Tool: "forks_merge", About: from.Name, Paths: paths}, change)
			for _, note := range notes {
				p.PrintError(fmt.Errorf("%s", note))
			}
			return err
		},
	})
	if r != nil && f.asJSON {
		if printing := printJSON(p, r); err == nil {
			err = printing
		}
	}
	if err != nil {
		return err
	}
	if !f.asJSON {
		if err := printMerge(p, r, target); err != nil {
			return err
		}
	}
	for _, kept := range r.KeptFiles {
		p.PrintError(fmt.Errorf("another program saved a file during the merge; its version is kept in %s", display.Line(kept)))
	}
	if r.Conflicts() > 0 {
		return &program.ExitError{Code: program.ExitToolError}
	}
	return nil
}

// inWorkspace refuses a fork of directories that the session may not change.
func inWorkspace(f *fork.Fork, files *workspace.Workspace) error {
	for _, dir := range f.Dirs {
		if path, err := files.Resolve(filepath.Join(dir, "x")); err != nil || files.Writable(path) != nil {
			return fault.New(fault.PathNotInWorkspace, "cli.forks", fmt.Sprintf("The fork %s has changes of %s, which is not a directory of this session.", f.Name, dir),
				"Add it with --include-directories.")
		}
	}
	return nil
}

// approve lets the policy decide about each file, and asks the user if it does not allow all of them.
func (o opened) approve(ctx context.Context, p *program.Program, r *fork.Report, f *mergeFlags) error {
	ask, n := false, 0
	headless := false
	for _, file := range r.Files {
		if file.Merged || file.Verdict != fork.Clean && !file.Marked || file.Ignored && !f.ignored {
			continue
		}
		n++
		for _, call := range file.Calls() {
			d, err := o.Explain(ctx, scheduler.Request{Tool: call.Tool, Args: call.Args}, scheduler.Situation{Headless: &headless})
			if err != nil {
				return err
			}
			switch {
			case d.Decision == policy.Deny || o.Config().ApprovalMode() == policy.ModePlan:
				return fault.New(fault.PolicyViolation, "cli.forks", fmt.Sprintf("Nothing was merged: the policy does not allow the change of %s.", display.Line(pathOf(file, ""))),
					"Change the rule or the approval mode; fettle policy explains the decision.")
			case d.Decision != policy.Allow || len(d.Checkers) > 0:
				ask = true
			}
		}
	}
	if !ask {
		return nil
	}
	absent := fault.New(fault.NoApprover, "cli.forks", "Nothing was merged: no approver is available.", "Run the command in a terminal, or add --approval-mode auto_edit; a change of a protected file requires yolo then.")
	if _, err := io.WriteString(p.Err, reportText(p, p.Err, r, o.Config().TargetDir())); err != nil {
		return err
	}
	return agrees(ctx, p, fmt.Sprintf("Merge the changes of %s?", number(n, "file")), absent)
}

// printMerge prints the result of a merge.
func printMerge(p *program.Program, r *fork.Report, target string) error {
	merged := 0
	for _, f := range r.Files {
		switch {
		case f.Marked:
			merged++
			fmt.Fprintf(p.Out, "%s: written with conflict markers.\n", display.Line(pathOf(f, target)))
		case f.Merged:
			merged++
			fmt.Fprintf(p.Out, "%s: %s\n", display.Line(pathOf(f, target)), f.Change)
		case f.Verdict == fork.Clean && f.Ignored:
			fmt.Fprintf(p.Out, "%s is ignored by git and stays in the fork; --include-ignored merges it.\n", display.Line(pathOf(f, target)))
		case f.Verdict == fork.Conflict:
			fmt.Fprintln(p.Out, p.Masked(conflictText(f, target)))
		}
	}
	name := display.Line(r.Name)
	var err error
	switch n := r.Conflicts(); {
	case n > 0:
		_, err = fmt.Fprintf(p.Out, "Merged %s; %s in the fork %s. fettle forks diff %s shows both sides.\n", number(merged, "file"), number(n, "conflict")+" left", name, name)
	case merged == 0:
		_, err = fmt.Fprintf(p.Out, "The fork %s has no changes to merge.\n", name)
	default:
		_, err = fmt.Fprintf(p.Out, "Merged %s. fettle restore undoes it; fettle forks drop %s removes the fork.\n", number(merged, "file"), name)
	}
	return err
}
