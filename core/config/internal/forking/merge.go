package forking

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Into is the session that receives the changes of a subagent's fork.
type Into struct {
	Workspace   *workspace.Workspace
	Committer   *commit.Committer
	RecoveryDir string
	Finder      *discovery.Finder // tells which files git ignores
	// Allows reports whether the policy allows the session to make a change without approval.
	Allows func(ctx context.Context, f fork.File) bool
	// Shows reports whether the session's model may read a file.
	Shows func(path string) bool
	// Record runs a change so that it can be undone; nil: it is only run.
	Record func(ctx context.Context, c checkpoint.Call, change func() error) (notes []string, err error)
	Agent  string // the subagent's name
}

// Settle merges the fork of a subagent whose work is done, if the policy allows each of its changes; otherwise
// the changes stay in the fork. It returns a report for the caller's model, and the absolute paths that it changed.
func Settle(ctx context.Context, f *fork.Fork, in Into, done bool) (report string, changed []string) {
	ignored := in.Finder.Ignored(context.WithoutCancel(ctx))
	name := escape.Line(f.Name)
	if !done || ctx.Err() != nil {
		r, err := f.Compare(context.WithoutCancel(ctx), ignored)
		if err != nil || slices.ContainsFunc(r.Files, func(i fork.File) bool { return !i.Ignored }) {
			return "The agent worked in a fork. It did not finish, so its changes were not merged: they are in the fork " + name + ". " + keep(name), nil
		}
		return "", nil
	}
	r, err := f.Merge(ctx, fork.MergeOptions{
		Files: in.Workspace, Committer: in.Committer, RecoveryDir: in.RecoveryDir, Ignored: ignored,
		Approve: func(r *fork.Report) error { return in.approve(ctx, r) },
		Record: func(ctx context.Context, paths []string, change func() error) error {
			if in.Record == nil {
				return change()
			}
			_, err := in.Record(ctx, checkpoint.Call{Tool: "forks_merge", About: f.Name, Agent: in.Agent, Paths: paths}, change)
			return err
		},
	})
	if r == nil {
		return fmt.Sprintf("The changes of the agent stay in the fork %s: %s %s", name, fault.MessageOf(err), keep(name)), nil
	}
	return in.describe(r, err)
}

func keep(name string) string {
	return fmt.Sprintf("The user sees them with fettle forks diff %s, and merges them with fettle forks merge %s.", name, name)
}

// approve returns an error unless the policy allows all changes.
func (in *Into) approve(ctx context.Context, r *fork.Report) error {
	for _, f := range r.Files {
		if f.Verdict == fork.Clean && !f.Merged && !f.Ignored && !in.Allows(ctx, f) {
			return fault.New(fault.NoApprover, "fork.settle", "the change of "+escape.Line(pathOf(f))+" needs an approval.", "")
		}
	}
	return nil
}

func pathOf(f fork.File) string { return filepath.Join(f.Dir, filepath.FromSlash(f.Path)) }

// maxReport is the number of bytes of a report beyond which diffs are omitted.
const maxReport = 32 << 10

// describe describes the result of a merge for a model.
func (in *Into) describe(r *fork.Report, failed error) (report string, changed []string) {
	var b strings.Builder
	name := escape.Line(r.Name)
	left := 0
	for _, f := range r.Files {
		path := pathOf(f)
		switch {
		case f.Merged:
			changed = append(changed, path)
		case f.Verdict == fork.Conflict && !f.Ignored:
			left++
			fmt.Fprintf(&b, "- %s: conflict (%s). %s\n", escape.Line(path), f.Kind, escape.Line(f.Reason))
			diffs := fmt.Sprintf("The change of the agent:\n%s\nThe change of the other writer:\n%s\n", text(f.Fork), text(f.Workspace))
			if in.Shows(path) && b.Len()+len(diffs) <= maxReport {
				b.WriteString(diffs)
			}
		case f.Ignored: // such as the output of a build
		case f.Verdict == fork.Clean:
			left++
			fmt.Fprintf(&b, "- %s: not merged\n", escape.Line(path))
		}
	}
	head := fmt.Sprintf("The agent worked in a fork. %s merged.\n", count(len(changed)))
	if left > 0 {
		head = fmt.Sprintf("The agent worked in a fork. %s merged. These changes are left in the fork %s. %s\n", count(len(changed)), name, keep(name))
	}
	if failed != nil {
		head = fmt.Sprintf("The agent worked in the fork %s, which was not merged completely: %s %s\n", name, fault.MessageOf(failed), keep(name))
	}
	if len(changed)+left == 0 && failed == nil {
		return "", nil
	}
	for _, path := range r.KeptFiles {
		fmt.Fprintf(&b, "Another program saved a file during the merge; its version is kept in %s.\n", escape.Line(path))
	}
	return head + b.String(), changed
}

func text(diff string) string { return cmp.Or(strings.TrimSuffix(diff, "\n"), "(none)") }

func count(n int) string {
	if n == 1 {
		return "1 file was"
	}
	return fmt.Sprintf("%d files were", n)
}
