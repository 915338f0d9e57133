package config

import (
	"context"

	"github.com/fettle-dev/fettle/core/config/internal/contextfiles"
	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// Instructions say which files steer the model, and how. The zero value is the
// layout's own file and AGENTS.md, in the system prompt.
type Instructions struct {
	// Names are base names of such files. nil: the settings', else the layout's
	// context file and AGENTS.md; empty: there are none.
	Names   []string
	Imports instructions.Imports // what becomes of @path in them
	// Boundary are names that mark the folder in which the search upwards from a
	// workspace folder ends, as .git does. nil: the settings', else .git; empty:
	// each workspace folder is its own end. So is it where no folder above holds
	// one of them, up to the home folder and as far as folders and marks belong to
	// the owner of the workspace folder, so that nobody else's files steer.
	Boundary []string
	// AsMessages gives what accesses bring up in the user's messages, in the place
	// of the system prompt (FT-15).
	AsMessages bool
}

// contextFiles finds the instruction files of the session.
func (c *Config) contextFiles(sh *shared) contextfiles.Finder {
	p := c.params()
	userDir, _ := c.userDir() // "": there is none
	return contextfiles.Finder{
		Workspace: sh.workspace, ContextFile: p.Layout.ContextFile, Names: p.Instructions.Names, Imports: p.Instructions.Imports, Boundary: p.Instructions.Boundary,
		UserDir: userDir, Home: p.home(), Untrusted: p.Trust == trust.Untrusted, Extensions: c.brought().Context,
		MayShow: func(path string) bool { return c.mayShow(sh, path) },
	}
}

// InstructionFiles returns the instruction files that this conversation has: those
// of its beginning, then those that accesses have brought up. The error is of code
// not_initialized or cancelled.
func (c *Config) InstructionFiles(ctx context.Context) ([]instructions.Document, error) {
	s, err := c.own("InstructionFiles")
	if err != nil {
		return nil, err
	}
	sh, err := c.services("InstructionFiles")
	if err != nil {
		return nil, err
	}
	start, err := s.tracker.Begin(ctx, func(ctx context.Context, known func(string) bool) ([]instructions.Document, error) {
		return c.contextFiles(sh).Start(ctx, known)
	})
	if err != nil {
		return nil, err
	}
	return append(start, s.tracker.Given()...), nil
}

// ReloadInstructions has the instruction files read again: those of the beginning
// with the next request, others when something beside them is accessed. What the
// conversation was shown of other files is not touched. The error is of code
// not_initialized.
func (c *Config) ReloadInstructions() error {
	s, err := c.own("ReloadInstructions")
	if err != nil {
		return err
	}
	s.tracker.ForgetInstructions()
	s.history.TellAgain()
	return nil
}
