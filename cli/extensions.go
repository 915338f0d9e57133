package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

func (p *program) extensionsCommand(g *globalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "extensions",
		Short: "Install, update, configure, check and begin extensions",
		Args:  knownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(p.extensionsInstallCommand(g), p.extensionsLinkCommand(g), p.extensionsUpdateCommand(g), p.extensionsUninstallCommand(g))
	cmd.AddCommand(p.extensionsListCommand(g), p.extensionsEnableCommand(g), p.extensionsDisableCommand(g), p.extensionsConfigCommand(g))
	cmd.AddCommand(p.extensionsValidateCommand(g), p.extensionsNewCommand(g))
	return cmd
}

// withExtensions hands the person's extensions folder to use, as a session here
// sees it.
func (p *program) withExtensions(ctx context.Context, g *globalFlags, use func(*extensions.Store) error) error {
	return p.withSession(ctx, sessionOptions{flags: g}, func(s session) error {
		store, err := s.Config().ExtensionStore()
		if err != nil {
			return err
		}
		return extensionFailure(use(store))
	})
}

// installsExtensions is withExtensions for what brings new code, which is refused
// in a folder that is recorded as untrusted.
func (p *program) installsExtensions(ctx context.Context, g *globalFlags, use func(*extensions.Store) error) error {
	return p.withSession(ctx, sessionOptions{flags: g}, func(s session) error {
		folder := s.Config().TargetDir()
		state, err := trustOf(ctx, g, []string{folder})
		if err != nil {
			return trustFailure(err)
		}
		if state == trust.Untrusted {
			return &exitError{code: exitUntrusted, err: fault.New(fault.UntrustedFolder, "cli.extensions",
				fmt.Sprintf("No extension is installed from within %s, which is not trusted.", folder), "Do it from another folder, or run fettle trust.")}
		}
		store, err := s.Config().ExtensionStore()
		if err != nil {
			return err
		}
		return extensionFailure(use(store))
	})
}

// extensionFailure gives an error of the store its exit code.
func extensionFailure(err error) error {
	if of := new(exitError); err == nil || errors.As(err, &of) {
		return err
	}
	switch fault.CodeOf(err) {
	case fault.InvalidToolParams:
		return &exitError{code: exitUsage, err: err}
	case fault.PolicyViolation, fault.DeniedByUser, fault.NobodyToAsk:
		return &exitError{code: exitDenied, err: err}
	case fault.Cancelled:
		return interrupted()
	}
	return err
}

// findExtension returns the installed extension of that name or source.
func findExtension(ctx context.Context, store *extensions.Store, name string) (extensions.Extension, error) {
	all, _, err := store.Load(ctx)
	if err != nil {
		return extensions.Extension{}, err
	}
	return extensions.Find(all, name)
}

// completeExtensions completes the first argument, or all, with the names of
// extensions.
func (p *program) completeExtensions(g *globalFlags, many bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) == 0 || many {
			_ = p.withExtensions(cmd.Context(), g, func(store *extensions.Store) error { // none, no suggestions
				all, _, err := store.Load(cmd.Context())
				for _, e := range all {
					names = append(names, cobra.CompletionWithDesc(e.Name, firstSentence(oneLine(e.Description))))
				}
				return err
			})
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
