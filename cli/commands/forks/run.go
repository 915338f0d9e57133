package forks

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// RunPrompt runs the prompt of the flags and prints the result.
type RunPrompt func(context.Context, *program.Program, *program.Flags, *conversation.Flags) error

// Run runs a prompt in a fork: in the one that the flags name, which is created if it does not exist, or
// in a new one. The session works on a copy of the directories. At the end it prints how to merge it.
func Run(ctx context.Context, p *program.Program, g *program.Flags, f *conversation.Flags, run RunPrompt) error {
	var in *fork.Fork
	err := with(ctx, p, g, func(o opened) (err error) {
		in, err = o.enter(ctx, f)
		return err
	})
	if err != nil {
		return err
	}
	inside := *g
	inside.Cwd = in.Layers()[0].Upper
	within := *f
	within.Adjust = func(p *config.Parameters) {
		p.IncludeDirs = []string{} // not those of the settings: they are not in the fork
		for _, layer := range in.Layers()[1:] {
			p.IncludeDirs = append(p.IncludeDirs, layer.Upper)
		}
	}
	err = run(ctx, p, &inside, &within)
	name := display.Line(in.Name)
	p.PrintNotice(fmt.Sprintf("The changes are in the fork %s. fettle forks diff %s shows them, fettle forks merge %s makes them here.", name, name, name))
	return errors.Join(err, in.Close())
}

// enter opens the fork for a prompt.
func (o opened) enter(ctx context.Context, f *conversation.Flags) (*fork.Fork, error) {
	if o.Config().Trust() == trust.Untrusted { // a copy would only be undecided
		return nil, &program.ExitError{Code: program.ExitUntrusted, Err: fault.New(fault.UntrustedFolder, "cli.forks", "An untrusted directory cannot be forked.",
			"Trust it with fettle trust, or run the prompt without --fork.")}
	}
	files, err := o.Config().Workspace()
	if err != nil {
		return nil, err
	}
	name := f.Fork
	if name == conversation.NewFork {
		name = ""
	} else {
		in, err := o.store.Open(name, f.SessionID)
		if err == nil {
			if in.Mode == fork.Copy {
				return in, nil
			}
			return nil, errors.Join(fault.New(fault.ForkUnsupported, "cli.forks", "The fork "+in.Name+" is not a copy.", "Choose another name."), in.Close())
		}
		if fault.CodeOf(err) != fault.FileNotFound {
			return nil, err
		}
	}
	var dirs []string
	for _, dir := range files.RealDirectories() {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, fault.Wrap(fault.InvalidConfig, "cli.forks", "A directory of the session cannot be resolved.", "", err)
		}
		dirs = append(dirs, real)
	}
	return o.store.Create(ctx, fork.Request{Name: name, Dirs: dirs, Mode: fork.Copy, Session: f.SessionID})
}
