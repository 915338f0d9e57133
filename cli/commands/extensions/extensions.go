// Package extensions implements the commands that install, update, configure and
// check extensions.
package extensions

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// Command returns the fettle extensions command, without its subcommand new.
func Command(p *program.Program, g *program.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "extensions",
		Short: "Install, update, configure, check and create extensions",
		Args:  program.KnownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(extensionsInstallCommand(p, g), extensionsLinkCommand(p, g), extensionsUpdateCommand(p, g), extensionsUninstallCommand(p, g))
	cmd.AddCommand(extensionsListCommand(p, g), extensionsEnableCommand(p, g), extensionsDisableCommand(p, g), extensionsConfigCommand(p, g))
	cmd.AddCommand(extensionsValidateCommand(p, g), extensionsMarketplaceCommand(p, g))
	return cmd
}

// withExtensions opens the user's extensions directory for the current session.
func withExtensions(ctx context.Context, p *program.Program, g *program.Flags, use func(*extensionstore.Store) error) error {
	return p.WithSession(ctx, program.SessionOptions{Flags: g}, func(s program.Session) error {
		store, err := s.Config().Extensions().Store()
		if err != nil {
			return err
		}
		return extensionFailure(use(store))
	})
}

// installsExtensions is withExtensions for commands that add code, which an untrusted
// directory does not allow.
func installsExtensions(ctx context.Context, p *program.Program, g *program.Flags, use func(*extensionstore.Store) error) error {
	return p.WithSession(ctx, program.SessionOptions{Flags: g}, func(s program.Session) error {
		dir := s.Config().TargetDir()
		state, err := program.TrustOf(ctx, g, []string{dir})
		if err != nil {
			return program.TrustFailure(err)
		}
		if state == trust.Untrusted {
			return &program.ExitError{Code: program.ExitUntrusted, Err: fault.New(fault.UntrustedFolder, "cli.extensions",
				fmt.Sprintf("Extensions cannot be installed from within %s, which is untrusted.", dir), "Run the command in another directory, or run fettle trust.")}
		}
		store, err := s.Config().Extensions().Store()
		if err != nil {
			return err
		}
		return extensionFailure(use(store))
	})
}

// extensionFailure returns a store error with its exit code.
func extensionFailure(err error) error {
	if of := new(program.ExitError); err == nil || errors.As(err, &of) {
		return err
	}
	switch fault.CodeOf(err) {
	case fault.InvalidToolParams:
		return &program.ExitError{Code: program.ExitUsage, Err: err}
	case fault.PolicyViolation, fault.DeniedByUser, fault.NoApprover:
		return &program.ExitError{Code: program.ExitDenied, Err: err}
	case fault.Cancelled:
		return program.Interrupted()
	}
	return err
}

// findExtension returns the installed extension with a name or source.
func findExtension(ctx context.Context, store *extensionstore.Store, name string) (extensions.Extension, error) {
	all, _, err := store.Load(ctx)
	if err != nil {
		return extensions.Extension{}, err
	}
	return extensionstore.Find(all, name)
}

// completeExtensions completes the first argument, or all, with the names of
// extensions.
func completeExtensions(p *program.Program, g *program.Flags, many bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) == 0 || many {
			_ = withExtensions(cmd.Context(), p, g, func(store *extensionstore.Store) error { // no extensions, no suggestions
				all, _, err := store.Load(cmd.Context())
				for _, e := range all {
					names = append(names, cobra.CompletionWithDesc(e.Name, display.FirstSentence(display.Line(e.Description))))
				}
				return err
			})
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
