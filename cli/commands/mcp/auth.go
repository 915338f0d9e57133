package mcp

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/standard"
)

func mcpAuthCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var forget bool
	cmd := &cobra.Command{
		Use:   "auth NAME",
		Short: "Sign in to an MCP server at a URL, or out of it",
		Long: `Opens the page at which the server wants you to sign in, waits until you have
done so, and keeps the tokens for later sessions in your settings directory, in
auth-cache.json, which nobody else may read.`,
		Args: program.ExactlyOne("The name of a server is needed.", "fettle mcp list shows those that there are."),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			return withServers(cmd.Context(), p, g, func(ctx context.Context, c *config.Config, _ *mcp.Manager, _ *program.SignIn) error {
				if forget {
					return signOut(ctx, p, c, name)
				}
				if err := standard.SignIn(ctx, c, name, standard.ServerOptions{Version: program.VersionOf().Version, OpenURL: p.OpenURL}); err != nil {
					return signInFailure(ctx, err)
				}
				_, err := fmt.Fprintf(p.Out, "You are signed in to %s.\n", display.Line(name))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "sign out: forget the tokens of the server")
	return cmd
}

func signOut(ctx context.Context, p *program.Program, c *config.Config, name string) error {
	had, err := standard.SignOut(ctx, c, name)
	if err != nil {
		return signInFailure(ctx, err)
	}
	said := "The tokens of %s are forgotten.\n"
	if !had {
		said = "There were no tokens of %s.\n"
	}
	_, err = fmt.Fprintf(p.Out, said, display.Line(name))
	return err
}

func signInFailure(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return program.Interrupted()
	case fault.CodeOf(err) == fault.InvalidConfig:
		return &program.ExitError{Code: program.ExitConfig, Err: err}
	}
	return &program.ExitError{Code: program.ExitToolError, Err: err}
}
