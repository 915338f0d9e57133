package extensions

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// States of an update.
const (
	stateUpdated      = "updated"
	stateUpToDate     = "up to date"
	stateNotUpdatable = "not updatable"
	stateError        = "error"
)

// updateAnswer is the JSON output of update for one extension.
type updateAnswer struct {
	Name    string       `json:"name"`
	State   string       `json:"state"`
	From    string       `json:"from,omitempty"` // the previous version
	Version string       `json:"version"`
	Error   *fault.Error `json:"error,omitempty"`
}

func extensionsUpdateCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var consent, all, asJSON bool
	cmd := &cobra.Command{
		Use:   "update [NAME]",
		Short: "Update an extension, or all, from its source",
		Long: `Fetches an extension again from its source, or from the new source that it names.
A directory is newer if its version differs, a repository if its files differ. An
extension with local changes is not updated, so that they are not lost. If the new
version can do more than the old one, the command asks for consent again; it also
asks for the values of new settings. The old version stays until the new one
replaces it.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) || len(args) > 1 {
				return program.UsageError("An extension name or --all is required.", "fettle extensions list lists the extensions.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return installsExtensions(cmd.Context(), p, g, func(store *extensionstore.Store) error {
				return updateExtensions(cmd.Context(), p, store, args, consent, asJSON)
			})
		},
		ValidArgsFunction: completeExtensions(p, g, false),
	}
	cmd.Flags().BoolVar(&all, "all", false, "all extensions")
	cmd.Flags().BoolVar(&consent, "consent", false, "consent to the abilities of the extensions")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// updateExtensions updates one extension or all. All are tried; the first error
// determines the exit code.
func updateExtensions(ctx context.Context, p *program.Program, store *extensionstore.Store, args []string, consent, asJSON bool) error {
	found, _, err := store.Load(ctx)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		e, err := extensionstore.Find(found, args[0])
		if err != nil {
			return err
		}
		found = []extensions.Extension{e}
	}
	answers := []updateAnswer{}
	var first error
	for _, e := range found {
		if e.InstallDir == "" { // built into the program
			continue
		}
		answer := updateAnswer{Name: e.Name, Version: e.Version, State: stateNotUpdatable}
		if len(args) == 1 || e.Install != nil && e.Install.Type != extensions.InstallLink {
			if answer, err = updateExtension(ctx, p, store, e, consent); err != nil && first == nil {
				first = err
			}
		}
		if ctx.Err() != nil {
			return program.Interrupted()
		}
		answers = append(answers, answer)
		if !asJSON && answer.Error != nil {
			p.PrintError(answer.Error)
		} else if !asJSON {
			if _, err := fmt.Fprintf(p.Out, "%s %s\n", display.Line(answer.Name), display.Line(answer.summary())); err != nil {
				return err
			}
		}
	}
	if asJSON {
		if err := program.PrintJSON(p.Out, answers); err != nil {
			return err
		}
	}
	if first == nil {
		return nil
	}
	code := program.ExitToolError
	if of := new(program.ExitError); errors.As(extensionFailure(first), &of) {
		code = of.Code
	}
	if asJSON {
		return &program.ExitError{Code: code, Err: first}
	}
	return &program.ExitError{Code: code} // already printed
}

func (a updateAnswer) summary() string {
	if a.State == stateUpdated {
		return fmt.Sprintf("is updated from %s to %s.", a.From, a.Version)
	}
	return "is " + a.State + " (" + a.Version + ")."
}

func updateExtension(ctx context.Context, p *program.Program, store *extensionstore.Store, e extensions.Extension, consent bool) (updateAnswer, error) {
	user, done := newInstaller(p, consent)
	defer done()
	u, err := store.Update(ctx, e, user, os.Environ())
	if err != nil {
		reported := fault.As(err)
		if reported == nil {
			reported = fault.Wrap(fault.ExecutionFailed, "cli.extensions", display.Sentence(err.Error()), "", err)
		}
		return updateAnswer{Name: e.Name, State: stateError, Version: e.Version, Error: reported}, err
	}
	user.printMissing(e.Name)
	if !u.Changed {
		return updateAnswer{Name: e.Name, State: stateUpToDate, Version: e.Version}, nil
	}
	return updateAnswer{Name: e.Name, State: stateUpdated, From: u.From, Version: u.Extension.Version}, nil
}
