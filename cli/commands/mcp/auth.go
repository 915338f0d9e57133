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
)

func mcpAuthCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var forget bool
	cmd := &cobra.Command{
		Use:   "auth NAME",
		Short: "Sign in to an MCP server at a URL, or sign out",
		Long: `Opens the sign-in page of the server, waits until you have signed in, and stores
the tokens for later sessions in auth-cache.json in your settings directory. Only
you can read that file.`,
		Args: program.ExactlyOne("The server name is missing.", "fettle mcp list lists the servers."),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			return withServers(cmd.Context(), p, g, func(ctx context.Context, c *config.Config, _ *mcp.Manager, _ *program.SignIn) error {
				if forget {
					return signOut(ctx, p, c, name)
				}
				if err := p.Providers.SignIn(ctx, c, name, program.ServerOptions{Version: program.VersionOf().Version, OpenURL: p.OpenURL}); err != nil {
					return signInFailure(ctx, err)
				}
				_, err := fmt.Fprintf(p.Out, "You are signed in to %s.\n", display.Line(name))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "sign out: remove the tokens of the server")
	return cmd
}

func signOut(ctx context.Context, p *program.Program, c *config.Config, name string) error {
	had, err := p.Providers.SignOut(ctx, c, name)
	if err != nil {
		return signInFailure(ctx, err)
	}
	text := "Removed the tokens of %s.\n"
	if !had {
		text = "There are no tokens of %s.\n"
	}
	_, err = fmt.Fprintf(p.Out, text, display.Line(name))
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
