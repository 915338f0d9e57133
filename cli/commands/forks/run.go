package forks

import (
	"context"
	"errors"
	"fmt"

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
// in a new one. At the end it prints how to merge it.
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
	within := *f
	if in.Mode == fork.Copy {
		inside.Cwd = in.Layers()[0].Upper
	}
	within.Adjust = func(p *config.Parameters) {
		if in.Mode == fork.Overlay {
			p.Session.Fork = in
			return
		}
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
	files, err := o.Config().Workspace()
	if err != nil {
		return nil, err
	}
	name := f.Fork
	if name == conversation.NewFork {
		name = ""
	} else if in, err := o.store.Open(name, f.SessionID); fault.CodeOf(err) != fault.FileNotFound {
		if err != nil {
			return nil, err
		}
		return o.trusted(ctx, in)
	}
	in, err := o.store.Create(ctx, fork.Request{Name: name, Dirs: files.RealDirectories(), Session: f.SessionID})
	if err != nil {
		return nil, err
	}
	return o.trusted(ctx, in)
}

// trusted refuses a copy of an untrusted directory, which would only be undecided. A refused copy without
// changes is removed.
func (o opened) trusted(ctx context.Context, in *fork.Fork) (*fork.Fork, error) {
	if in.Mode != fork.Copy || o.Config().Trust() != trust.Untrusted {
		return in, nil
	}
	err := fault.New(fault.UntrustedFolder, "cli.forks", "An untrusted directory cannot be copied to a fork.",
		"Trust it with fettle trust, or run the prompt without --fork.")
	return nil, &program.ExitError{Code: program.ExitUntrusted, Err: errors.Join(err, in.End(ctx, nil))}
}
