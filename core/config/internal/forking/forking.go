// Package forking lets a session work on a fork of its directories: with its file tools, its commands and
// its rules. It also merges the fork of a subagent.
package forking

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/sandbox"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// StoreDir returns the directory of a project's forks. It is not in the layout's directory, because all
// files in that one are protected, and a session works in the copies. userDir is the user's settings
// directory, and tmp the one for the data of the project.
func StoreDir(userDir, tmp, layout string) string {
	return filepath.Join(filepath.Dir(userDir), ".local", "state", layout, "forks", filepath.Base(tmp))
}

// Open opens the workspace of a session in a fork. The directories of an overlay keep their names. Those of a
// copy are the ones of the copy. Further directories are read-only.
func Open(f *fork.Fork, dirs []string) (*workspace.Workspace, error) {
	if f.Mode == fork.Copy {
		var copies []string
		for _, l := range f.Layers() {
			copies = append(copies, l.Upper)
		}
		return workspace.Open(copies...)
	}
	var all []workspace.Overlay
	for n, l := range f.Layers() {
		all = append(all, workspace.Overlay{Dir: l.Dir, Upper: l.Upper, Touch: func(t workspace.Touched) error {
			return f.Touch(context.Background(), fork.Touch{
				Dir: n, Path: t.Path, Base: t.Mode, Absent: t.Absent, Target: t.Target, Open: t.Open, Check: t.Check,
			})
		}})
	}
	return workspace.OpenOverlays(all, dirs...)
}

// Confine confines all commands of a session to its overlay.
func Confine(o *process.Options, f *fork.Fork) {
	o.Confine = nil
	o.Confinement.Kind, o.Confinement.PerCommand = process.Namespaces, false
	o.Confinement.Overlays = func(ctx context.Context, write bool) ([]sandbox.Overlay, func(context.Context) error, error) {
		m, err := f.Mount(ctx, write)
		if err != nil {
			return nil, nil, err
		}
		var all []sandbox.Overlay
		for _, l := range m.Layers() {
			all = append(all, sandbox.Overlay{Dir: l.Dir, Upper: l.Upper, Work: l.Work})
		}
		return all, m.Close, nil
	}
}

// Before returns a middleware that denies calls of tools that change something outside of a fork: those of servers
// and of discovery commands. Without a fork there is none.
func Before(f *fork.Fork) []scheduler.Before {
	if f == nil {
		return nil
	}
	return []scheduler.Before{func(_ context.Context, p scheduler.Proposal) (scheduler.Advice, error) {
		if p.Spec.Origin.Group == tools.GroupBuiltIn || !p.Spec.Mutates() {
			return scheduler.Advice{}, nil
		}
		return scheduler.Advice{
			Verdict: policy.Deny, Source: "fork",
			Reason: "This session keeps its changes in the fork " + f.Name + ", and " + p.Spec.Name + " works outside of it.",
		}, nil
	}}
}

// Executing returns a step that keeps commands from running in a fork while a call changes its files. Calls that run
// commands do that themselves.
func Executing(f *fork.Fork) []scheduler.Executing {
	if f == nil {
		return nil
	}
	return []scheduler.Executing{func(ctx context.Context, p scheduler.Proposal, _ tools.ToolInvocation) (func(context.Context, bool) []string, error) {
		if !p.Spec.Mutates() || p.Spec.Kind == tools.KindExecute || slices.Contains(p.Spec.Effects, tools.EffectRunProcess) {
			return nil, nil
		}
		release, err := f.Hold(ctx)
		if err != nil {
			return nil, err
		}
		return func(context.Context, bool) []string {
			release()
			return nil
		}, nil
	}}
}

// Nested returns the error of a fork of a fork.
func Nested() error {
	return fault.New(fault.ForkUnsupported, "config.fork", "A session in a fork cannot have further forks.", "Merge the fork first, or work in it directly.")
}

// Create creates a fork of directories for a derived session. owner is the name of its agent, with which its name
// begins; "": none.
func Create(ctx context.Context, s *fork.Store, owner, session string, dirs []string) (*fork.Fork, error) {
	r := fork.Request{Dirs: dirs, Session: session}
	if owner != "" {
		r.Name = owner + "-" + bus.NewID()[:6]
	}
	return s.Create(ctx, r)
}
